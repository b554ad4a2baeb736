"""`kafkafs audit`: every invariant of a data directory that can be told from disk, a segment at a time, in parallel.

`log_check` walks a segment's batches, looks into them for `--deep`, and hands on those that are valid; `index_check`
holds the indexes against them; `partition_check` looks at what spans segments: epochs, snapshots, checkpoints, names,
identities; `set_aside_check` names directories that are stray by mistake; `time_units` names times in another unit than
milliseconds; `replica_check` holds replicas against each other; `audit_job` runs it all. The leftovers of a healthy
broker of any release are not among the `findings`.
"""
