"""Serve `view` to the kernel. This package has no knowledge of Kafka. It has three subpackages:

    serve, sandbox <- life

serve      answers requests: operations, inodes, handles, worker threads, an errno for each error, `.kafkafs/`
sandbox    least privilege: the daemon drops its rights after the mount is made
life       the life of a mount, from start to end: mount point, guard, signals, log, watchdog
"""
