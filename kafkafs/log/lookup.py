"""Lookups: the record or batch at an offset or a time. The one module that knows of two ways to find it.

The quick way (`quick_lookup`) is asked first; where it cannot tell, the careful way is: `offset_search` and
`time_search` find the batch in one segment, `visible` the record in it. Both give the same answers:
`tests/log/test_quick_lookup.py` holds them against each other.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from kafkafs.errors import Denied, KafkafsError, NotFound, TooLarge
from kafkafs.format.batch import Batch
from kafkafs.format.batches import batch_at
from kafkafs.format.records import Records
from kafkafs.log import quick_lookup
from kafkafs.log.batch_runs import Damage
from kafkafs.log.log import Log
from kafkafs.log.offset_search import first_reaching, scanned_to
from kafkafs.log.options import ReadOptions
from kafkafs.log.segment import Segment
from kafkafs.log.time_search import late_batches
from kafkafs.log.trace import Trace, no_trace
from kafkafs.log.transactions import OpenTransactions
from kafkafs.log.visible import Visible

Answer = TypeVar("Answer")
LocatedBatch = tuple[Segment, Batch | Damage]
"""What stands at an offset, and the segment that it stands in."""


class Record(NamedTuple):
    """One record: columns with exactly one row, and the batch it stands in."""

    columns: Records
    batch: Batch
    segment: Segment

    @property
    def offset(self) -> int:
        """Absolute."""
        return int(self.columns.rows["offset"][0])

    @property
    def timestamp(self) -> int:
        """In milliseconds; -1 for none."""
        return int(self.columns.rows["timestamp"][0])


class _Late(NamedTuple):
    """The batch of the first record late enough, and the record; why there is none where the batch is too large."""

    segment: Segment
    batch: Batch
    record: Records | TooLarge


class _TimeFound(NamedTuple):
    """What a time leads to; and the smallest first offset of what stands before it and cannot be read."""

    late: _Late | None
    unreadable: int | None


def _ask(trace: Trace, quick: Callable[[], Answer | None], careful: Callable[[], Answer]) -> Answer:
    """The quick way's answer, or else the careful one's, which alone has steps to explain."""
    found = quick() if trace is no_trace else None
    return careful() if found is None else found


def find_batch(segment: Segment, offset: int, end: int, trace: Trace = no_trace) -> Batch | Damage | None:
    """The segment's first batch whose last offset is at or after `offset`, or the damage that owns it; None behind the
    last. `end` is the position at which the log ends. Kafka calls it translateOffset."""
    return _ask(
        trace,
        lambda: quick_lookup.batch_reaching(segment, offset, end),
        lambda: first_reaching(segment, offset, end, trace),
    )


def locate(log: Log, offset: int, trace: Trace = no_trace) -> LocatedBatch:
    """The first batch whose last offset is at or after `offset`, as a fetch answers, or the damage that owns it.

    NotFound outside [log start, log end).
    """
    if not log.start_offset <= offset < log.end_offset:
        raise NotFound(f"offset {offset} is outside {log.start_offset}..{log.end_offset}")
    for segment in log.segments_at(offset):
        which = f"the last one with a base offset at or below {offset}"
        trace(f"segment {segment.log_name}: {which if segment.base_offset <= offset else 'the next one'}")
        try:
            found = find_batch(segment, offset, log.walk_end(segment), trace)
        except Denied:  # a gap
            continue
        if found is not None:
            return segment, found
    raise NotFound(f"no batch at or behind offset {offset}")


class Lookup:
    """Points of one log under one set of options: visible records, and the batches that hold them."""

    def __init__(self, log: Log, options: ReadOptions, transactions: OpenTransactions) -> None:
        self.log = log
        self.visible = Visible(log, options, transactions)

    @property
    def end_offset(self) -> int:
        """Visible records lie below this offset."""
        return self.visible.end_offset

    def first(self, offset: int) -> Record:
        """The first visible record at or behind `offset`; NotFound outside the log or where none follows."""
        if not self.log.start_offset <= offset < self.log.end_offset:
            raise NotFound(f"offset {offset} is outside {self.log.start_offset}..{self.log.end_offset}")
        return _ask(no_trace, lambda: self._quick_first(offset), lambda: self._careful_first(offset))

    def _quick_first(self, offset: int) -> Record | None:
        found = quick_lookup.record_reaching(self.visible, offset)
        if found is None:
            return None
        segment, batch, record = found
        return Record(record, batch, segment)

    def _careful_first(self, offset: int) -> Record:
        for segment, item in self.visible.batches(offset, self.end_offset):
            if isinstance(item, Damage):
                self.visible.skip_or_raise(item)
                continue
            for row in range(len(item.rows)):
                record = self.visible.first_record(item, row, offset)
                if record is not None:
                    return Record(record, batch_at(item.rows, row), segment)
        raise NotFound(f"no visible record at or behind offset {offset}")

    def first_at(self, timestamp: int, trace: Trace = no_trace) -> Record | None:
        """The first visible record, in offset order, at or after `timestamp`; None where there is none.

        A corrupt batch is passed over; TooLarge where it may be in a batch that is too large to unpack.
        """
        late = self._at(timestamp, trace).late
        if late is None:
            return None
        if isinstance(late.record, TooLarge):
            raise late.record
        return Record(late.record, late.batch, late.segment)

    def bounds_at(self, timestamp: int) -> tuple[int, int] | None:
        """The smallest and the largest offset that the record of `first_at` can have: the same, but in a batch that is
        too large to unpack. Where its header tells neither, the second is behind it: it takes the batch to know."""
        late = self._at(timestamp).late
        return None if late is None else self._bounds(late)

    def since(self, timestamp: int) -> int | None:
        """The offset of the first record at or after `timestamp`, or of what stands before it and cannot be read; None
        where there is neither. Who reads from there on misses no record as late, and no error in its place."""
        found = self._at(timestamp)
        first = None if found.late is None else self._bounds(found.late)[0]
        return min((offset for offset in (first, found.unreadable) if offset is not None), default=None)

    def _bounds(self, late: _Late) -> tuple[int, int]:
        if isinstance(late.record, TooLarge):
            batch = late.batch
            return max(batch.base_offset, self.log.start_offset), batch.last_offset + self._may_be_cut(batch)
        offset = int(late.record.rows["offset"][0])
        return offset, offset

    def batch_at(self, timestamp: int, trace: Trace = no_trace) -> tuple[Segment, Batch] | None:
        """The batch of the record that `first_at` finds. TooLarge only where its header does not tell."""
        return _ask(trace, lambda: self._quick_batch_at(timestamp), lambda: self._careful_batch_at(timestamp, trace))

    def _quick_batch_at(self, timestamp: int) -> tuple[Segment, Batch] | None:
        segment = next(self.log.segments_reaching(timestamp), None)
        batch = None if segment is None else quick_lookup.late_batch(self.visible, segment, timestamp)
        return None if segment is None or batch is None else (segment, batch)

    def _careful_batch_at(self, timestamp: int, trace: Trace) -> tuple[Segment, Batch] | None:
        late = self._at(timestamp, trace).late
        if late is None:
            return None
        if isinstance(late.record, TooLarge) and self._may_be_cut(late.batch):
            raise late.record
        return late.segment, late.batch

    def _may_be_cut(self, batch: Batch) -> bool:
        """Whether the record with the batch's largest timestamp may lie below the log start."""
        return batch.base_offset < self.log.start_offset or batch.is_wrapped

    def _at(self, timestamp: int, trace: Trace = no_trace) -> _TimeFound:
        """The first visible record at or after `timestamp`, or the batch too large to unpack that may have it.

        Unlike ListOffsets, which answers from one segment, this goes on to later ones.
        """
        unreadable: int | None = None
        for number, segment in enumerate(self.log.segments_reaching(timestamp, trace)):
            if number:
                trace("going on to a later segment, which Kafka would not do")
            found = self._at_in(segment, timestamp, trace)
            unreadable = found.unreadable if unreadable is None else unreadable
            if found.late is not None:
                return _TimeFound(found.late, unreadable)
        return _TimeFound(None, unreadable)

    def _at_in(self, segment: Segment, timestamp: int, trace: Trace) -> _TimeFound:
        return _ask(
            trace,
            lambda: self._quick_at(segment, timestamp),
            lambda: self._careful_at(segment, timestamp, trace),
        )

    def _quick_at(self, segment: Segment, timestamp: int) -> _TimeFound | None:
        found = quick_lookup.late_record(self.visible, segment, timestamp)
        return None if found is None else _TimeFound(_Late(segment, *found), None)

    def _careful_at(self, segment: Segment, timestamp: int, trace: Trace) -> _TimeFound:
        unreadable: int | None = None
        end = self.log.walk_end(segment)
        for item in late_batches(segment, timestamp, end, self.log.start_offset, trace):
            if isinstance(item, Damage):
                unreadable = item.base_offset if unreadable is None else min(unreadable, item.base_offset)
                continue
            record = self.visible.late_record(segment, item.run, item.row, timestamp, trace)
            batch = item.batch
            if isinstance(record, Records | TooLarge):
                if trace is not no_trace:
                    trace(scanned_to(segment, batch.end - item.start.position, item.start, batch))
                return _TimeFound(_Late(segment, batch, record), unreadable)
            if isinstance(record, KafkafsError):
                unreadable = batch.base_offset if unreadable is None else min(unreadable, batch.base_offset)
        return _TimeFound(None, unreadable)
