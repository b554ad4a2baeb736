"""From a query to places in the log: the four kinds of target that a name can have, resolved against one `Log`.

Raw views ask for bytes and are never filtered; decoded views ask for records and see what their isolation level shows.
"""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple, Protocol

from kafkafs.errors import CorruptData, NotFound, TooLarge
from kafkafs.format.batch import Batch
from kafkafs.log.log import Log
from kafkafs.log.options import Options
from kafkafs.log.places import Tell, silent
from kafkafs.log.reading import Reader, Record
from kafkafs.log.segment import Segment
from kafkafs.log.stretches import Damage
from kafkafs.log.transactions import OpenTransactions
from kafkafs.view.grammar import Anchor, OffsetPoint, OffsetRange, TimePoint, TimeRange

Place = tuple[Segment, Batch | Damage]


class Sight:
    """A log as one reader sees it: raw and decoded."""

    def __init__(self, log: Log, options: Options, transactions: OpenTransactions) -> None:
        self.log = log
        self._options = options
        self._transactions = transactions
        self._decoded: Reader | None = None

    @property
    def decoded(self) -> Reader:
        """What the mount's isolation level shows. (No cached_property: in Python 3.11 all of them share one lock.)"""
        if self._decoded is None:
            self._decoded = Reader(self.log, self._options, self._transactions)
        return self._decoded

    @property
    def raw(self) -> Reader:
        """Everything on disk."""
        if self._options.isolation == "read_uncommitted":
            return self.decoded
        return Reader(self.log, dataclasses.replace(self._options, isolation="read_uncommitted"), self._transactions)

    def offset(self, point: OffsetPoint) -> int | None:
        """The offset that a point in `by-offset/` names; None where it names a visible record and there is none."""
        match point.kind:
            case Anchor.ABSOLUTE:
                return point.value
            case Anchor.FROM_END:
                return self.log.end_offset - point.value
            case Anchor.EARLIEST:
                return self.decoded.earliest()
            case Anchor.LATEST:
                return self.decoded.latest()


class PointTarget(Protocol):
    """A point: one batch in a raw view, one record in a decoded one. NotFound where it leads nowhere."""

    def batch(self, sight: Sight, tell: Tell = silent) -> Place: ...

    def record(self, sight: Sight) -> Record: ...

    def leads_to(self, sight: Sight) -> int | None:
        """The offset of the record that the raw view leads to; None where the batch is corrupt or no record follows."""


class AtOffset(NamedTuple):
    """A point in `by-offset/`."""

    point: OffsetPoint

    def batch(self, sight: Sight, tell: Tell = silent) -> Place:
        point = self.point  # the usual kind is not worth two calls: each lookup of an offset comes by here
        return sight.log.locate(point.value if point.kind is Anchor.ABSOLUTE else self._offset(sight), tell)

    def record(self, sight: Sight) -> Record:
        return sight.decoded.first(self._offset(sight))

    def leads_to(self, sight: Sight) -> int | None:
        return _offset_or_none(lambda: sight.raw.first(self._offset(sight)))

    def _offset(self, sight: Sight) -> int:
        offset = sight.offset(self.point)
        if offset is None:
            raise NotFound("no record is visible")
        return offset


class AtTime(NamedTuple):
    """A point in `by-time/`."""

    time_ms: int

    def batch(self, sight: Sight, tell: Tell = silent) -> Place:
        found = sight.raw.batch_at(self.time_ms, tell)
        if found is None:
            raise NotFound(f"no record at or after {self.time_ms}")
        return found

    def record(self, sight: Sight) -> Record:
        return self._record(sight.decoded)

    def leads_to(self, sight: Sight) -> int | None:
        return _offset_or_none(lambda: self._record(sight.raw))

    def _record(self, reader: Reader) -> Record:
        found = reader.first_at(self.time_ms)
        if found is None:
            raise NotFound(f"no record at or after {self.time_ms}")
        return found


def _offset_or_none(find: Callable[[], Record]) -> int | None:
    try:
        return find().offset
    except (NotFound, CorruptData, TooLarge):
        return None


class RangeTarget(Protocol):
    """A range: offsets [start, end), clamped to nothing yet; `end` is None where it grows with the log."""

    def offsets(self, sight: Sight, *, decoded: bool) -> tuple[int, int | None]:
        """`decoded`: a time leads to the first record at or after it that the isolation level shows."""


class BetweenOffsets(NamedTuple):
    """A range in `by-offset/`."""

    range: OffsetRange

    def offsets(self, sight: Sight, *, decoded: bool) -> tuple[int, int | None]:  # noqa: ARG002 (offsets are offsets)
        end = sight.log.end_offset
        start = sight.offset(self.range.start)
        stop = None if self.range.stop is None else sight.offset(self.range.stop)
        if self.range.stop is not None and stop is None:
            stop = end
        return end if start is None else start, stop


class BetweenTimes(NamedTuple):
    """A range in `by-time/`. A time of 0 is the log start, so that records without a timestamp are in it."""

    range: TimeRange

    def offsets(self, sight: Sight, *, decoded: bool) -> tuple[int, int | None]:
        reader = sight.decoded if decoded else sight.raw
        start = self._offset(reader, self.range.start_ms)
        return start, None if self.range.stop_ms is None else self._offset(reader, self.range.stop_ms)

    def _offset(self, reader: Reader, time_ms: int) -> int:
        if time_ms <= 0:
            return reader.log.start_offset
        found = reader.first_at(time_ms)
        return reader.log.end_offset if found is None else found.offset


def point_target(point: OffsetPoint | TimePoint) -> PointTarget:
    """The target of a point."""
    return AtOffset(point) if isinstance(point, OffsetPoint) else AtTime(point.time_ms)


def range_target(range_: OffsetRange | TimeRange) -> RangeTarget:
    """The target of a range."""
    return BetweenOffsets(range_) if isinstance(range_, OffsetRange) else BetweenTimes(range_)
