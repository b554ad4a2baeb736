"""Serves `view` to the kernel, in three rooms. Nothing here decides anything about Kafka.

    serve, sandbox <- life

serve      requests: operations, inodes, handles, worker threads, an errno for each error, `.kafkafs/`
sandbox    least privilege: what the daemon gives up once it stands
life       a mount from its making to its end: mount point, guard, signals, log, watchdog
"""
