"""Batches as stretches of files: what a raw view reads, and what truncation cannot change under it."""

from typing import NamedTuple

from kafkafs.disk.data_file import DataFile
from kafkafs.disk.prefetch import Prefetch
from kafkafs.errors import Vanished
from kafkafs.format.batch import Batch
from kafkafs.log.batch_runs import Damage
from kafkafs.log.log import Log
from kafkafs.log.overlaps import first_offset
from kafkafs.log.segment import Segment, is_at_its_place
from kafkafs.log.segment_search import batch_reaching, closed_end


class Extent(NamedTuple):
    """A stretch of a segment's log, good as long as it is the generation that was looked at.

    `last_batch` is the log's last batch, if its segment may still grow. `held` is the file, while a handle holds it
    open.
    """

    segment: Segment
    position: int
    end: int
    last_batch: Batch | None
    held: DataFile | None = None

    @classmethod
    def of(cls, log: Log, segment: Segment, position: int, end: int, held: DataFile | None = None) -> "Extent":
        """The bytes [position, end) of a segment of this log."""
        last_batch = log.tail.last if segment.next_base is None and log.tail is not None else None
        return cls(segment, position, end, last_batch, held)

    @classmethod
    def between(cls, log: Log, start: int, end: int | None) -> list["Extent"]:
        """The bytes of all batches that overlap the offsets [start, end); an `end` of None is the log end.

        A range that begins with a segment has all of it: invalid bytes at its head may own no offset at all.
        """
        start = max(start, log.start_offset)
        end = log.end_offset if end is None else min(end, log.end_offset)
        found: list[Extent] = []
        if start >= end:
            return found
        for segment in log.readable_from(start):
            if segment.base_offset >= end:
                break
            position = 0
            if not found:
                first = batch_reaching(segment, start, log.walk_end(segment))
                if first is None:
                    continue
                if _first_offset(segment, first) >= end:
                    break
                position = first.position if start > segment.base_offset else 0
            behind = _position_behind(log, segment, end)
            if behind > position:
                found.append(cls.of(log, segment, position, behind))
        return found

    def hold(self) -> "Extent":
        """The extent with its file held open, if descriptors allow."""
        return Extent(self.segment, self.position, self.end, self.last_batch, self.segment.hold())

    def is_followed_by(self, other: "Extent") -> bool:
        """True if the other one begins where this one ends, in the same file."""
        return self.end == other.position and self.segment.listed["log"].inode == other.segment.listed["log"].inode

    def read(self, position: int, size: int, prefetch: Prefetch | None = None) -> bytes | memoryview:
        """The bytes at `position` of the file; Vanished if the file was cut since. `prefetch`: a reader's own."""
        file = self.held or self.segment.log()
        data = file.stream(position, size) if prefetch is None else prefetch.read(file, position, size, self.end)
        intact = self.segment.is_as_seen(file) or (
            self.last_batch is not None and is_at_its_place(file, self.last_batch)
        )
        if len(data) < size or not intact:
            raise Vanished(f"{file.name!r} was truncated while it was read; open it again")
        return data


def _position_behind(log: Log, segment: Segment, end: int) -> int:
    """The position behind the segment's last batch that begins below offset `end`."""
    if segment.next_base is not None and end >= segment.next_base and segment.files.is_open_ended:
        batch_reaching(segment, segment.next_base - 1, log.walk_end(segment))  # Lost if its end is not there
    elif end < (log.end_offset if segment.next_base is None else segment.next_base):
        item = batch_reaching(segment, end, log.walk_end(segment))
        if item is not None:
            return item.end if _first_offset(segment, item) < end else item.position
    return log.walk_end(segment) if segment.next_base is None else closed_end(segment)


def _first_offset(segment: Segment, found: Batch | Damage) -> int:
    return found.base_offset if isinstance(found, Damage) else first_offset(segment.log(), found)
