"""`kafkafs reindex`: the indexes of every segment, byte for byte as the broker writes them when it rebuilds its own.

`reindex_job` takes whole data directories, a segment a unit, writes what `log.rebuilding` makes of its valid batches
below one directory, for `mount -o index_dir=`, or key indexes, for `by-key/`.
"""
