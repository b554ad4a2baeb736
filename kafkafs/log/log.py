"""A partition's log at one moment: its segments, and where it begins and ends.

Source: UnifiedLog, LocalLog. A `Log` never changes; `Partition` makes a new one when the directory has. Offsets lead to
the segment with the largest base at or below them, and on to the next where compaction has emptied that one's end.
"""

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from kafkafs.disk.data_file import DataFile
from kafkafs.errors import Denied, DiskError
from kafkafs.format.names import PartitionName
from kafkafs.log.batch_runs import BatchRun, Damage, Start
from kafkafs.log.offset_search import closed_end, scan_start
from kafkafs.log.segment import Segment
from kafkafs.log.tail import Tail
from kafkafs.log.time_search import largest_timestamp
from kafkafs.log.trace import Trace, moment, no_trace

HELD = 64
"""Files that one handle holds open at most. It finds the others as long as the broker has not unlinked them."""


def segment_number(bases: Sequence[int], offset: int) -> int:
    """The number of the last segment with a base offset at or below `offset`; the first one's where none has."""
    return max(0, bisect_right(bases, offset) - 1)


class Log:
    """See the module. `start_offset` is the log start offset; `end_offset` the one that the next record will get.

    `_largest` is all that is ever written, under `_lock`: the largest timestamp up to each of the first segments.
    """

    def __init__(
        self,
        name: PartitionName,
        segments: tuple[Segment, ...],
        tail: Tail | None,
        checkpoint_start: int | None,
        high_watermark: int | None,
        directory_inode: int = 0,
    ) -> None:
        self.name = name
        self.segments = segments
        self.tail = tail
        self.checkpoint_start = checkpoint_start
        self.high_watermark = high_watermark
        self.directory_inode = directory_inode
        self._bases = [segment.base_offset for segment in segments]
        first = self._bases[0] if segments else 0
        self.start_offset = max(first, checkpoint_start or 0)
        self.end_offset = max(tail.end_offset, self.start_offset) if tail else self.start_offset
        self._lock = threading.Lock()
        self._largest: list[int] = []  # [ms]

    @property
    def local_start_offset(self) -> int:
        """The first offset that is on the disk: what lies before is in a remote tier. The log end where all is."""
        local = next((segment.base_offset for segment in self.segments if segment.object is None), self.end_offset)
        return max(local, self.start_offset)

    def end_of(self, segment: Segment) -> int:
        """The position at which the segment's log ends."""
        if segment.next_base is None:
            return self.tail.position if self.tail else 0
        return closed_end(segment)

    def number_at(self, offset: int) -> int:
        """The number of the last segment with a base offset at or below `offset`; 0 where none has one."""
        return segment_number(self._bases, offset)

    def readable_from(self, offset: int) -> Iterator[Segment]:
        """The segments that may hold `offset` or something behind it. One that may not be read is a gap."""
        return filter(Segment.is_readable, self.segments_from(offset))

    def segments_from(self, offset: int) -> tuple[Segment, ...]:
        """The same, those that may not be read among them."""
        return self.segments[self.number_at(offset) :]

    def visible_segments(self) -> tuple[Segment, ...]:
        """The segments that are not wholly below the log start."""
        return self.segments_from(self.start_offset)

    def walk_end(self, segment: Segment) -> int:
        """Like `end_of`, but a closed segment's file size will do: a walk leaves zero bytes at its end out itself.
        This position is what searches of a segment call `log_end`."""
        return self.end_of(segment) if segment.next_base is None or segment.stands_in else segment.seen[0]

    def segments_reaching(self, timestamp: int, trace: Trace = no_trace) -> Iterator[Segment]:
        """The segments from the log start on whose largest timestamp is at least `timestamp`."""
        segments = self.visible_segments()
        while True:
            at = bisect_left(self._largest, timestamp)
            if at < len(self._largest) or len(self._largest) == len(segments):
                break
            self._learn(len(self._largest), segments)
        for segment in segments[at:]:
            largest = self._largest_of(segment)
            if largest >= timestamp:
                if trace is not no_trace:
                    trace(f"segment {segment.log_name}: its largest timestamp is {largest} ({moment(largest)})")
                yield segment

    def _learn(self, number: int, segments: tuple[Segment, ...]) -> None:
        """Note the largest timestamp of the first segments up to one; another thread may have done so meanwhile."""
        largest = self._largest_of(segments[number])
        with self._lock:
            if len(self._largest) == number:
                self._largest.append(max(largest, self._largest[-1]) if number else largest)

    def _largest_of(self, segment: Segment) -> int:
        """Of a gap what its time index tells, if the disk gives that: later segments must not depend on this one."""
        try:
            return largest_timestamp(segment, self.walk_end(segment))
        except Denied:
            return -1
        except DiskError:
            if segment.next_base is None:
                raise
            return segment.indexes.indexed_largest()

    def segments_between(self, start: int, end: int | None) -> list[Segment]:
        """The segments that may hold offsets in [start, end); `None` for the log end."""
        end = self.end_offset if end is None else min(end, self.end_offset)
        start = max(start, self.start_offset)
        return [segment for segment in self.readable_from(start) if segment.base_offset < end] if start < end else []

    def walk(self, start: int, end: int) -> Iterator[tuple[Segment, BatchRun | Damage]]:
        """What overlaps the offsets [start, end), in order, and the segment that it stands in. A run may begin before
        `start` and end behind `end`."""
        begin: Start | None = None
        start, end = max(start, self.start_offset), min(end, self.end_offset)
        if start >= end:
            return
        for segment in self.readable_from(start):  # opened one by one, as the reader gets there
            if segment.base_offset >= end:
                return
            begin = scan_start(segment, start) if begin is None else Start(0, segment.base_offset)
            for item in segment.walk(begin, self.walk_end(segment), start):
                if item.last_offset < start:
                    continue
                if isinstance(item, Damage) and item.base_offset >= end:
                    return
                yield segment, item
                if item.last_offset >= end - 1:
                    return

    def growing(self) -> list[Segment]:
        """The last segment, if it may be read: the file that what is empty yet will be read from."""
        return list(filter(Segment.is_readable, self.segments[-1:]))

    def hold(self, start: int, end: int, most: int = HELD) -> list[DataFile]:
        """The files behind the offsets [start, end), for a handle to hold open: the first ones, if there are many."""
        held = []
        for segment in self.segments_between(start, end)[:most]:
            file = segment.hold()
            if file is not None:
                held.append(file)
        return held

    def indexed_timestamp(self, start: int, end: int | None) -> int:
        """The largest timestamp that the time indexes tell for the offsets [start, end); -1 where they tell none."""
        start, end = max(start, self.start_offset), self.end_offset if end is None else end
        largest = -1
        for segment in self.segments_between(start, end):
            largest = max(largest, segment.indexes.indexed_between(start, end))
        return largest
