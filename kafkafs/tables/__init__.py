"""Logs as tables: ranges of partitions, their records as Arrow columns, and `kafkafs.scan`. Spark is not needed.

scan         `kafkafs.scan`: a topic as an Arrow stream; `window` parses `start` and `end`
choice       parses the names of data directories; chooses their partitions, and one of several replicas
locations    the data directory from which each partition is read; one of several replicas
missing      partitions that are in the metadata, but on none of the disks
led          the partitions that one broker led
offsets      start and end limits, as offsets or as times
planning     limits -> a range of offsets for each partition, all resolved at one moment
cutting      a range -> pieces for tasks, of much the same size
ranges       the records of a range; the error if the records of a range are gone
arrow        records -> Arrow batches, by kernels
registries   the schema registry in data directories
typed        keys and values as typed columns
local        runs a function over many units in worker processes on this machine
"""
