"""Protobuf's `Timestamp` and `Duration` as whole microseconds, the unit of Spark, Iceberg and DuckDB.

Nanoseconds below a microsecond are cut off, as Spark's own `from_protobuf` cuts them. Source of the limits: comments in
Google's timestamp.proto and duration.proto.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from kafkafs.errors import CorruptData

_FIRST_S, _LAST_S = -62_135_596_800, 253_402_300_799  # the years 1 to 9999
_LONGEST_S = 315_576_000_000  # about 10,000 years
_NANOS = 1_000_000_000
_FIELDS = [("seconds", FieldDescriptor.CPPTYPE_INT64), ("nanos", FieldDescriptor.CPPTYPE_INT32)]


class TimeColumn(NamedTuple):
    """A column of times: the kind of its shape, and the microseconds of a message."""

    kind: str
    text: Callable[[Any], str]


def time_column(message: Descriptor) -> TimeColumn | None:
    """Return the column for one of Google's two messages, and None for any other message."""
    found = _COLUMNS.get(message.full_name)
    is_googles = [(each.name, each.cpp_type) for each in message.fields] == _FIELDS
    return found if is_googles else None


def _timestamp(message: Any) -> str:
    seconds, nanos = message.seconds, message.nanos
    if _FIRST_S <= seconds <= _LAST_S and 0 <= nanos < _NANOS:
        return str(seconds * 1_000_000 + nanos // 1000)
    raise CorruptData(f"{seconds} seconds and {nanos} nanoseconds are no Timestamp, which is of the years 1 to 9999")


def _duration(message: Any) -> str:
    seconds, nanos = message.seconds, message.nanos
    if abs(seconds) <= _LONGEST_S and abs(nanos) < _NANOS and seconds * nanos >= 0:
        micros = abs(nanos) // 1000
        return str(seconds * 1_000_000 + (micros if nanos > 0 else -micros))
    raise CorruptData(f"{seconds} seconds and {nanos} nanoseconds are no Duration, which is at most 10,000 years")


_COLUMNS = {
    "google.protobuf.Timestamp": TimeColumn("timestamp-micros", _timestamp),
    "google.protobuf.Duration": TimeColumn("duration-micros", _duration),
}
