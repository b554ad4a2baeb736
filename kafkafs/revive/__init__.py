"""`kafkafs revive`: a directory from which one real Kafka starts as the cluster that was on some disks.

docs/revive.md shows how to use it. A *replica* is the partition's directory that counts, of several the furthest;
*kept* is what of its log goes along.

    plan         what is to be revived, as a value: the data directories, whether they may be taken; made of
    metadata_log the cluster's metadata, as all disks tell them together, in a
    whole_image  with secrets too
    topics       which topics, each partition from which replica: `claims` has the directories that say to be one,
                 `set_aside` those that a broker has renamed, and `standing` chooses among replicas
    unread       what no topic has: files that a broker had deleted, directories that are no partition's
    releases     what each release of Kafka can hold

    job          the work, step by step; `changes` tells if the disks changed meanwhile, and `made_of` which partitions
                 an interrupted one need not make again; for each partition
    scanning     its log, read once: what is kept (`kept_parts`), the counts (`tally`), and the state (`scan_state`)
                 `mending`: damage is filled from `other_replicas`; `broker_notes`: what a broker wrote beside the log
                 `lost_ends`: the ends of transactions (`markers`) and of groups (`group_ends`) that damage took
    partitions   its new directory: `copying` has the ways of a log's bytes into it
    beyond       what the report adds at the end: records behind the metadata's end, groups that have read too far
    metadata_snapshot   what the new controller starts from
    settings     server.properties and what says whose the directory is
    place        the new directory: nothing is written but by this module and `copying`
"""
