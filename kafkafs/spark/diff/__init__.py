"""`kafkafs diff`: the records that only one of two clusters has, or only one of two copies of a cluster.

sides        pairs the partitions of both sides; finds the topics that are compacted on either side
comparison   compares a window of offsets of one pair, step by step. It does not unpack equal batches
by_offset    a unit of the job: one window, as lines and counts
by_content   compares a topic's records by hashes, in any partition and at any offset
diff_job     runs the job, on either engine
"""
