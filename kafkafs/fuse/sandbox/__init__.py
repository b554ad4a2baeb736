"""Least privilege for the daemon, after the mount is made.

confinement   all steps, in order; it first imports the modules that are needed later
landlock      files below the data directories only, to read
network       the connections that stay allowed if a tier is in a bucket
syscalls      refuses the system calls that a read-only daemon does not need (seccomp)
"""
