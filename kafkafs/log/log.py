"""A partition's log at one moment: its segments, and where it begins and ends.

Source: UnifiedLog, LocalLog. A `Log` never changes; `Partition` makes a new one when the directory has. Offsets lead to
the segment with the largest base at or below them, and on to the next where compaction has emptied that one's end.
"""

import logging
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice, pairwise, takewhile
from typing import NamedTuple

import numpy as np

from kafkafs.disk.cached_value import made_once
from kafkafs.disk.data_file import DataFile
from kafkafs.errors import Denied, DiskError, Lost, NotFound, Unopenable
from kafkafs.format.batch import Batch
from kafkafs.format.names import PartitionName
from kafkafs.format.records import Records
from kafkafs.format.tables import Numbers
from kafkafs.format.trace import Trace, no_trace
from kafkafs.log.batch_runs import ANY_SIZE, BatchRun, Damage, Start
from kafkafs.log.segment import Segment
from kafkafs.log.segment_search import (
    batch_reaching,
    closed_end,
    scan_start,
    wanted_end,
)
from kafkafs.log.tail import Tail
from kafkafs.log.time_search import largest_timestamp

logger = logging.getLogger(__name__)


LocatedBatch = tuple[Segment, Batch | Damage]
"""A batch, or the damage at its offset, and the segment that contains it."""


class Found(NamedTuple):
    """The one record that a point leads to: columns with exactly one row, and the batch it stands in."""

    segment: Segment
    batch: Batch
    record: Records

    @property
    def offset(self) -> int:
        """Absolute."""
        return int(self.record.rows["offset"][0])

    @property
    def timestamp(self) -> int:
        """The record's timestamp in milliseconds; -1 for none."""
        return int(self.record.rows["timestamp"][0])


HELD = 64
"""Files that one handle holds open at most. It finds the others as long as the broker has not unlinked them."""


class Late(NamedTuple):
    """Finds what a point in a closed segment does without, when somebody asks for it."""

    tail: Callable[[], Tail | None]
    high_watermark: Callable[[], int | None]


class Log:
    """A partition's log at one moment. `start_offset` is the log start offset. The methods, in order: the end, and what
    may be behind it; which segments have an offset; reading; times."""

    def __init__(
        self,
        name: PartitionName,
        segments: tuple[Segment, ...],
        tail: Tail | None,
        checkpoint_start: int | None,
        high_watermark: int | None,
        directory_inode: int = 0,
        late: Late | None = None,
    ) -> None:
        """`late` counts instead of `tail` and `high_watermark`."""
        self.name = name
        self.segments = segments
        self._late = Late(lambda: tail, lambda: high_watermark) if late is None else late
        self.checkpoint_start = checkpoint_start
        self.directory_inode = directory_inode
        self._bases = [segment.base_offset for segment in segments]
        first = self._bases[0] if segments else 0
        self.start_offset = max(first, checkpoint_start or 0)

    @made_once
    def tail(self) -> Tail | None:
        """The end of the log; None without segments."""
        return self._late.tail()

    @made_once
    def high_watermark(self) -> int | None:
        """The high watermark of the checkpoint, if it has one."""
        return self._late.high_watermark()

    @made_once
    def end_offset(self) -> int:
        """The offset that the next record will get."""
        return max(self.tail.end_offset, self.start_offset) if self.tail else self.start_offset

    @property
    def known_end(self) -> int | None:
        """The end offset; None if the last log may not be read, or if nothing is left of it that tells an offset."""
        if self.tail is None or not (self.tail.refused or self.tail.lost):
            return self.end_offset
        is_told = self.tail.refused is None and self.end_offset > self.segments[-1].base_offset + 1
        return self.end_offset if is_told else None

    @property
    def local_start_offset(self) -> int:
        """The first offset that is on the disk: what is before is in a remote tier. The log end where all is."""
        local = next((segment.base_offset for segment in self.segments if segment.object is None), self.end_offset)
        return max(local, self.start_offset)

    def check_inside(self, offset: int) -> None:
        """Raise NotFound if the offset is outside [log start, log end)."""
        if offset < self.start_offset:
            raise NotFound(f"offset {offset} is below the log start, {self.start_offset}: deleted, or only in a tier")
        if not self.is_closed_at(offset) and offset >= self.end_offset:
            self.check_end()
            self.check_begin(offset, None)
            raise NotFound(f"offset {offset} is at or after the log end, {self.end_offset}: it does not exist yet")

    def check_end(self) -> None:
        """Denied if the last log may not be read: what it holds is unknown, and no answer may be without it."""
        if self.tail is not None and self.tail.refused is not None:
            raise Denied(str(self.tail.refused))

    def check_begin(self, start: int, end: int | None, lenient: bool = False) -> None:
        """Lost if [start, end) begins behind all that is left of a log whose end a tier has lost, unless `lenient`."""
        if self.tail is not None and self.tail.lost and start >= self.end_offset and (end is None or end > start):
            self.pass_lost(self.tail.lost.with_traceback(None), lenient)

    def pass_lost(self, error: Lost, lenient: bool) -> None:
        """Go on behind offsets that a tier has lost if `lenient`, or raise the error."""
        if not lenient or isinstance(error, Unopenable):
            raise error
        logger.warning("%s: passing over what a tier has lost: %s", self.name.directory, error)

    def number_at(self, offset: int) -> int:
        """The number of the last segment with a base offset at or below `offset`; 0 if none has one."""
        return max(0, bisect_right(self._bases, offset) - 1)

    def has(self, segment: Segment) -> bool:
        """True if it is one of the segments. A segment that was cut, compacted or replaced since is another one."""
        return bool(self.segments) and self.segments[self.number_at(segment.base_offset)] is segment

    def is_closed_at(self, offset: int) -> bool:
        """True if the offset is in front of the last segment, so that the log goes on behind it."""
        return bool(self._bases) and offset < self._bases[-1]

    def segments_from(self, offset: int) -> tuple[Segment, ...]:
        """The segments that may hold `offset` or something behind it."""
        return self.segments[self.number_at(offset) :]

    def readable_from(self, offset: int) -> Iterator[Segment]:
        """The segments that may hold `offset` or something behind it, and that may be read: each other one is a gap."""
        return filter(Segment.is_readable, self.segments_from(offset))

    def visible_segments(self) -> tuple[Segment, ...]:
        """The segments that are not wholly below the log start."""
        return self.segments_from(self.start_offset)

    def segments_between(self, start: int, end: int | None) -> Iterator[Segment]:
        """The segments that may hold offsets in [start, end), opened one by one; `None` for the log end."""
        end = self.end_offset if end is None else min(end, self.end_offset)
        start = max(start, self.start_offset)
        reached = takewhile(lambda segment: segment.base_offset < end, self.segments_from(start))
        return filter(Segment.is_readable, reached if start < end else ())

    def unreadable(self, start: int, end: int) -> list[Segment]:
        """The segments that may hold offsets in [start, end), and whose logs may not be read: gaps that a search or a
        comparison has to tell of. The last one counts if `end` is not below the log end, which it does not tell."""
        return [
            segment for segment in self.segments_from(start)
            if (segment.base_offset < end or end >= self.end_offset) and not segment.is_readable()
        ]  # fmt: skip

    def growing(self) -> list[Segment]:
        """The last segment, if it may be read: the file that what is empty yet will be read from."""
        return list(filter(Segment.is_readable, self.segments[-1:]))

    def hold(self, start: int, end: int, most: int = HELD) -> list[DataFile]:
        """The files behind the offsets [start, end), for a handle to hold open: the first ones, if there are many."""
        held = []
        for segment in islice(self.segments_between(start, end), most):
            file = segment.hold()
            if file is not None:
                held.append(file)
        return held

    def is_in_tier(self, offset: int) -> bool:
        """True if a tier answers for that offset, if only with an error."""
        return any(segment.object is not None for segment in islice(self.segments_from(offset), 1))

    def gaps_in_a_tier(self) -> list[str]:
        """Return sentences about offsets that no upload has, between two uploads that tell where they end and begin. A
        tiered log is never compacted. Gaps between segments of the disk are pieces of their own (`tier.local_gaps`)."""
        joints = ((one.next_base, other.base_offset) for one, other in pairwise(self.segments))
        return [
            f"offsets {end} to {base - 1} are in no upload: a gap in the offsets"
            for end, base in joints
            if end is not None and end < base
        ]

    def walk_end(self, segment: Segment) -> int:
        """The position at which a walk through the segment's log ends. A closed segment's file size will do: a walk
        leaves zero bytes at its end out itself. This position is what searches of a segment call `log_end`."""
        if segment.next_base is None:
            tail = self.tail
            return tail.position if tail else 0
        return closed_end(segment) if segment.overlaps_next else segment.seen[0]

    def walk(
        self, start: int, end: int, lenient: bool = False, largest: int = ANY_SIZE
    ) -> Iterator[tuple[Segment, BatchRun | Damage]]:
        """Yield everything that overlaps the offsets [start, end), in order, each with its segment. A run may begin
        before `start` and end behind `end`. Lost for offsets that a tier should have and has not, unless `lenient`. For
        batches of more than `largest` bytes, only the headers may come."""
        is_first = True
        passed = partial(self.pass_lost, lenient=True) if lenient else None
        start = max(start, self.start_offset)
        end = end if self.is_closed_at(start) else min(end, self.end_offset)
        if start >= end:
            return
        for segment in self.readable_from(start):  # opened one by one, as the reader gets there
            is_closed = self.is_closed_at(segment.base_offset)
            end = end if is_closed else min(end, self.end_offset)
            if segment.base_offset >= end:
                return
            try:
                place = scan_start(segment, start) if is_first else Start(0, segment.base_offset)
                until = wanted_end(segment, end) if is_closed or end < self.end_offset else 0
                is_first = False
                begin = Start(place.position, place.first_offset, place.known, wanted_end=until, is_long=True)
                for item in segment.walk(begin, self.walk_end(segment), start, start, largest, passed):
                    last_offset = item.last_offset
                    if last_offset < start:
                        continue
                    if isinstance(item, Damage) and item.base_offset >= end:
                        return
                    yield segment, item
                    if last_offset >= end - 1:
                        return
            except Lost as error:
                self.pass_lost(error, lenient)

    def walk_segment(self, segment: Segment, start: Start | int) -> Iterator[BatchRun | Damage]:
        """All that a segment has from a place on, or from the batch that reaches an offset."""
        begin = start if isinstance(start, Start) else scan_start(segment, start)
        yield from segment.walk(begin, self.walk_end(segment))

    def locate(self, offset: int, trace: Trace = no_trace) -> LocatedBatch:
        """The first batch whose last offset is at or after `offset`, as a fetch answers, or the damage that owns it.

        NotFound outside [log start, log end). `trace` hears the steps.
        """
        self.check_inside(offset)
        for segment in self.segments_from(offset):
            if trace is not no_trace:
                which = f"the last one with a base offset at or below {offset}"
                trace(f"segment {segment.log_name}: {which if segment.base_offset <= offset else 'the next one'}")
            try:
                found = batch_reaching(segment, offset, self.walk_end(segment), trace)
            except Denied:  # a gap
                continue
            if found is not None:
                return segment, found
        raise NotFound(f"no batch at or after offset {offset}")

    def cuts(self, segment: Segment) -> tuple[Numbers, Numbers, int]:
        """The offsets behind which a batch begins, as the segment's index has them, their positions, and the segment's
        end. For a remote segment, only its end: the index is a request, which its reader makes."""
        if segment.object is not None:
            return np.empty(0, np.int64), np.empty(0, np.int64), segment.seen[0]
        entries = segment.indexes.offset_index.load()
        offsets = entries["offset"].astype(np.int64) + segment.base_offset + 1
        positions, end = entries["position"].astype(np.int64), self.walk_end(segment)
        sound = (positions > 0) & (positions < end)
        sound[1:] &= (np.diff(offsets) > 0) & (np.diff(positions) > 0)
        count = len(sound) if sound.all() else int(np.argmin(sound))
        return offsets[:count], positions[:count], end

    def indexed_timestamp(self, start: int, end: int | None, segments: Sequence[Segment] | None = None) -> int:
        """The largest timestamp that the time indexes tell for the offsets [start, end); -1 if they tell none.
        `segments` are those of `segments_between`, if they are known."""
        start, end = max(start, self.start_offset), self.end_offset if end is None else end
        largest = -1
        for segment in self.segments_between(start, end) if segments is None else segments:
            is_whole = start <= segment.base_offset and segment.next_base is not None and segment.next_base <= end
            indexes = segment.indexes
            largest = max(largest, indexes.shown_largest() if is_whole else indexes.indexed_between(start, end))
        return largest

    def largest_in(self, segment: Segment) -> int | None:
        """The largest timestamp of a segment's batches, markers too; None if none has one, or it cannot be known."""
        try:
            found = largest_timestamp(segment, self.walk_end(segment))
        except (Denied, NotFound, DiskError):
            return None
        return found if found >= 0 else None
