"""The result of a look at one segment, as `health` tells it.

An index is "ok", "padded" (zeros behind its entries), "missing", or "damaged": it cannot be what Kafka writes, or the
log contradicts one of the entries looked at.
"""

from typing import Literal, NamedTuple

from kafkafs.disk.access import Access

IndexState = Literal["ok", "padded", "missing", "damaged"]


class LogAttributes(NamedTuple):
    """For a log on the disk: who may read it, and when it was last written."""

    access: Access
    mtime_ns: int


class SegmentHealth(NamedTuple):
    """The state of each of a segment's indexes, and what is to be said about the segment."""

    offset_index: IndexState
    time_index: IndexState
    transaction_index: IndexState
    problems: tuple[str, ...]
    largest: int | None = None  # the segment's largest timestamp, where the look has told it; -1 for none
    log: LogAttributes | None = None  # None of one in a tier, and of one that cannot be read
