"""Segments that a broker has moved to a remote tier (KIP-405), as part of the log: `-o tiered=SOURCE`.

    layouts               the layout of a tier, from the names of its files: its uploads, and the files of each
    remote_log_metadata   the uploads by `__remote_log_metadata`, read from these disks
    remote_partitions     the partitions of a data directory that go on in a tier
    upload_facts          facts about uploads before they are counted: epochs, ends, the lineage of the newest
    counting              chooses the uploads that make the log, and the offset up to which each counts
    local_gaps            offsets that the disk has lost between two of its segments
    lost_partitions       partitions that a tier has and no disk; `namesakes`: chooses among topics of one name
    opening               an `Upload`: the facts about one remote segment, and its files, read by range;
                          `remote_files`: its files by kind
    partition_uploads     the uploads of a partition that count, as segments like the disk's; and the facts that
                          decide: leader epochs, log start, the metadata topic's uploads
    tier                  a tier that is open; `tier_part`: its part of a partition, listed when needed, and remembered
    tier_directory        a tier without a broker's disk, as a data directory
    sources               opens a tier that a user named: its objects, and its keys
    folder                files of remote segments by their paths, without the rest of their tier

No package above knows the source of bytes: a remote segment is a `Segment`, and its files (`RemoteFiles`) are opened
here.
"""
