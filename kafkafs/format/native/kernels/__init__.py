"""The loops that touch every byte, in the part of Python that numba compiles. Only `build` and a fallback import this.

A kernel takes addresses, sizes and counts as int64 and returns one int64; it allocates nothing, raises nothing and
reads and writes only within the buffers that it was given, whatever they hold. Those that read files are
`kafkafs.disk.native`'s.
"""

from collections.abc import Callable

from kafkafs.format.native.kernels.avro import avro_text
from kafkafs.format.native.kernels.cells import decode_cells, find_cells, type_cells
from kafkafs.format.native.kernels.decoded_lines import decoded_lines

KERNELS: list[Callable[..., int]] = [avro_text, find_cells, decode_cells, type_cells, decoded_lines]
"""Entries of the library; their names are its symbols, less `kafkafs_`."""
