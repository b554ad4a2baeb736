"""Kernels as `format`'s, but these read files.

find_key       a key in key indexes and in tables of keys, by its hash
closed_segments   the health of many segments, in one call
log_access     owner and mode of many logs
files          the system calls
"""

from collections.abc import Callable

from kafkafs.disk.native.kernels.closed_segments import look_at_closed_segments
from kafkafs.disk.native.kernels.find_key import find_key
from kafkafs.disk.native.kernels.log_access import common_log_access

KERNELS: list[Callable[..., int]] = [find_key, look_at_closed_segments, common_log_access]
"""Entries of the library; see `kafkafs.format.native.kernels`."""
