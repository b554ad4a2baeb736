"""What Spark's pushed filters say about topic, partition, offset and timestamp.

All filters stay with Spark as well, which applies them to each row; here they only say what need not be read.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

with suppress(ImportError):  # Spark 4.0 knows no filters here, and pushes none
    from pyspark.sql.datasource import (
        EqualNullSafe,
        EqualTo,
        Filter,
        GreaterThan,
        GreaterThanOrEqual,
        In,
        LessThan,
        LessThanOrEqual,
        StringStartsWith,
    )

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Rows outside of this match no filter. Offsets are [first, stop), `since` is the smallest timestamp [ms]."""

    topics: frozenset[str] | None = None
    topic_prefix: str = ""
    partitions: frozenset[int] | None = None
    first_partition: int = 0
    stop_partition: int | None = None
    first_offset: int = 0
    stop_offset: int | None = None
    since: int | None = None

    def takes(self, topic: str, partition: int) -> bool:
        """Whether rows of this partition can match."""
        return (
            (self.topics is None or topic in self.topics)
            and topic.startswith(self.topic_prefix)
            and (self.partitions is None or partition in self.partitions)
            and self.first_partition <= partition
            and (self.stop_partition is None or partition < self.stop_partition)
        )


def wanted(filters: Iterable[Filter]) -> Wanted:
    """What all of the filters together leave."""
    found = Wanted()
    for each in filters:
        attribute: tuple[str, ...] = getattr(each, "attribute", ())
        value = getattr(each, "value", None)
        if len(attribute) != 1 or value is None:
            continue
        match attribute[0].lower():
            case "topic":
                found = _topic(found, each, value)
            case "partition":
                found = _partition(found, each, value)
            case "offset":
                first, stop = _bounds(each, value)
                found = replace(
                    found, first_offset=max(found.first_offset, first), stop_offset=_least(found.stop_offset, stop)
                )
            case "timestamp":
                found = replace(found, since=_greatest(found.since, _since(each, value)))
    return found


def _topic(found: Wanted, each: Filter, value: Any) -> Wanted:
    if isinstance(each, StringStartsWith) and value.startswith(found.topic_prefix):
        return replace(found, topic_prefix=value)
    names = _set(each, value)
    if names is None:
        return found
    return replace(found, topics=names if found.topics is None else found.topics & names)


def _partition(found: Wanted, each: Filter, value: Any) -> Wanted:
    numbers = _set(each, value)
    if numbers is not None:
        return replace(found, partitions=numbers if found.partitions is None else found.partitions & numbers)
    first, stop = _bounds(each, value)
    return replace(
        found,
        first_partition=max(found.first_partition, first),
        stop_partition=_least(found.stop_partition, stop),
    )


def _set(each: Filter, value: Any) -> frozenset[Any] | None:
    if isinstance(each, (EqualTo, EqualNullSafe)):
        return frozenset([value])
    if isinstance(each, In):
        return frozenset(item for item in value if item is not None)
    return None


def _bounds(each: Filter, value: Any) -> tuple[int, int | None]:
    """The whole numbers [first, stop) that a filter leaves."""
    match each:
        case EqualTo() | EqualNullSafe():
            return value, value + 1
        case GreaterThan():
            return value + 1, None
        case GreaterThanOrEqual():
            return value, None
        case LessThan():
            return 0, value
        case LessThanOrEqual():
            return 0, value + 1
        case In():
            numbers = [item for item in value if item is not None]
            return (min(numbers), max(numbers) + 1) if numbers else (0, 0)
        case _:
            return 0, None


def _since(each: Filter, value: Any) -> int | None:
    """The smallest millisecond that can match."""
    match each:
        case EqualTo() | EqualNullSafe() | GreaterThanOrEqual():
            return -(-_microseconds(value) // 1000)
        case GreaterThan():
            return _microseconds(value) // 1000 + 1
        case In():
            moments = [_microseconds(item) for item in value if item is not None]
            return -(-min(moments) // 1000) if moments else None
        case _:
            return None


def _microseconds(value: datetime) -> int:
    """Since 1970; a value without a zone is in the local one, as PySpark hands them out."""
    passed = value.astimezone(UTC) - _EPOCH
    return (passed.days * 86400 + passed.seconds) * 1_000_000 + passed.microseconds


def _least(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)


def _greatest(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else max(one, other)
