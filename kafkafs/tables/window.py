"""The words `start` and `end` of a scan: offsets by partition, or one time for all partitions.

A time leads to the offset that a broker answers: that of the first record at or after it, else the end of the log.
"""

from collections.abc import Collection, Container, Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from kafkafs.errors import UsageError
from kafkafs.format.times import FromEnd, Time, parse_time_ms, parse_window
from kafkafs.tables.offsets import (
    EARLIEST,
    LATEST,
    AllAt,
    Limit,
    Specific,
    Timestamps,
    TopicPartition,
    check_order,
    names,
)
from kafkafs.tables.planning import PartitionLook, resolved

Bound = Mapping[int, int] | int | str | datetime | None
"""Offsets by partition; a time as milliseconds since 1970, as text or as a datetime; None for all that is there."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TopicWindow(NamedTuple):
    """The part of a topic between two bounds; the end is left out."""

    start: Bound = None
    end: Bound = None

    def without(self, gone: Container[int]) -> "TopicWindow":
        """The window with bounds that do not name the partitions that are `gone`."""
        return TopicWindow(*(
            {number: at for number, at in bound.items() if number not in gone} if isinstance(bound, Mapping) else bound
            for bound in self
        ))  # fmt: skip

    def limits(self, partitions: Collection[TopicPartition], now_ms: int) -> tuple[Limit, Limit]:
        """The bounds for these partitions. UsageError for a bound that means nothing here."""
        limits = self._limit("start", EARLIEST, partitions, now_ms), self._limit("end", LATEST, partitions, now_ms)
        check_order(*limits)
        return limits

    def _limit(self, side: str, otherwise: int, partitions: Collection[TopicPartition], now_ms: int) -> Limit:
        bound = self.start if side == "start" else self.end
        if bound is None:
            return AllAt(otherwise)
        if isinstance(bound, Mapping):
            return _specific(side, bound, otherwise, partitions)
        moment = _milliseconds(side, bound) if not isinstance(bound, str) else self._parsed(side, bound, now_ms)
        return Timestamps(moment, "latest") if moment > 0 else AllAt(EARLIEST)

    def _parsed(self, side: str, text: str, now_ms: int) -> int:
        found: Time | None = parse_time_ms(text.strip(), now_ms)
        if isinstance(self.end, str) and self.end.strip().startswith("+") and isinstance(self.start, str):
            window = parse_window(self.start.strip(), self.end.strip(), now_ms)
            found = None if window is None else window[side == "end"]
        if found is None or isinstance(found, FromEnd):
            raise UsageError(
                f"{side}={text!r} is no time; write milliseconds, @seconds, ISO 8601, now, -1h, or with a start as text"
                " a length: end='+10m'"
            )
        return found


def _specific(side: str, bound: Mapping[int, int], otherwise: int, partitions: Collection[TopicPartition]) -> Limit:
    numbers = {name.partition: name for name in partitions}
    for partition, offset in bound.items():
        if partition not in numbers:
            raise UsageError(f"{side} names the partition {partition!r}; the partitions here are {names(partitions)}")
        if not _is_whole(offset) or offset < 0:
            raise UsageError(
                f"{side} names the offset {offset!r} of partition {partition}; write a whole number from 0 up"
            )
    return Specific(dict.fromkeys(partitions, otherwise) | {numbers[number]: int(at) for number, at in bound.items()})


def _is_whole(number: object) -> bool:
    return hasattr(number, "__index__") and not isinstance(number, bool)  # numpy's numbers, too


def _milliseconds(side: str, bound: object) -> int:
    """The first millisecond that is not before a time."""
    if isinstance(bound, datetime):
        if bound.tzinfo is None:
            raise UsageError(f"{side}={bound.isoformat()!r} has no time zone; write one, as in tzinfo=datetime.UTC")
        return -((_EPOCH - bound) // timedelta(milliseconds=1))
    if not _is_whole(bound):
        raise UsageError(
            f"{side}={bound!r} is no bound; write offsets as in {{0: 100}}, or a time: milliseconds since 1970, text or"
            " a datetime"
        )
    return int(bound)  # type: ignore[call-overload,no-any-return]


def offset_at(limit: Limit, look: PartitionLook) -> int:
    """A limit as an offset of a partition. A time never leads behind what is visible: an open transaction hides the
    records there, and no one lost them."""
    found = resolved(limit, look)
    return min(found, look.visible_end) if isinstance(limit, Timestamps) else found
