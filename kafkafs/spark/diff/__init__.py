"""`kafkafs diff`: the records that only one of two clusters, or of two copies of one, has.

sides        the partitions of both, paired, and which topics are compacted on either side
comparison   a window of offsets of one pair, compared step by step; equal batches are not unpacked
cleaned      the missing records that compaction explains
by_offset    a unit of the job: a window, as lines and counts
by_content   the records of a topic in any partition and at any offset, by hashes
diff_job     all of it, on either engine
"""
