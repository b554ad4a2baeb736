"""Lookups: the record or the batch at an offset or a time. There is one way, and `.explain` prints its steps.

    an offset    the segment that may hold it; in it the offset index, then the batches behind the place that it names
                 (`segment_search`), up to the first one that reaches the offset
    a time       the segments whose largest timestamp reaches it, one by one; in each the time index (`time_search`),
                 which names an offset, and from there as above, up to the first one with a record that shows. Of a
                 segment in front the log stays closed if its indexes prove that nothing in it reaches the time
                 (`closing_entries`)

`visible` decides which records of a batch are shown. `records` unpack and decode the batch. Sources: LocalLog.read,
ListOffsets.
"""

import threading
from bisect import bisect_left
from collections.abc import Iterator

from kafkafs.errors import Denied, DiskError, Lost, NotFound, TooLarge
from kafkafs.format.batch import Batch, batch_at
from kafkafs.format.records import Records, stored_limit
from kafkafs.format.times import utc_text
from kafkafs.format.trace import Trace, no_trace
from kafkafs.log.batch_runs import BatchRun, Damage, Start
from kafkafs.log.closing_entries import is_surely_before, proven_largest, stated_largest
from kafkafs.log.log import Found
from kafkafs.log.outcomes import Outcomes
from kafkafs.log.segment import Segment
from kafkafs.log.segment_search import batch_reaching, scanned_to
from kafkafs.log.time_search import TimeSearch, largest_timestamp
from kafkafs.log.visible import Visible

_LATEST = 2**63 - 1


class Lookup:
    """Points of one log as one reader sees it: visible records, and the batches that hold them.

    `_largest` is all that is ever written, under `_lock`: the largest timestamp [ms] up to each of the first segments,
    as the indexes prove it or the log tells it.
    """

    def __init__(self, visible: Visible) -> None:
        self.log = visible.log
        self.visible = visible
        self._lock = threading.Lock()
        self._largest: list[int] = []

    def first(self, offset: int) -> Found:
        """The first visible record at or behind `offset`; NotFound outside the log or where none follows."""
        visible = self.visible
        is_closed = self.log.is_closed_at(offset)
        if is_closed or not self.log.end_offset <= offset < visible.end:  # the last batch may hold more than it states
            self.log.check_inside(offset)
        for segment, item in visible.batches(offset, visible.end_of_walk(offset)):
            if isinstance(item, Damage):
                visible.pass_damage(segment, item)
                continue
            for row in range(len(item.rows)):
                record = visible.first_record(segment, item, row, offset)
                if record is not None:
                    return Found(segment, batch_at(item.rows, row), record)
        raise NotFound(f"no visible record at or after offset {offset}")

    def first_at(self, timestamp: int) -> Found | None:
        """The first visible record, in offset order, at or after `timestamp`; None if it does not exist.

        A corrupt batch is passed over; TooLarge if it may be in a batch that is too large to unpack.
        """
        found = self._at(timestamp)
        if found is None:
            return None
        segment, batch, record = found
        if isinstance(record, TooLarge):
            raise record
        return Found(segment, batch, Records(record.data, record.rows[-1:]))

    def offset_of_broker(self, timestamp: int) -> int | None:
        """The offset that a broker answers for a time: markers and aborted records count, too. None for none.
        Unlike a broker, go on behind a segment whose latest records were deleted.

        Sources: UnifiedLog.fetchOffsetByTimestamp, FileRecords.searchForTimestamp.
        """
        found = self._at(timestamp, as_broker=True)
        if found is None:
            return None
        if isinstance(found[2], TooLarge):
            raise found[2]
        return int(found[2].rows["offset"][-1])

    def before(self, timestamp: int, trace: Trace = no_trace) -> Found | int | None:
        """The visible record in front of that of `first_at`, where it was read with it; else the offset that it stands
        below, as `bounds_at` has it; None if that is the log end. `trace` hears the steps."""
        found = self._at(timestamp, trace)
        if found is None:
            return None
        segment, batch, record = found
        if isinstance(record, TooLarge) or len(record) == 1:
            return self._bounds(batch, record)[1]
        return Found(segment, batch, Records(record.data, record.rows[:1]))

    def batch_at(self, timestamp: int, trace: Trace = no_trace) -> tuple[Segment, Batch] | None:
        """The batch of the record that `first_at` finds. TooLarge only where its header does not tell. `trace` hears
        the steps."""
        found = self._at(timestamp, trace)
        if found is None:
            return None
        segment, batch, record = found
        if isinstance(record, TooLarge) and self._may_be_cut(batch):
            raise record
        return segment, batch

    def bounds_at(self, timestamp: int) -> tuple[int, int] | None:
        """The smallest and the largest offset that the record of `first_at` can have: the same, but in a batch that is
        too large to unpack. If its header gives neither, the second is behind it: only the batch itself has them."""
        found = self._at(timestamp)
        return None if found is None else self._bounds(*found[1:])

    def _bounds(self, batch: Batch, record: Records | TooLarge) -> tuple[int, int]:
        if isinstance(record, TooLarge):
            return max(batch.base_offset, self.log.start_offset), batch.last_offset + self._may_be_cut(batch)
        offset = int(record.rows["offset"][-1])
        return offset, offset

    def _may_be_cut(self, batch: Batch) -> bool:
        """True if the record with the batch's largest timestamp may be below the log start."""
        return batch.base_offset < self.log.start_offset or batch.is_wrapped

    def _at(
        self, timestamp: int, trace: Trace = no_trace, *, as_broker: bool = False
    ) -> tuple[Segment, Batch, Records | TooLarge] | None:
        """The first visible record at or after `timestamp`, perhaps behind the one in front of it, and its batch; or
        one that may have it and is too large to unpack. Unreadable places are passed over. `as_broker`: all records
        below the visible end count.

        Unlike ListOffsets, which answers from one segment, this goes on to later ones.
        """
        log, lenient = self.log, self.visible.options.corrupt_skip
        outcomes = None if as_broker else Outcomes(log, lenient)
        for number, segment in enumerate(self._segments_reaching(timestamp, trace)):
            if number:
                trace("going on to a later segment, which Kafka would not do")
            try:
                found = self._at_in(segment, timestamp, outcomes, trace)
            except Lost as error:
                log.pass_lost(error, lenient)
                continue
            if found is not None:
                return None if found[2] is None else (*found[:2], found[2])
        return None

    def _at_in(
        self, segment: Segment, timestamp: int, outcomes: Outcomes | None, trace: Trace
    ) -> tuple[Segment, Batch, Records | TooLarge | None] | None:
        """The record of `_at` in one segment; the batch without a record if nothing from that batch on shows."""
        log, lenient = self.log, self.visible.options.corrupt_skip
        end = log.walk_end(segment)
        largest = stored_limit(self.visible.options.max_batch)
        search = TimeSearch(segment, timestamp, end, log.start_offset, trace, lenient, largest)
        for item in search.batches():
            if isinstance(item, Damage):
                continue
            batch, run, _ = item
            if batch.base_offset >= self.visible.end:  # nor does anything behind it show
                return segment, batch, None
            record = self.visible.record_at_or_after(segment, batch, run, timestamp, outcomes, trace)
            if record is None:
                continue
            if trace is not no_trace:  # the span of a message of an old format takes unpacking
                trace(scanned_to(segment, batch.end - item.start.position, item.start, batch))
            return segment, batch, record
        return None

    def _segments_reaching(self, timestamp: int, trace: Trace) -> Iterator[Segment]:
        """The segments from the log start on whose largest timestamp is at least `timestamp`."""
        segments = self.log.visible_segments()
        while True:
            at = bisect_left(self._largest, timestamp)
            if at < len(self._largest) or len(self._largest) == len(segments):
                break
            self._learn(len(self._largest), segments)
        for number in range(max(0, min(at, len(segments) - 1) - 1), len(segments)):
            segment = segments[number]
            if is_surely_before(timestamp, segments[number : number + 2]):
                continue
            largest = self.largest_of(segment)
            if largest >= timestamp:
                if trace is not no_trace:
                    trace(f"segment {segment.log_name}: its largest timestamp is {largest} ({utc_text(largest)})")
                yield segment

    def _learn(self, number: int, segments: tuple[Segment, ...]) -> None:
        """Notes the largest timestamp of the first segments up to one; another thread may have done so meanwhile."""
        proven = proven_largest(segments[number])
        largest = self.largest_of(segments[number]) if proven is None else proven
        with self._lock:
            if len(self._largest) == number:
                self._largest.append(max(largest, self._largest[-1]) if number else largest)

    def largest_of(self, segment: Segment) -> int:
        """For a gap, return the time from its time index, if the disk has it: later segments must not depend on
        this one. If a tier has lost even that, see `_time_behind`."""
        try:
            end = self.log.walk_end(segment)
            if segment.next_base is not None and segment.files.is_open_ended:
                batch_reaching(segment, segment.next_base - 1, end)  # Lost if its end is not there
            if segment.object is not None and not end:  # no broker uploads an empty log
                return self._time_behind(segment)
            return largest_timestamp(segment, end)
        except Denied:
            return -1
        except DiskError:
            if segment.next_base is None:
                raise
            try:
                stated = stated_largest(segment) if segment.object is not None else None
                known = segment.indexes.indexed_largest()
            except Lost:
                return self._time_behind(segment)
            is_known = segment.object is None or stated is not None
            return known if is_known and not segment.files.is_open_ended else max(known, self._time_behind(segment))

    def _time_behind(self, lost: Segment) -> int:
        """The largest timestamp that is taken for that of a lost segment: that of the first batch behind it. So a time
        that this batch reaches may lead to a lost record, and is an error; a later time is not."""
        for segment in self.log.segments_from(lost.next_base or 0):
            try:
                for item in segment.walk(Start(0, segment.base_offset), self.log.walk_end(segment)):
                    if isinstance(item, BatchRun):
                        return int(item.rows["max_timestamp"][0])
            except (Denied, Lost):
                continue
        return _LATEST
