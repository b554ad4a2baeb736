"""`kafkafs audit`: check every invariant of a data directory that its files can show.

The job checks one segment at a time, in parallel.

log_check         walks a segment's batches, and reports the valid ones to the other checks. With `--deep` it also
                  checks the records
index_check       compares the indexes with the valid batches
partition_check   checks what spans segments: epochs, snapshots, checkpoints, names, identities
set_aside_check   names directories that are stray by mistake
time_units        names timestamps in another unit than milliseconds
replica_check     compares replicas with each other
audit_job         runs all checks
findings          what the checks report. Leftovers of a healthy broker of any release are not findings
"""
