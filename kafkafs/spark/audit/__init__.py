"""`kafkafs audit`: check every invariant of a data directory that its files can show.

The job checks one segment at a time, in parallel.

log_check         walks a segment's batches, and reports the valid ones to the other checks. With `--deep` it also
                  checks the records
index_check       compares the offset and the time index with the valid batches
transaction_check compares the transaction indexes of a partition with the markers
partition_check   checks facts that span a partition's segments: offsets, epochs, snapshots, small files
directory_check   checks whole data directories: checkpoints, names, identities
set_aside_check   names directories that are stray by mistake
time_units        names timestamps in another unit than milliseconds
replica_check     compares replicas with each other
segment_check     runs the checks of a segment, and of a partition
audit_job         runs them all
findings          the results of the checks. Leftovers of a healthy broker of any release are not findings
"""
