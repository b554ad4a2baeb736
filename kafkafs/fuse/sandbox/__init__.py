"""Least privilege for the daemon, after the mount is made.

confinement   all of it, in order; what must be imported before is imported here
landlock      files below the data directories only, to read
network       what stays open where a tier is in a bucket
syscalls      the system calls that a daemon which only reads has no use for are refused (seccomp)
"""
