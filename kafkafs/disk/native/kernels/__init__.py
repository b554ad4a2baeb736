"""The compiled part of a lookup. As `format`'s kernels, but these read files.

quick_lookup   from an offset or a time to the batch: index pages, headers, checksum
quick_record   from that batch to one record of it
verified       which batches were found sound before
record_index   records inside of large batches to begin at
find_key       a key in key indexes and in tables of keys, by its hash
closed_segments   the health of many segments, in one call
log_access     owner and mode of many logs
files          the system calls
"""

from collections.abc import Callable

from kafkafs.disk.native.kernels.closed_segments import look_at_closed_segments
from kafkafs.disk.native.kernels.find_key import find_key
from kafkafs.disk.native.kernels.log_access import common_log_access
from kafkafs.disk.native.kernels.quick_lookup import quick_lookup
from kafkafs.disk.native.kernels.quick_record import quick_record

KERNELS: list[Callable[..., int]] = [quick_lookup, quick_record, find_key, look_at_closed_segments, common_log_access]
"""Entries of the library; see `kafkafs.format.native.kernels`."""
