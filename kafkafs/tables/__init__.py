"""Logs as tables: ranges of partitions, their records as Arrow columns, and `kafkafs.scan`. Spark is not needed.

scan         `kafkafs.scan`: a topic as an Arrow stream; `window` is what `start` and `end` mean
choice       data directories by their words, which partitions of them, and of several replicas which one
locations    the data directory that each partition is read from, of several replicas one
missing      partitions that the metadata name, and that no disk here has
led          the partitions that one broker led
offsets      limits, as offsets or times
planning     limits -> a range of offsets of each partition, of one look at all -> ranges for each task
ranges       the records of a range, and the end of a read whose records are gone
arrow        records -> Arrow batches, by kernels
registries   the registry in data directories
typed        keys and values as columns of a type
local        a function over many units, in processes of this machine
"""
