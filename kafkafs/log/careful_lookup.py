"""Lookups, the careful way: segment by segment, step by step, whatever state indexes and log are in.

`lookup` asks a quicker way first, and takes this one where that cannot tell. `.explain` asks this one and no other, and
shows its steps, which a `Trace` hears. In one segment `offset_search` and `time_search` find batches; `visible` tells
which of their records count.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from kafkafs.errors import Denied, NotFound, TooLarge
from kafkafs.format.batch import Batch
from kafkafs.format.batches import batch_at
from kafkafs.format.records import Records
from kafkafs.log.batch_runs import Damage
from kafkafs.log.log import Log
from kafkafs.log.offset_search import first_reaching, scanned_to
from kafkafs.log.options import ReadOptions
from kafkafs.log.segment import Segment
from kafkafs.log.time_search import late_batches
from kafkafs.log.trace import Trace, no_trace
from kafkafs.log.transactions import OpenTransactions
from kafkafs.log.visible import Visible

LocatedBatch = tuple[Segment, Batch | Damage]
"""What stands at an offset, and the segment that it stands in."""
FindBatch = Callable[[Segment, int, int], Batch | Damage | None]
"""Of a segment, an offset and the position at which the log ends: see `offset_search.first_reaching`."""


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


class Late(NamedTuple):
    """The batch of the first record late enough, and the record; why there is none where the batch is too large."""

    segment: Segment
    batch: Batch
    record: Records | TooLarge


def locate_by(find: FindBatch, log: Log, offset: int, trace: Trace = no_trace) -> LocatedBatch:
    """The first batch whose last offset is at or after `offset`, as a fetch answers, or the damage that owns it, as
    `find` finds it in a segment. NotFound outside [log start, log end).
    """
    _check_inside(log, offset)
    for segment in log.segments_from(offset):
        which = f"the last one with a base offset at or below {offset}"
        trace(f"segment {segment.log_name}: {which if segment.base_offset <= offset else 'the next one'}")
        try:
            found = find(segment, offset, log.walk_end(segment))
        except Denied:  # a gap
            continue
        if found is not None:
            return segment, found
    raise NotFound(f"no batch at or behind offset {offset}")


def _check_inside(log: Log, offset: int) -> None:
    if not log.start_offset <= offset < log.end_offset:
        raise NotFound(f"offset {offset} is outside {log.start_offset}..{log.end_offset}")


class CarefulLookup:
    """Points of one log under one set of options: visible records, and the batches that hold them."""

    def __init__(self, log: Log, options: ReadOptions, transactions: OpenTransactions, trace: Trace = no_trace) -> None:
        """`trace` hears the steps of `locate`, `first_at` and `batch_at`."""
        self.log = log
        self.visible = Visible(log, options, transactions)
        self._trace = trace

    def locate(self, offset: int) -> LocatedBatch:
        """The batch at `offset`, or the damage: see `locate_by`."""
        return locate_by(partial(first_reaching, trace=self._trace), self.log, offset, self._trace)

    @property
    def visible_end(self) -> int:
        """Visible records lie below this offset."""
        return self.visible.end

    def first(self, offset: int) -> Record:
        """The first visible record at or behind `offset`; NotFound outside the log or where none follows."""
        if not self.log.end_offset <= offset < self.visible_end:  # the last batch may hold more than its header states
            _check_inside(self.log, offset)
        return self._first(offset)

    def _first(self, offset: int) -> Record:
        for segment, item in self.visible.batches(offset, self.visible_end):
            if isinstance(item, Damage):
                self.visible.pass_damage(item)
                continue
            for row in range(len(item.rows)):
                record = self.visible.first_record(segment, item, row, offset)
                if record is not None:
                    return Record(record, batch_at(item.rows, row), segment)
        raise NotFound(f"no visible record at or behind offset {offset}")

    def first_at(self, timestamp: int) -> Record | None:
        """The first visible record, in offset order, at or after `timestamp`; None where there is none.

        A corrupt batch is passed over; TooLarge where it may be in a batch that is too large to unpack.
        """
        late = self._at(timestamp)
        if late is None:
            return None
        if isinstance(late.record, TooLarge):
            raise late.record
        return Record(late.record, late.batch, late.segment)

    def bounds_at(self, timestamp: int) -> tuple[int, int] | None:
        """The smallest and the largest offset that the record of `first_at` can have: the same, but in a batch that is
        too large to unpack. Where its header tells neither, the second is behind it: it takes the batch to know."""
        late = self._at(timestamp)
        return None if late is None else self._bounds(late)

    def _bounds(self, late: Late) -> tuple[int, int]:
        if isinstance(late.record, TooLarge):
            batch = late.batch
            return max(batch.base_offset, self.log.start_offset), batch.last_offset + self._may_be_cut(batch)
        offset = int(late.record.rows["offset"][0])
        return offset, offset

    def batch_at(self, timestamp: int) -> tuple[Segment, Batch] | None:
        """The batch of the record that `first_at` finds. TooLarge only where its header does not tell."""
        late = self._at(timestamp)
        if late is None:
            return None
        if isinstance(late.record, TooLarge) and self._may_be_cut(late.batch):
            raise late.record
        return late.segment, late.batch

    def _may_be_cut(self, batch: Batch) -> bool:
        """Whether the record with the batch's largest timestamp may lie below the log start."""
        return batch.base_offset < self.log.start_offset or batch.is_wrapped

    def _at(self, timestamp: int) -> Late | None:
        """The first visible record at or after `timestamp`, or the batch too large to unpack that may have it.

        Unlike ListOffsets, which answers from one segment, this goes on to later ones.
        """
        for number, segment in enumerate(self.log.segments_reaching(timestamp, self._trace)):
            if number:
                self._trace("going on to a later segment, which Kafka would not do")
            found = self._at_in(segment, timestamp)
            if found is not None:
                return found
        return None

    def _at_in(self, segment: Segment, timestamp: int) -> Late | None:
        """The same of one segment. What cannot be read is passed over."""
        trace = self._trace
        log_end = self.log.walk_end(segment)
        for item in late_batches(segment, timestamp, log_end, self.log.start_offset, trace):
            if isinstance(item, Damage):
                continue
            record = self.visible.late_record(segment, item.run, item.row, timestamp, trace)
            batch = item.batch
            if isinstance(record, Records | TooLarge):
                if trace is not no_trace:  # what a message of an old format spans takes unpacking
                    trace(scanned_to(segment, batch.end - item.start.position, item.start, batch))
                return Late(segment, batch, record)
        return None
