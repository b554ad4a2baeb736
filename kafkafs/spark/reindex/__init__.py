"""`kafkafs reindex`: the indexes of every segment, byte for byte as the broker writes them when it rebuilds its own.

job     whole data directories, a segment a unit: what `log.rebuilding` makes of its valid batches; written below one
        directory, for `mount -o index_dir=`
keys    key indexes, for `by-key/`
"""
