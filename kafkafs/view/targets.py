"""From a query to places in the log: the four kinds of target that a name can have, resolved against one `Log`.

Raw views ask for bytes and are never filtered; decoded views ask for records and see what their isolation level shows.

                 a point                         a range
    by-offset    AtOffset: the batch that a      BetweenOffsets: offsets as they stand; `earliest`,
                 fetch at the offset finds       `latest`, `end` as the look has them
    by-time      AtTime: the first record at     BetweenTimes: from the first record at or after the one
                 or after the time, in order     to that of the other; 0 or less is the log start

A target is made from a name once and holds nothing of a log; the look is handed in with each question.
"""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple, Protocol

from kafkafs.errors import CorruptData, NotFound, TooLarge
from kafkafs.format.times import FromEnd, Time
from kafkafs.log.log import LocatedBatch, Log, newest_ms
from kafkafs.log.lookup import Found, Lookup
from kafkafs.log.outcomes import OpenTransactions
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.reader import Reader
from kafkafs.log.trace import Trace, no_trace
from kafkafs.search.partition_keys import PartitionKeys
from kafkafs.view.grammar import (
    Anchor,
    Before,
    OffsetPoint,
    OffsetRange,
    TimeBound,
    TimePoint,
    TimeRange,
)
from kafkafs.view.reasons import noted


class LogLook:
    """A log as one reader sees it: what the isolation level shows, and what stands there without one.

    A reader is made, without a lock, when it is first asked for: two threads may make one each, and either is right.
    """

    def __init__(self, log: Log, options: ReadOptions, transactions: OpenTransactions, keys: PartitionKeys) -> None:
        self.log = log
        self.keys = keys
        self._options = options
        self._transactions = transactions
        self._visible: Reader | None = None
        self._uncommitted: Reader | None = None
        self._newest_ms: int | None = None

    @property
    def visible(self) -> Reader:
        """What the mount's isolation level shows."""
        if self._visible is None:
            self._visible = Reader(self.log, self._options, self._transactions)
        return self._visible

    @property
    def uncommitted(self) -> Reader:
        """The same without regard to transactions; control records are left out here, too."""
        if self._uncommitted is None:
            same, options = self._options.isolation == "read_uncommitted", self._uncommitted_options
            self._uncommitted = self.visible if same else Reader(self.log, options, self._transactions)
        return self._uncommitted

    @property
    def _uncommitted_options(self) -> ReadOptions:
        return dataclasses.replace(self._options, isolation="read_uncommitted")

    def offset(self, point: OffsetPoint) -> int | None:
        """The offset that a point in `by-offset/` names; None where it names a visible record and there is none."""
        match point.kind:
            case Anchor.ABSOLUTE:
                return point.value
            case Anchor.FROM_END:
                return self.log.end_offset - point.value
            case Anchor.EARLIEST:
                return self.visible.earliest()
            case Anchor.LATEST:
                return self.visible.latest()

    def milliseconds(self, time: Time) -> int:
        """The epoch milliseconds that a time names. What counts back from the newest record is 0 where none has a time,
        and does not depend on isolation."""
        if isinstance(time, int):
            return time
        if self._newest_ms is None:
            self._newest_ms = newest_ms(self.log)
        return time.before(self._newest_ms)


class PointTarget(Protocol):
    """A point: one batch in a raw view, one record in a decoded one. NotFound where it leads nowhere.

    Isolation does not touch the batch, but for that of `earliest`, `latest` and a key, which mean visible records.
    """

    def batch(self, look: LogLook, trace: Trace = no_trace) -> LocatedBatch:
        """The batch that it leads to; `trace` hears each step. Raises NotFound where there is none."""

    def record(self, look: LogLook) -> Found:
        """The visible record that it leads to. Raises NotFound where there is none."""

    def leads_to(self, look: LogLook) -> int | None:
        """The offset of the record that the raw view leads to; None where the batch is corrupt or no record follows."""


class AtOffset(NamedTuple):
    """A point in `by-offset/`."""

    point: OffsetPoint

    def batch(self, look: LogLook, trace: Trace = no_trace) -> LocatedBatch:
        """As a fetch finds it, or the damage in its place; NotFound outside the log."""
        try:
            return look.log.locate(self._offset(look), trace)
        except NotFound as error:
            raise noted(look.log, error) from None

    def record(self, look: LogLook) -> Found:
        """The first visible one at or behind the offset; NotFound outside the log, or where none follows."""
        try:
            return look.visible.lookup.first(self._offset(look))
        except NotFound as error:
            raise noted(look.log, error) from None

    def leads_to(self, look: LogLook) -> int | None:
        """The first record at or behind the offset, under whatever isolation level; control records are none."""
        return _offset_or_none(lambda: look.uncommitted.lookup.first(self._offset(look)))

    def _offset(self, look: LogLook) -> int:
        offset = look.offset(self.point)
        if offset is None:
            raise NotFound("no record is visible")
        return offset


class AtTime(NamedTuple):
    """A point in `by-time/`."""

    time: Time

    def batch(self, look: LogLook, trace: Trace = no_trace) -> LocatedBatch:
        """That of the first record at or after the time, under whatever isolation level; NotFound without one."""
        found = look.uncommitted.lookup.batch_at(look.milliseconds(self.time), trace)
        if found is None:
            raise NotFound(f"no record at or after {self.time}")
        return found

    def record(self, look: LogLook) -> Found:
        """The first visible one, in order of offsets, at or after the time; NotFound where there is none."""
        return self._record(look, look.visible.lookup)

    def leads_to(self, look: LogLook) -> int | None:
        """The first record at or after the time, under whatever isolation level."""
        return _offset_or_none(lambda: self._record(look, look.uncommitted.lookup))

    def _record(self, look: LogLook, lookup: Lookup) -> Found:
        found = lookup.first_at(look.milliseconds(self.time))
        if found is None:
            raise NotFound(f"no record at or after {self.time}")
        return found


class BeforeTime(NamedTuple):
    """The last record of the range `..TIME`: the one in front of that which the time leads to."""

    time: Time

    def batch(self, look: LogLook, trace: Trace = no_trace) -> LocatedBatch:
        """That of the record, under whatever isolation level; NotFound without one."""
        found = self._found(look, look.uncommitted, trace)
        if isinstance(found, Found) and trace is no_trace:
            return found.segment, found.batch
        offset = found if isinstance(found, int) else found.offset
        trace(f"the last visible record in front of it has the offset {offset}")
        return look.log.locate(offset, trace)

    def record(self, look: LogLook) -> Found:
        """The visible one; NotFound where there is none."""
        return self._record(look, look.visible)

    def leads_to(self, look: LogLook) -> int | None:
        """The record, under whatever isolation level."""
        return _offset_or_none(lambda: self._record(look, look.uncommitted))

    def _record(self, look: LogLook, reader: Reader) -> Found:
        found = self._found(look, reader)
        return reader.lookup.first(found) if isinstance(found, int) else found

    def offset(self, look: LogLook, reader: Reader) -> int:
        """The record's, as that reader sees it; NotFound where there is none."""
        found = self._found(look, reader)
        return found if isinstance(found, int) else found.offset

    def _found(self, look: LogLook, reader: Reader, trace: Trace = no_trace) -> Found | int:
        """The record, where the search for the one behind it has come by it; else its offset."""
        time_ms = look.milliseconds(self.time)
        found = reader.lookup.before(time_ms, trace) if time_ms > 0 else look.log.start_offset
        if isinstance(found, Found):
            return found
        offset = reader.latest(found)
        if offset is None:
            raise NotFound(f"no record before {self.time}")
        return offset


def _offset_or_none(find: Callable[[], Found]) -> int | None:
    try:
        return find().offset
    except (NotFound, CorruptData, TooLarge):
        return None


class RangeTarget(Protocol):
    """A range: offsets [start, end), not clamped to the log yet; `end` is None where it grows with the log."""

    def start(self, look: LogLook, *, isolated: bool) -> int | None:
        """Where it begins; None where the log has not got so far yet, and nothing that is there is in it."""

    def offsets(self, look: LogLook, *, isolated: bool) -> tuple[int, int | None]:
        """[start, end). `isolated`: a time leads to the first record at or after it that the isolation level shows."""


class BetweenOffsets(NamedTuple):
    """A range in `by-offset/`."""

    range: OffsetRange

    def start(self, look: LogLook, *, isolated: bool) -> int | None:  # noqa: ARG002 (offsets are offsets)
        """The offset as it stands, or what `earliest`, `latest` and `-n` mean now; never None."""
        return _offset(look, self.range.start)

    def offsets(self, look: LogLook, *, isolated: bool) -> tuple[int, int | None]:  # noqa: ARG002
        """Both ends so, in or outside of the log, and perhaps the wrong way round, which is an empty range."""
        stop = self.range.stop
        return _offset(look, self.range.start), None if stop is None else _offset(look, stop)


def _offset(look: LogLook, point: OffsetPoint) -> int:
    """Where no record is visible, `earliest` and `latest` are where the next one comes up."""
    offset = look.offset(point)
    return look.visible.visible_end if offset is None else offset


class BetweenTimes(NamedTuple):
    """A range in `by-time/`. A time of 0 is the log start, so that records without a timestamp are in it.

    An end in a batch that is too large to unpack has that batch in the range, if it is not the batch's only record.
    """

    range: TimeRange

    def start(self, look: LogLook, *, isolated: bool) -> int | None:
        """The log start for 0; where no record reaches it yet, None, but for `now` the end of what is visible."""
        reader = self._reader(look, isolated)
        found = _bounds(look, reader, self.range.start)
        if found is not None:
            return found[0]
        return reader.visible_end if self.range.from_now else None

    def offsets(self, look: LogLook, *, isolated: bool) -> tuple[int, int | None]:
        """Where no record reaches it, the log end; the same offset twice where the times leave nothing between them."""
        start, (first, last, _) = self.start(look, isolated=isolated), self.range
        if start is None:
            start = look.log.end_offset
        if last is None:
            return start, None
        reader = self._reader(look, isolated)
        times = [look.milliseconds(each) for each in (first, last) if isinstance(each, int | FromEnd)]
        if len(times) == 2 and times[1] <= times[0]:
            return start, start
        found = _bounds(look, reader, last)
        return start, max(look.log.end_offset, reader.visible_end) if found is None else found[1]

    def _reader(self, look: LogLook, isolated: bool) -> Reader:
        return look.visible if isolated else look.uncommitted


def _bounds(look: LogLook, reader: Reader, bound: TimeBound) -> tuple[int, int] | None:
    """The offset where a range begins or ends, twice (see `Lookup.bounds_at`); None where no record reaches it."""
    match bound:
        case OffsetPoint():
            offset = _offset(look, bound)
        case Before(time):
            try:
                offset = BeforeTime(time).offset(look, reader)
            except NotFound:
                offset = look.log.start_offset
        case _:
            time_ms = look.milliseconds(bound)
            if time_ms > 0:
                return reader.lookup.bounds_at(time_ms)
            offset = look.log.start_offset
    return offset, offset


def point_target(point: OffsetPoint | TimePoint | FromEnd | Before) -> PointTarget:
    """The target of a point."""
    match point:
        case OffsetPoint():
            return AtOffset(point)
        case Before(time):
            return BeforeTime(time)
        case FromEnd():
            return AtTime(point)
    return AtTime(point.time_ms)


def range_target(range_: OffsetRange | TimeRange) -> RangeTarget:
    """The target of a range."""
    return BetweenOffsets(range_) if isinstance(range_, OffsetRange) else BetweenTimes(range_)
