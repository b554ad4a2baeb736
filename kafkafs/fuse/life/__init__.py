"""The life of a mount, from its start to its end by a signal or by `umount`.

mountpoint   checks the mount point; finds mounts and unmounts them
mount_claim  ensures that no other process mounts on the same directory at the same moment
guard        the parent process. It unmounts however the daemon ends, and notifies systemd when the mount answers
mounting     the daemon: mounts, drops its rights, serves, ends
journal      the daemon's log; a report on all calls, tasks and threads for the log
watchdog     a thread that checks that the trio thread still runs its loop
"""
