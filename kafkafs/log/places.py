"""Places in a log: the offsets and times that a query can name, resolved against one `Look`.

Raw views ask for bytes and are never filtered; decoded views ask for records and see what their isolation level shows.

                 a point                         a range
    by-offset    AtOffset: the batch that a      BetweenOffsets: offsets as they stand; `earliest`,
                 fetch at the offset finds       `latest`, `end` as the look has them
    by-time      AtTime: the first record at     BetweenTimes: from the first record at or after the one
                 or after the time, in order     to that of the other; 0 or less is the log start

A target is made from a name once and holds nothing of a log; each question gets the look. A command's window of offsets
and times is a `Between`.
"""

import enum
import logging
from collections.abc import Callable
from typing import NamedTuple, Protocol

from kafkafs.errors import CorruptData, NotFound, TooLarge
from kafkafs.format.times import FromEnd, Time, time_text
from kafkafs.format.trace import Trace, no_trace
from kafkafs.log.log import Found, LocatedBatch, Log
from kafkafs.log.look import Look, Reader
from kafkafs.log.lookup import Lookup

logger = logging.getLogger(__name__)


class Anchor(enum.Enum):
    """The place from which an offset counts."""

    ABSOLUTE = "absolute"
    EARLIEST = "earliest"  # the first visible record
    LATEST = "latest"  # the last visible record
    FROM_END = "from_end"  # back from the log end on disk


class PointTarget(Protocol):
    """A point: one batch in a raw view, one record in a decoded one. NotFound if it leads nowhere.

    Isolation does not touch the batch, but for that of `earliest`, `latest` and a key, which mean visible records.
    """

    def batch(self, look: Look, trace: Trace = no_trace) -> LocatedBatch:
        """The batch that it leads to; `trace` hears each step. Raises NotFound if it does not exist."""

    def record(self, look: Look) -> Found:
        """The visible record that it leads to. Raises NotFound if it does not exist."""

    def leads_to(self, look: Look) -> int | None:
        """The offset of the record that the raw view leads to; None if the batch is corrupt or no record follows."""


class AtOffset(NamedTuple):
    """A point in `by-offset/`: an offset, or the log end minus `value` (0 is `end`); `value` is 0 for earliest and
    latest."""

    anchor: Anchor
    value: int = 0

    def batch(self, look: Look, trace: Trace = no_trace) -> LocatedBatch:
        """The batch that a fetch finds at the offset, or the damage in its place; NotFound outside the log."""
        try:
            return look.log.locate(self._offset(look), trace)
        except NotFound as error:
            raise _logged(look.log, error) from None

    def record(self, look: Look) -> Found:
        """The first visible one at or behind the offset; NotFound outside the log, or where none follows."""
        try:
            return look.visible.lookup.first(self._offset(look))
        except NotFound as error:
            raise _logged(look.log, error) from None

    def leads_to(self, look: Look) -> int | None:
        """The first record at or behind the offset, under whatever isolation level; control records are none."""
        return _offset_or_none(lambda: look.uncommitted.lookup.first(self._offset(look)))

    def offset(self, look: Look) -> int | None:
        """The offset itself; None if the point is a visible record and no record is visible."""
        match self.anchor:
            case Anchor.ABSOLUTE:
                return self.value
            case Anchor.FROM_END:
                look.check_nothing_follows()
                return look.log.end_offset - self.value
            case Anchor.EARLIEST:
                return look.visible.earliest()
            case Anchor.LATEST:
                look.log.check_end()
                return look.visible.latest()

    def _offset(self, look: Look) -> int:
        offset = self.offset(look)
        if offset is None:
            look.log.check_end()
            raise NotFound("no record is visible")
        return offset


class AtTime(NamedTuple):
    """A point in `by-time/`: epoch milliseconds, never negative, or a time that counts back from the newest record."""

    time: Time

    def batch(self, look: Look, trace: Trace = no_trace) -> LocatedBatch:
        """The batch of the first record at or after the time, under any isolation level; NotFound if there is none."""
        found = look.uncommitted.lookup.batch_at(look.milliseconds(self.time), trace)
        if found is None:
            look.check_nothing_follows()
            raise NotFound(f"no record at or after {time_text(self.time)}")
        return found

    def record(self, look: Look) -> Found:
        """The first visible one, in order of offsets, at or after the time; NotFound if it does not exist."""
        return self._record(look, look.visible.lookup)

    def leads_to(self, look: Look) -> int | None:
        """The first record at or after the time, under whatever isolation level."""
        return _offset_or_none(lambda: self._record(look, look.uncommitted.lookup))

    def _record(self, look: Look, lookup: Lookup) -> Found:
        found = lookup.first_at(look.milliseconds(self.time))
        if found is None:
            look.check_nothing_follows()
            raise NotFound(f"no record at or after {time_text(self.time)}")
        return found


class BeforeTime(NamedTuple):
    """The last record of the range `..TIME`: the one in front of that which the time leads to."""

    time: Time

    def batch(self, look: Look, trace: Trace = no_trace) -> LocatedBatch:
        """The batch of the last record before the time, under any isolation level; NotFound if there is none."""
        found = self._found(look, look.uncommitted, trace)
        if isinstance(found, Found) and trace is no_trace:
            return found.segment, found.batch
        offset = found if isinstance(found, int) else found.offset
        trace(f"the last visible record in front of it has the offset {offset}")
        return look.log.locate(offset, trace)

    def record(self, look: Look) -> Found:
        """The visible one; NotFound if it does not exist."""
        return self._record(look, look.visible)

    def leads_to(self, look: Look) -> int | None:
        """The record, under whatever isolation level."""
        return _offset_or_none(lambda: self._record(look, look.uncommitted))

    def _record(self, look: Look, reader: Reader) -> Found:
        found = self._found(look, reader)
        return reader.lookup.first(found) if isinstance(found, int) else found

    def offset(self, look: Look, reader: Reader) -> int:
        """The record's, as that reader sees it; NotFound if it does not exist."""
        found = self._found(look, reader)
        return found if isinstance(found, int) else found.offset

    def _found(self, look: Look, reader: Reader, trace: Trace = no_trace) -> Found | int:
        """The record, where the search for the one behind it has come by it; else its offset."""
        time_ms = look.milliseconds(self.time)
        found = reader.lookup.before(time_ms, trace) if time_ms > 0 else look.log.start_offset
        if isinstance(found, Found):
            return found
        if found is None:
            look.check_nothing_follows()
        offset = reader.latest(found)
        if offset is None:
            raise NotFound(f"no record before {time_text(self.time)}")
        return offset


def _logged(log: Log, error: NotFound) -> NotFound:
    """`error`, with which a lookup has ended, logged."""
    logger.info("%s: %s", log.name.directory, error)
    return error


def _offset_or_none(find: Callable[[], Found]) -> int | None:
    try:
        return find().offset
    except (NotFound, CorruptData, TooLarge):
        return None


class RangeTarget(Protocol):
    """A range: offsets [start, end), not clamped to the log yet; `end` is None if it grows with the log."""

    def start(self, look: Look, *, isolated: bool) -> int | None:
        """Return the offset where it begins. Return None if the log has not got so far yet, and nothing in it
        matches."""

    def offsets(self, look: Look, *, isolated: bool) -> tuple[int, int | None]:
        """[start, end). `isolated`: a time leads to the first record at or after it that the isolation level shows."""

    def check_end(self, look: Look, *, isolated: bool) -> None:
        """Denied if the range goes on in a last log that may not be read, Lost if it begins where a tier has lost the
        log's end. To be called before it is opened."""


class BetweenOffsets(NamedTuple):
    """A range in `by-offset/`: offsets in [begin, stop); without a stop it grows with the log."""

    begin: AtOffset
    stop: AtOffset | None

    def start(self, look: Look, *, isolated: bool) -> int | None:  # noqa: ARG002 (offsets are offsets)
        """The given offset, or what `earliest`, `latest` and `-n` mean now; never None."""
        return _offset(look, self.begin)

    def offsets(self, look: Look, *, isolated: bool) -> tuple[int, int | None]:  # noqa: ARG002
        """Begin and stop as offsets, in or outside of the log. They may be the wrong way round, which is an empty
        range."""
        return _offset(look, self.begin), None if self.stop is None else _offset(look, self.stop)

    def check_end(self, look: Look, *, isolated: bool) -> None:
        """See `RangeTarget`."""
        _check_end(look, self, isolated, look.log.end_offset)


def _check_end(look: Look, target: RangeTarget, isolated: bool, known_to: int) -> None:
    """See `RangeTarget.check_end`. A range that ends at or before the offset `known_to` is known whole."""
    tail = look.log.tail
    if tail is not None and (tail.refused or tail.lost):  # the log may go on behind its end, as far as that can be read
        start, end = target.offsets(look, isolated=isolated)
        look.check_begin(start, end)
        if end is None or end > known_to:
            look.log.check_end()


def _offset(look: Look, point: AtOffset) -> int:
    """If no record is visible, `earliest` and `latest` are the place at which the next record will be."""
    offset = point.offset(look)
    return look.visible.visible_end if offset is None else offset


TimeBound = Time | BeforeTime | AtOffset
"""The begin or the end of a range in `by-time/`; an `AtOffset` is EARLIEST or LATEST."""


class BetweenTimes(NamedTuple):
    """A range in `by-time/`: [begin, stop); without a stop it grows with the log. A time of 0 is the log start, so that
    records without a timestamp are in it.

    `from_now`: it begins with `now`, and so with the next record, even if a producer's clock is behind. An end in a
    batch that is too large to unpack has that batch in the range, if it is not the batch's only record.
    """

    begin: TimeBound
    stop: TimeBound | None
    from_now: bool = False

    def start(self, look: Look, *, isolated: bool) -> int | None:
        """The log start for 0; where no record reaches it yet, None, but for `now` the end of what is visible."""
        reader = self._reader(look, isolated)
        found = _bounds(look, reader, self.begin)
        if found is not None:
            return found[0]
        return reader.visible_end if self.from_now else None

    def offsets(self, look: Look, *, isolated: bool) -> tuple[int, int | None]:
        """If no record reaches it, return the log end. If the times leave nothing between them, return the same offset
        twice."""
        start, first, last = self.start(look, isolated=isolated), self.begin, self.stop
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

    def check_end(self, look: Look, *, isolated: bool) -> None:
        """See `RangeTarget`. A time that no readable record reaches may be one of the last log."""
        _check_end(look, self, isolated, look.log.end_offset - 1)

    def _reader(self, look: Look, isolated: bool) -> Reader:
        return look.visible if isolated else look.uncommitted


class Between(NamedTuple):
    """A window of offsets and times that holds for every partition; None is no bound. Times count as in a range."""

    from_offset: int | None = None
    to_offset: int | None = None
    from_time: Time | None = None
    to_time: Time | None = None

    def offsets(self, look: Look) -> tuple[int, int]:
        """The offsets [start, end) of visible records that are in both windows; an empty window may end before it
        starts."""
        times = BetweenTimes(self.from_time or 0, self.to_time)
        start, stop = times.offsets(look, isolated=True)
        ends = (look.visible.visible_end, stop, self.to_offset)
        start = max(start, self.from_offset or 0, look.log.start_offset)
        if self.from_offset is not None:
            look.check_begin(self.from_offset, self.to_offset)
        return start, min(end for end in ends if end is not None)


def _bounds(look: Look, reader: Reader, bound: TimeBound) -> tuple[int, int] | None:
    """The offset where a range begins or ends, twice (see `Lookup.bounds_at`); None if no record reaches it."""
    match bound:
        case AtOffset():
            offset = _offset(look, bound)
        case BeforeTime():
            try:
                offset = bound.offset(look, reader)
            except NotFound:
                offset = look.log.start_offset
        case _:
            time_ms = look.milliseconds(bound)
            if time_ms > 0:
                return reader.lookup.bounds_at(time_ms)
            offset = look.log.start_offset
    return offset, offset
