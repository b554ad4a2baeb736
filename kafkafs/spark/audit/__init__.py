"""`kafkafs audit`: every invariant of a data directory that can be told from disk, a segment at a time, in parallel.

`log_check` walks a segment's batches and hands on a table of them, `record_check` looks into them for `--deep`;
`index_check` and `transaction_check` hold the segment's indexes against the table; `partition_check` looks at what
spans segments: epochs, snapshots, checkpoints; `name_check` at names and identities; `job` runs it all. What a healthy
broker of any release may leave behind is no finding.
"""
