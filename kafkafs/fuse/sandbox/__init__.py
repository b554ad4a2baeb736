"""Least privilege for the daemon, once the mount stands.

confinement   all of it, in order; what must be imported before is imported here
privileges    another user than root, no capabilities
landlock      files below the data directories only, to read
syscalls      the system calls that a daemon which only reads has no use for are refused (seccomp)
"""
