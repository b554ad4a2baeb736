"""`kafkafs reindex`: the indexes of every segment, byte for byte as the broker writes them when it rebuilds its own.

job         whole data directories, a segment a unit; written below one directory, for `mount -o index_dir=`
rebuild     one segment's: what `log.rebuilding` makes of its valid batches
intervals   how many bytes lie between two entries, for topics that say so themselves
keys        key indexes, for `by-key/`
"""
