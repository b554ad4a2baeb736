"""The end of the last segment's log. The broker appends there while anybody looks. Source: LogSegment, read-only."""

from dataclasses import dataclass, replace

from kafkafs.disk.blocking import may_block
from kafkafs.disk.data_file import DataFile
from kafkafs.errors import Denied, Lost, NotFound, Unopenable
from kafkafs.format.batch import Batch, batch_at, is_overfull
from kafkafs.log.batch_runs import FIRST_READ, LONGEST_READ, BatchRun, Bounds, Start, batch_runs
from kafkafs.log.segment import ANY_OFFSET, Segment, is_at_its_place
from kafkafs.log.segment_search import scan_start


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of the last segment's log: the position behind its last valid batch, and the next offset. `refused`: the
    error if the log may not be read, so that nobody knows its end. `lost`: the error if a tier has lost the log's end,
    so that records may have been behind `end_offset`."""

    inode: int
    size: int
    mtime_ns: int
    position: int
    end_offset: int
    last: Batch | None
    grown_from: tuple[int, int] | None = None  # position and end offset of the tail that this one was found from
    refused: Denied | None = None
    lost: Lost | None = None

    def grew_from(self, before: "Tail") -> bool:
        """True if everything before the end of `before` is as it was then."""
        return self is before or self.grown_from == (before.position, before.end_offset)


def find_tail(segment: Segment, known: Tail | None) -> Tail:
    """The end of `segment`, which must be the last one; `known` itself where nothing has changed since.

    The broker appends there while we look. An earlier result is used as long as the last batch is still unchanged at
    its place. A truncation cuts off a suffix, so everything before that batch is then unchanged. Source:
    LogSegment.recover, read-only.
    """
    file = segment.log()
    about = file.stat()
    stamp = (about.st_ino, about.st_size, about.st_mtime_ns)
    if known is not None and stamp == (known.inode, known.size, known.mtime_ns):
        return known
    may_block()
    start = _still_true(file, known, about.st_ino, about.st_size)
    searched = known is not None and start is not None and known.size == about.st_size
    grown_from = (known.position, known.end_offset) if known is not None and start is not None else None
    if start is None:
        segment.indexes.forget()
        is_short = about.st_size <= FIRST_READ and segment.object is None  # one read has it all, and needs no index
        start = Start(0, segment.base_offset) if is_short else scan_start(segment, ANY_OFFSET)
    last, is_doubtful = _last_batch(file, start, about.st_size, search=not searched)
    if last is None and start.position > 0:
        last, _ = _last_batch(file, Start(0, segment.base_offset), about.st_size)
    if last is None:
        return Tail(*stamp, 0, segment.base_offset, None)
    if start.position == 0 and last.end == about.st_size <= FIRST_READ:  # each of its headers was seen
        segment.is_doubtful = segment.is_doubtful or is_doubtful
    if known is not None and last.position - known.position > LONGEST_READ:
        segment.indexes.forget()
    return Tail(*stamp, last.end, last.last_offset + 1, last, grown_from)


def tail_of_a_tier(segment: Segment, end_offset: int) -> Tail:
    """The end of a log whose last segment is in a tier: it stays as it is. Its last batch is None if it is lost."""
    kind, lost = Lost, None
    try:
        found = find_tail(segment, None)
    except (Denied, NotFound, Lost) as error:
        found, kind = Tail(0, 0, 0, 0, 0, None), Unopenable if isinstance(error, Unopenable) else Lost
    if found.end_offset < end_offset and not segment.files.is_measured:
        lost = kind(f"{segment.log_name} has lost its end, and nothing tells the last offset that it had")
    return replace(found, end_offset=end_offset, lost=lost)


def last_offset_of(tail: Tail) -> int:
    """The last offset in front of the end, also of a batch that holds more records than its header states."""
    if tail.last is None:
        return tail.end_offset - 1
    return max(tail.last.last_offset, tail.last.base_offset + tail.last.count - 1)  # see `overlaps`


def _still_true(file: DataFile, known: Tail | None, inode: int, size: int) -> Start | None:
    """Return the place to go on from, if the last known batch is still there."""
    if known is None or known.last is None or known.inode != inode or known.position > size:
        return None
    last = known.last
    if not is_at_its_place(file, last):
        return None
    return Start(last.position, last.base_offset)


def _last_batch(file: DataFile, start: Start, size: int, search: bool = True) -> tuple[Batch | None, bool]:
    """The last valid batch at or behind `start`, and True if a header on the way states more records than offsets.

    Without `search` only if nothing is between it and those before: a preallocated file keeps its size while it
    fills up, and what stood behind the end was looked through already.
    """
    last, is_doubtful = None, False
    for item in batch_runs(file, start.position, Bounds(size, start.first_offset, None, search, ANY_OFFSET)):
        if isinstance(item, BatchRun):
            last = batch_at(item.rows, -1)
            is_doubtful = is_doubtful or is_overfull(item.rows)
    return last, is_doubtful
