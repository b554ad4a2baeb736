"""Serves `view` to the kernel: operations, inodes, handles, worker threads, the one errno table, a mount's life."""
