"""Segments that a broker has moved to a remote tier (KIP-405), as part of the log: `-o tiered=SOURCE`.

    layouts               the layout of a tier, from the names of its files: its uploads, and the files of each
    remote_log_metadata   what `__remote_log_metadata` on these disks says of uploads
    remote_partitions     which partitions of a data directory go on in a tier
    upload_facts          what uploads tell before they are counted: epochs, ends, the lineage of the newest
    counting              which uploads make the log, and up to where each
    local_gaps            offsets that the disk has lost between two of its segments
    lost_partitions       partitions that a tier has and no disk; `namesakes`: of topics of one name, the one shown
    opening               an upload, what is known of one remote segment, and its files, read by range; `remote_files`:
                          those of one, by kind
    partition_uploads     the uploads of a partition that count, as segments like those of the disk; and the facts that
                          decide: leader epochs, log start, what the metadata topic says
    tier                  a tier that is open; `tier_part`: its part of a partition, listed when needed, and remembered
    tier_directory        a tier without a broker's disk, as a data directory
    sources               opens what a user names as a tier: its objects, and its keys
    folder                files of remote segments by their paths, without the rest of their tier

Nothing above knows where bytes come from: a remote segment is a `Segment` whose files (`RemoteFiles`) are opened here.
"""
