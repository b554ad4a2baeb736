"""The life of a mount: made, watched over by a guard, logged, and ended by a signal or by `umount`.

mountpoint   where a mount may stand, and how one is found and taken away
mount_claim  that nobody else mounts there at the same moment
guard        the parent process, which unmounts whatever way the daemon ends, and tells systemd that the mount answers
mounting     the daemon: mounts, gives up its rights, serves, ends
journal      the daemon's log; what all calls, tasks and threads are doing, for it
watchdog     a thread that sees whether the trio thread still comes round
"""
