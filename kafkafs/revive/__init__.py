"""`kafkafs revive`: makes a data directory from the disks of a dead cluster. One real Kafka broker can start from it.

docs/revive.md shows how to use it. If several disks have a partition, the directory whose log reaches furthest is the
*replica* that is revived. The part of its log that is copied is *kept*.

    disks        the data directories, and a check that they may be used
    plan         the plan, as a value, with the parts below; `room`: the way logs are made, and the room that they take
    metadata_log the cluster's metadata, from the metadata logs of all disks together
    whole_image  the image of that metadata, secrets included
    topics       the topics, and the replica for each partition: `claims` finds the directories that may be a replica,
                 `set_aside` the directories that a broker has renamed, and `replica_choice` chooses among replicas;
                 `refused_settings`: values of topics' settings that no Kafka takes
    unread       data of no topic: files that a broker had deleted, directories that are no partition
    releases     the features and settings that each release of Kafka supports

    job          the work, step by step; `changes` detects that the disks changed meanwhile
    partition_scans   all partitions in turn: their reports; `fingerprint` finds the partitions that an interrupted run
                 has finished. The next modules work on one partition
    scanning     reads its log once: the part that is kept (`kept_parts`), counts (`tally`), the state (`scan_state`);
                 `mending` fills damage from `other_replicas`; `broker_notes` reads a broker's files beside the log;
                 `compacted_gaps` finds the gaps of compacted logs that are losses;
                 `lost_ends` finds ends of transactions (`markers`) and of groups (`group_ends`) in damaged bytes
    partitions   makes its new directory: `writing` writes logs there, from bytes that were just read, in a process of
                 its own; `copying` makes logs that are shared with the old file, or have another source
    beyond       the end of the report: groups that have read too far; `staleness` detects metadata older than the logs
    node_files   all other files: checkpoints, metadata and settings, and, last, the files that a broker needs to start
    metadata_snapshot   the snapshot from which the new controller starts: `kept_configs` and `kept_rights` choose the
                 configurations and ACLs that go along
    settings     server.properties, and the files that identify the directory
    place        the new directory; `target`: a directory for new files. Only these, `writing` and `copying` write
"""
