"""Records in offset order, as a consumer would get them: the one way from a `Log` to decoded columns.

Control records and, under read_committed, aborted transactions and what lies behind the last stable offset are left
out. A corrupt batch ends the reading with CorruptData after all that stands before it, or is passed over on request.
"""

import logging
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np

from kafkafs.errors import CorruptData, NotFound, TooLarge
from kafkafs.format.batch import Batch
from kafkafs.format.batches import Batches, batch_at, is_control
from kafkafs.format.records import Records, Refusal, decode
from kafkafs.log.batch_runs import BatchRun, Damage
from kafkafs.log.glance import ANY, NEED_ALL, NEED_HEADER, NEED_RECORD, Glimpse
from kafkafs.log.log import Log
from kafkafs.log.options import ReadOptions
from kafkafs.log.places import Start, Trace, no_trace
from kafkafs.log.segment import Segment
from kafkafs.log.time_search import Pass, unheard
from kafkafs.log.transactions import OpenTransactions, Outcomes
from kafkafs.log.wrapped import overlapping

logger = logging.getLogger(__name__)
Taken = TypeVar("Taken")


class Record(NamedTuple):
    """One record: columns with exactly one row, and the batch it stands in."""

    columns: Records
    batch: Batch
    segment: Segment

    @property
    def offset(self) -> int:
        return int(self.columns.rows["offset"][0])

    @property
    def timestamp(self) -> int:
        return int(self.columns.rows["timestamp"][0])


class _Late(NamedTuple):
    """The batch of the first record late enough, and the record; why there is none where the batch is too large."""

    segment: Segment
    batch: Batch
    record: Records | TooLarge


class Reader:
    """Reads one log under one set of options."""

    def __init__(self, log: Log, options: ReadOptions, transactions: OpenTransactions) -> None:
        self.log = log
        self._options = options
        self._committed = options.isolation == "read_committed"
        self.end_offset = transactions.last_stable_offset(log) if self._committed else log.end_offset
        """Visible records lie below this offset."""

    def records(self, start: int, end: int | None = None) -> Iterator[Records]:
        """The visible records with start <= offset < end, in pieces; up to the visible end where `end` is None."""
        start = max(start, self.log.start_offset)
        end = self.end_offset if end is None else min(end, self.end_offset)
        for _, item in self._items(start, end):
            if isinstance(item, Damage):
                self._refuse(item.position, item.size, "no valid batch")
                continue
            for piece in decode(item.data, item.position, item.rows, self._options.max_batch):
                if isinstance(piece, Refusal):
                    self._pass_over(piece)
                else:
                    yield piece.between(start, end)
                del piece  # and with it a large batch's memory, before the next is unpacked

    def first(self, offset: int) -> Record:
        """The first visible record at or behind `offset`; NotFound outside the log or where none follows."""
        if not self.log.start_offset <= offset < self.log.end_offset:
            raise NotFound(f"offset {offset} is outside {self.log.start_offset}..{self.log.end_offset}")
        if (record := self._glanced(offset)) is not None:
            return record
        for segment, item in self._items(offset, self.end_offset):
            if isinstance(item, Damage):
                self._refuse(item.position, item.size, "no valid batch")
                continue
            for row in range(len(item.rows)):
                record = self._first_in(segment, item, row, offset)
                if record is not None:
                    return record
        raise NotFound(f"no visible record at or behind offset {offset}")

    def _glanced(self, offset: int) -> Record | None:
        """The usual case of `first`: see `glance`. None where only the careful path can tell."""
        segment = next(self.log.segments_from(offset), None)
        if segment is None or self._committed:
            return None
        end = self.log.walk_end(segment)
        glimpse, columns = _one(
            lambda need: segment.glance(offset, end, offset, need=need),
            lambda glimpse: self._peek(glimpse, offset, ANY),
        )
        if glimpse is None:
            return None
        if columns is not None:
            return Record(columns, glimpse.batch, segment)
        item = glimpse.batch_run()
        return None if is_control(item.rows)[0] else self._first_in(segment, item, 0, offset)

    def _peek(self, glimpse: Glimpse, offset: int, timestamp: int) -> Records | None:
        """The batch's first record with neither a smaller offset nor timestamp, where one look at the batch gives it.

        Of a batch that may be too large `decode` has to say so.
        """
        return None if glimpse.batch.size > self._options.max_batch else glimpse.record(offset, timestamp)

    def first_at(self, timestamp: int, trace: Trace = no_trace) -> Record | None:
        """The first visible record, in offset order, at or after `timestamp`; None where there is none.

        A corrupt batch is passed over; TooLarge where it may be in a batch that is too large to unpack.
        """
        found = self._late_at(timestamp, trace)
        if found is None:
            return None
        if isinstance(found.record, TooLarge):
            raise found.record
        return Record(found.record, found.batch, found.segment)

    def bounds_at(self, timestamp: int) -> tuple[int, int] | None:
        """The smallest and the largest offset that the record of `first_at` can have: the same, but in a batch that is
        too large to unpack."""
        found = self._late_at(timestamp, no_trace)
        return None if found is None else self._bounds(found)

    def _bounds(self, found: _Late) -> tuple[int, int]:
        if isinstance(found.record, TooLarge):
            return max(found.batch.base_offset, self.log.start_offset), found.batch.last_offset
        offset = int(found.record.rows["offset"][0])
        return offset, offset

    def since(self, timestamp: int) -> int | None:
        """The offset of the first record at or after `timestamp`, or of what stands before it and cannot be read; None
        where there is neither. Who reads from there on misses no record as late, and no error in its place."""
        passed: list[int] = []
        found = self._late_at(timestamp, no_trace, passed.append)
        if found is not None:
            passed.append(self._bounds(found)[0])
        return min(passed, default=None)

    def batch_at(self, timestamp: int, trace: Trace) -> tuple[Segment, Batch] | None:
        """The batch of the record that `first_at` finds. TooLarge only where its header does not tell."""
        segment = self._reaching(timestamp) if trace is no_trace else None
        glimpse = self._glance_at(segment, timestamp, NEED_HEADER) if segment is not None else None
        if segment is not None and glimpse is not None and self._has_one(glimpse, timestamp):
            return segment, glimpse.batch
        found = self._late_at(timestamp, trace)
        if found is None:
            return None
        if isinstance(found.record, TooLarge) and self._may_be_cut(found.batch):
            raise found.record
        return found.segment, found.batch

    def _may_be_cut(self, batch: Batch) -> bool:
        """Whether the record with the batch's largest timestamp may lie below the log start."""
        return batch.base_offset < self.log.start_offset or (batch.magic < 2 and batch.codec > 0)

    def _has_one(self, glimpse: Glimpse, timestamp: int) -> bool:
        """Whether a batch whose largest timestamp is late enough is sure to have a visible record as late."""
        if glimpse.batch.base_offset < self.log.start_offset:
            return False
        return glimpse.proven > 0 or isinstance(self._late_in(glimpse, timestamp), Records)

    def _late_at(self, timestamp: int, trace: Trace, passed: Pass = unheard) -> _Late | None:
        """The first visible record at or after `timestamp`, or the batch too large to unpack that may have it."""
        if trace is no_trace and (late := self._glanced_at(timestamp)) is not None:
            return late
        found: list[Records | TooLarge] = []

        def wanted(item: BatchRun, row: int) -> bool:
            record = self._late(item, row, timestamp, trace, passed)
            if record is not None:
                found.append(record)
            return record is not None

        place = self.log.locate_time(timestamp, wanted, trace, passed)
        if place is None:
            return None
        segment, item, row = place
        return _Late(segment, batch_at(item.rows, row), found[0])

    def _glanced_at(self, timestamp: int) -> _Late | None:
        """The usual case of `_late_at`, as `_glanced`."""
        segment = self._reaching(timestamp)
        if segment is None:
            return None
        glimpse, record = _one(
            lambda need: self._glance_at(segment, timestamp, need), lambda glimpse: self._late_in(glimpse, timestamp)
        )
        return None if glimpse is None or record is None else _Late(segment, glimpse.batch, record)

    def _late_in(self, glimpse: Glimpse, timestamp: int) -> Records | TooLarge | None:
        """The batch's first visible record at or after `timestamp`, as far as the batch was read."""
        record = self._peek(glimpse, self.log.start_offset, timestamp)
        if record is None and not glimpse.proven:
            return self._late(glimpse.batch_run(), 0, timestamp, no_trace)
        return record

    def _reaching(self, timestamp: int) -> Segment | None:
        """The segment of the first record at or after `timestamp`, where isolation does not matter."""
        return None if self._committed else next(self.log.segments_reaching(timestamp), None)

    def _glance_at(self, segment: Segment, timestamp: int, need: int) -> Glimpse | None:
        return segment.glance(self.log.start_offset, self.log.walk_end(segment), timestamp=timestamp, need=need)

    def earliest(self) -> int | None:
        """The offset of the first visible record; None where none is visible. A corrupt batch counts as nothing; of one
        that is too large to unpack, what its header says."""
        return self._first_visible(self.log.start_offset)

    def latest(self) -> int | None:
        """The offset of the last visible record; None where none is visible. For the rest see `earliest`."""
        for segment in reversed(self.log.visible_segments()):
            end = self.end_offset
            while end > max(segment.base_offset, self.log.start_offset) and segment.is_readable():
                start = segment.start(end - 1)
                low = max(start.first_offset, self.log.start_offset)
                last = self._last_between(low, end)
                if last is not None:
                    return last
                if start.position == 0 or low >= end:
                    break
                end = low
        return None

    def _first_visible(self, offset: int) -> int | None:
        for item in self._whole(offset, self.end_offset):
            for row in range(len(item.rows)):
                offsets = self._offsets(item, row, offset, self.end_offset)
                if offsets is not None:
                    return offsets[0]
        return None

    def _last_between(self, start: int, end: int) -> int | None:
        last = None
        for item in self._whole(start, end):
            for row in range(len(item.rows) - 1, -1, -1):
                offsets = self._offsets(item, row, start, end)
                if offsets is not None:
                    last = offsets[1]
                    break
        return last

    def _whole(self, start: int, end: int) -> Iterator[BatchRun]:
        return (item for _, item in self._items(start, end) if isinstance(item, BatchRun))

    def _offsets(self, item: BatchRun, row: int, start: int, end: int) -> tuple[int, int] | None:
        """The first and last offset in [start, end) of a batch's records; None where it has none, or is corrupt."""
        found: list[int] = []
        for piece in decode(item.data, item.position, item.rows[row : row + 1], self._options.max_batch):
            if isinstance(piece, Refusal):
                if isinstance(piece.error, TooLarge):
                    batch = batch_at(item.rows, row)
                    return max(batch.base_offset, start), min(batch.last_offset, end - 1)
            elif len(kept := piece.between(start, end)):
                found += [int(kept.rows["offset"][0]), int(kept.rows["offset"][-1])]
        return (found[0], found[-1]) if found else None

    def _items(self, start: int, end: int) -> Iterator[tuple[Segment, BatchRun | Damage]]:
        """What overlaps the offsets [start, end): damage, and runs with only the rows that a consumer sees."""
        outcomes: Outcomes | None = None
        place: Start | None = None
        if start >= end:
            return
        for segment in self.log.segments_from(start):
            if segment.base_offset >= end:
                return
            place = segment.start(start) if place is None else Start(0, segment.base_offset)
            if self._committed and outcomes is None:
                outcomes = Outcomes(self.log, segment, place)
            for item in segment.walk(place, self.log.walk_end(segment)):
                if item.last_offset < start:
                    continue
                if isinstance(item, Damage):
                    if item.base_offset >= end:
                        return
                    yield segment, item
                    continue
                rows = overlapping(item.rows, start, end)
                rows = rows[~is_control(rows)]
                if outcomes is not None:
                    rows = rows[~outcomes.aborted(rows)]
                if len(rows):
                    yield segment, BatchRun(item.data, item.position, rows)
                if item.last_offset >= end - 1:
                    return

    def _first_in(self, segment: Segment, item: BatchRun, row: int, offset: int) -> Record | None:
        rows = item.rows[row : row + 1]
        for piece in decode(item.data, item.position, rows, self._options.max_batch):
            if isinstance(piece, Refusal):
                self._pass_over(piece)
                continue
            kept = piece.between(max(offset, self.log.start_offset), self.end_offset)
            if len(kept):
                return Record(Records(kept.data, kept.rows[:1]), batch_at(item.rows, row), segment)
        return None

    def _late(
        self, item: BatchRun, row: int, timestamp: int, trace: Trace, passed: Pass = unheard
    ) -> Records | TooLarge | None:
        """The batch's first visible record at or after `timestamp`."""
        rows = item.rows[row : row + 1]
        base = int(rows["base_offset"][0])
        if int(rows["last_offset"][0]) < self.log.start_offset:
            return None
        if is_control(rows)[0]:
            trace(f"passing over the control batch at offset {base}, which Kafka would answer with")
            return None
        if base >= self.end_offset or (self._committed and self._is_aborted(rows)):
            trace(f"passing over the batch at offset {base}, which read_committed does not show")
            return None
        for piece in decode(item.data, item.position, rows, self._options.max_batch):
            if isinstance(piece, Refusal):
                if isinstance(piece.error, TooLarge):
                    return piece.error
                trace(f"passing over the batch at offset {base}: {piece.error}")
                passed(base)
                continue
            kept = piece.between(self.log.start_offset, self.end_offset)
            late = np.flatnonzero(kept.rows["timestamp"] >= timestamp)
            if len(late):
                at = int(late[0])
                return Records(kept.data, kept.rows[at : at + 1])
        return None

    def _is_aborted(self, rows: Batches) -> bool:
        segment, _ = self.log.locate(int(rows["last_offset"][0]))  # its base may lie below the log start
        place = Start(int(rows["position"][0]), int(rows["base_offset"][0]))
        return bool(Outcomes(self.log, segment, place).aborted(rows)[0])

    def _pass_over(self, refusal: Refusal) -> None:
        """Raise, or go on behind a corrupt batch under `corrupt=skip`. A batch too large to unpack is never skipped."""
        if not (self._options.corrupt_skip and isinstance(refusal.error, CorruptData)):
            raise refusal.error
        logger.warning("%s: passing over a corrupt batch: %s", self.log.name.directory, refusal.error)

    def _refuse(self, position: int, size: int, why: str) -> None:
        message = f"{self.log.name.directory}: {size} bytes at position {position} are {why}"
        if not self._options.corrupt_skip:
            raise CorruptData(message)
        logger.warning("%s; going on behind them", message)


def _one(
    look: Callable[[int], Glimpse | None], take: Callable[[Glimpse], Taken]
) -> tuple[Glimpse | None, Taken | None]:
    """A batch, and the record that is taken from it.

    What was read of a batch known to be sound may end before the record: then all of it is read.
    """
    glimpse, taken = None, None
    for need in (NEED_RECORD, NEED_ALL):
        glimpse = look(need)
        taken = take(glimpse) if glimpse is not None else None
        if taken is not None or glimpse is None or not glimpse.proven:
            break
    return glimpse, taken
