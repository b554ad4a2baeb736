"""Answering the kernel: each operation asks one question of a node, on the trio thread or in a worker."""
