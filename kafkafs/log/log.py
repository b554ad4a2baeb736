"""A partition's log at one moment: its segments, where it begins and ends, and the lookups across segments.

Source: UnifiedLog, LocalLog. A `Log` never changes; `Partition` makes a new one when the directory has. Offsets lead to
the segment with the largest base at or below them, and on to the next where compaction has emptied that one's end.
"""

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from kafkafs.disk.data_file import DataFile
from kafkafs.disk.prefetch import Prefetch
from kafkafs.errors import Denied, DiskError, NotFound, Vanished
from kafkafs.format.batch import Batch
from kafkafs.format.names import PartitionName
from kafkafs.log.batch_runs import BatchRun, Damage
from kafkafs.log.places import Trace, no_trace
from kafkafs.log.segment import Segment, is_at_its_place
from kafkafs.log.tail import Tail
from kafkafs.log.time_search import Pass, first_late, unheard
from kafkafs.log.wrapped import first_offset

HELD = 64
"""Files that one handle holds open at most. It finds the others as long as the broker has not unlinked them."""


class Extent(NamedTuple):
    """A run of bytes of a segment's log, good as long as it is the generation that was looked at.

    `seal` is the log's last batch, where it may still grow. `held` is the file, while a handle holds it open.
    """

    segment: Segment
    position: int
    end: int
    seal: Batch | None
    held: DataFile | None = None

    def hold(self) -> "Extent":
        """The same, with its file held open if descriptors allow."""
        return Extent(self.segment, self.position, self.end, self.seal, self.segment.hold())

    def goes_on_in(self, other: "Extent") -> bool:
        """Whether the other one begins where this one ends."""
        return self.end == other.position and self.segment.files["log"].inode == other.segment.files["log"].inode

    def read(self, position: int, size: int, prefetch: Prefetch | None = None) -> bytes | memoryview:
        """The bytes at `position` of the file; Vanished where the file was cut since. `prefetch`: a reader's own."""
        file = self.held or self.segment.log()
        data = file.stream(position, size) if prefetch is None else prefetch.read(file, position, size, self.end)
        intact = self.segment.is_as_seen(file) or (self.seal is not None and is_at_its_place(file, self.seal))
        if len(data) < size or not intact:
            raise Vanished(f"{file.name!r} was truncated while it was read; open it again")
        return data


def segment_number(bases: Sequence[int], offset: int) -> int:
    """The number of the last segment with a base offset at or below `offset`; the first one's where none has."""
    return max(0, bisect_right(bases, offset) - 1)


class Log:
    """See the module. `start_offset` is the log start offset; `end_offset` the one that the next record will get."""

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
        self._largest: list[int] = []

    def end_of(self, segment: Segment) -> int:
        """The position at which the segment's log ends."""
        if segment.next_base is None:
            return self.tail.position if self.tail else 0
        return segment.closed_end()

    def segments_from(self, offset: int) -> Iterator[Segment]:
        """The segments that may hold `offset` or something behind it. One that may not be read is a gap."""
        return filter(Segment.is_readable, self.segments[segment_number(self._bases, offset) :])

    def visible_segments(self) -> tuple[Segment, ...]:
        """The segments that are not wholly below the log start."""
        return self.segments[segment_number(self._bases, self.start_offset) :]

    def locate(self, offset: int, trace: Trace = no_trace) -> tuple[Segment, Batch | Damage]:
        """The first batch whose last offset is at or after `offset`, as a fetch answers, or the damage that owns it.

        NotFound outside [log start, log end).
        """
        if not self.start_offset <= offset < self.end_offset:
            raise NotFound(f"offset {offset} is outside {self.start_offset}..{self.end_offset}")
        for number in range(segment_number(self._bases, offset), len(self.segments)):
            segment = self.segments[number]
            if trace is not no_trace:
                which = "the next one"
                if segment.base_offset <= offset:
                    which = f"the last one with a base offset at or below {offset}"
                trace(f"segment {segment.log_name}: {which}")
            try:
                found = segment.find(offset, self.walk_end(segment), trace)
            except Denied:  # a gap
                continue
            if found is not None:
                return segment, found
        raise NotFound(f"no batch at or behind offset {offset}")

    def walk_end(self, segment: Segment) -> int:
        """Like `end_of`, but a closed segment's file size will do: a walk leaves zero bytes at its end out itself."""
        return self.end_of(segment) if segment.next_base is None or segment.stands_in else segment.files["log"].size

    def locate_time(
        self, timestamp: int, wanted: Callable[[BatchRun, int], bool], trace: Trace = no_trace, passed: Pass = unheard
    ) -> tuple[Segment, BatchRun, int] | None:
        """The first batch that may hold a record at or after `timestamp` and that `wanted` takes; None without one.

        Unlike ListOffsets, which answers from one segment, this goes on to later ones.
        """
        first = True
        for segment in self.segments_reaching(timestamp, trace):
            if not first:
                trace("going on to a later segment, which Kafka would not do")
            first = False
            found = first_late(segment, timestamp, self.walk_end(segment), self.start_offset, wanted, trace, passed)
            if found is not None:
                return segment, *found
        return None

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
                trace(f"segment {segment.log_name}: its largest timestamp is {largest}")
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
            return segment.largest_timestamp(self.walk_end(segment))
        except Denied:
            return -1
        except DiskError:
            if segment.next_base is None:
                raise
            return segment.hinted_largest()

    def segments_between(self, start: int, end: int | None) -> list[Segment]:
        """The segments that may hold offsets in [start, end); `None` for the log end."""
        end = self.end_offset if end is None else min(end, self.end_offset)
        start = max(start, self.start_offset)
        return [segment for segment in self.segments_from(start) if segment.base_offset < end] if start < end else []

    def hold(self, start: int, end: int) -> list[DataFile]:
        """The files behind the offsets [start, end), for a handle to hold open: the first ones, if there are many."""
        held = []
        for segment in self.segments_between(start, end)[:HELD]:
            file = segment.hold()
            if file is not None:
                held.append(file)
        return held

    def extents(self, start: int, end: int | None) -> list[Extent]:
        """The bytes of all batches that overlap the offsets [start, end); `None` is the log end.

        Whoever begins with a segment gets all of it: invalid bytes at its head may own no offset at all.
        """
        start = max(start, self.start_offset)
        end = self.end_offset if end is None else min(end, self.end_offset)
        found: list[Extent] = []
        if start >= end:
            return found
        for segment in self.segments_from(start):
            if segment.base_offset >= end:
                break
            position = 0
            if not found:
                first = segment.find(start, self.walk_end(segment))
                if first is None:
                    continue
                if self._first_offset(segment, first) >= end:
                    break
                position = first.position if start > segment.base_offset else 0
            behind = self._position_behind(segment, end)
            if behind > position:
                found.append(self.extent(segment, position, behind))
        return found

    def extent(self, segment: Segment, position: int, end: int, held: DataFile | None = None) -> Extent:
        """A run of bytes of a segment of this log."""
        return Extent(segment, position, end, self.tail.last if self.tail and segment.next_base is None else None, held)

    def hinted_timestamp(self, start: int, end: int | None) -> int:
        """The largest timestamp that the time indexes tell for the offsets [start, end); -1 where they tell none."""
        start, end = max(start, self.start_offset), self.end_offset if end is None else end
        largest = -1
        for segment in self.segments_between(start, end):
            largest = max(largest, segment.hinted_between(start, end))
        return largest

    def _position_behind(self, segment: Segment, end: int) -> int:
        """The position behind the segment's last batch that begins below offset `end`."""
        if end < (self.end_offset if segment.next_base is None else segment.next_base):
            item = segment.find(end, self.walk_end(segment))
            if item is not None:
                return item.end if self._first_offset(segment, item) < end else item.position
        return self.end_of(segment)

    def _first_offset(self, segment: Segment, found: Batch | Damage) -> int:
        return found.base_offset if isinstance(found, Damage) else first_offset(segment.log(), found)
