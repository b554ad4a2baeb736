"""What a look at one segment finds, as `health` tells it.

An index is "ok", "padded" (zeros behind its entries), "missing", or "damaged": it cannot be what Kafka writes, or the
log contradicts one of the entries looked at.
"""

import os
from typing import Literal, NamedTuple

IndexState = Literal["ok", "padded", "missing", "damaged"]


class LogAttributes(NamedTuple):
    """Of a log on the disk: who may read it, and when it was last written."""

    uid: int
    gid: int
    mode: int
    acl: bytes | None
    mtime_ns: int

    @classmethod
    def of(cls, about: os.stat_result, acl: bytes | None) -> "LogAttributes":
        """Those of a log with such attributes and such an access control list."""
        return cls(about.st_uid, about.st_gid, about.st_mode, acl, about.st_mtime_ns)


class SegmentHealth(NamedTuple):
    """The state of each of a segment's indexes, and what is to be said about the segment."""

    offset_index: IndexState
    time_index: IndexState
    transaction_index: IndexState
    problems: tuple[str, ...]
    largest: int | None = None  # the segment's largest timestamp, where the look has told it; -1 for none
    log: LogAttributes | None = None  # None of one in a tier, and of one that cannot be read
