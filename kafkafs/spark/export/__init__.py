"""`kafkafs export`: topics, offset and time windows to Parquet, a file for each range of a partition.

A file has its final name only when it is whole, and the name says which offsets it holds; so an export that was ended
goes on where it was, without duplicates or loss.

    export_job   from the plan to counts
    export_plan  which ranges there are, decided once and written down
    plan_store   the plan in its place, and how it gets the types of its topics
    settling     what a run finds new, and adds to the plan
    parquet      writes the file of one range, or one for each date that it has (`dates`); `encoding` chooses how
    durations    marks columns of durations for readers, since Parquet has no such type
    output       the directory
    claims       who writes to it: one export at a time, or several to different partitions
    led_job      the partitions that one broker led; `led_plans` has a plan for each of them
    tallies      counts of what earlier runs wrote
    learned      the results of a first pass, until the plan has the types
    compacting   small files become large ones
    iceberg      the files in a table
    newer_schemas  what a run says of schemas that are newer than its columns
"""
