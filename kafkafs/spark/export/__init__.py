"""`kafkafs export`: topics, offset and time windows to Parquet, a file for each range of a partition.

A file has its final name only when it is whole, and the name contains its offsets. So an interrupted export goes on
at the same place, without duplicates or loss.

A run takes these in turn:

    output       the directory
    claims       claims the directory: for one export at a time, or several to different partitions
    export_plan  the ranges, decided once and written down
    settling     finds new records in each run, and adds them to the plan
    plan_store   the plan in its place, and how it gets the types of its topics
    learned      the results of a first pass, until the plan has the types
    export_job   from the plan to counts
    parquet      writes the file of one range, or one for each date that it has (`dates`); `encoding` chooses how
    durations    marks columns of durations for readers, since Parquet has no such type
    tallies      files and counts of the units that earlier runs wrote
    newer_schemas  a run's warnings about schemas that are newer than its columns

Other ways to and from such a directory:

    led_job      the partitions that one broker led; `led_plans` has a plan for each of them
    compacting   small files become large ones
    iceberg      the files in a table
"""
