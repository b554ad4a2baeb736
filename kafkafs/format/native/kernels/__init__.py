"""The loops that touch every byte, in the part of Python that numba compiles. Only `build` and a fallback import this.

A kernel takes addresses, sizes and counts as int64 and returns one int64; it allocates nothing, raises nothing and
reads and writes only within the buffers that it was given, whatever they hold.
"""

from collections.abc import Callable

KERNELS: list[Callable[..., int]] = []
"""Entries of the library; their names are its symbols, less `kafkafs_`."""
