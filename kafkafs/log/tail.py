"""Where the log ends: behind the last whole, valid batch of the last segment. Source: LogSegment.recover, read-only.

The broker appends there while we look. What was found before is taken up again as long as the last batch still stands
unchanged where it stood: a truncation cuts off a suffix, so everything before that batch is then unchanged too.
"""

from dataclasses import dataclass

from kafkafs.disk.blocking import may_block
from kafkafs.disk.data_file import DataFile
from kafkafs.format.batch import Batch, batch_at
from kafkafs.log.batch_runs import LONGEST_READ, BatchRun, Bounds, Start, batch_runs
from kafkafs.log.offset_search import scan_start
from kafkafs.log.segment import Segment, is_at_its_place

_ANY_OFFSET = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of the last segment's log: the position behind its last valid batch, and the next offset."""

    inode: int
    size: int
    mtime_ns: int
    position: int
    end_offset: int
    last: Batch | None
    grown_from: tuple[int, int] | None = None  # position and end offset of the tail that this one was found from

    def grew_from(self, before: "Tail") -> bool:
        """Whether everything before the end of `before` is as it was then."""
        return self is before or self.grown_from == (before.position, before.end_offset)


def find_tail(segment: Segment, known: Tail | None) -> Tail:
    """The end of `segment`, which must be the last one; `known` itself where nothing has changed since."""
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
        start = scan_start(segment, _ANY_OFFSET)
    last = _last_batch(file, start, about.st_size, search=not searched)
    if last is None and start.position > 0:
        last = _last_batch(file, Start(0, segment.base_offset), about.st_size)
    if last is None:
        return Tail(*stamp, 0, segment.base_offset, None)
    if known is not None and last.position - known.position > LONGEST_READ:
        segment.indexes.forget()
    return Tail(*stamp, last.end, last.last_offset + 1, last, grown_from)


def _still_true(file: DataFile, known: Tail | None, inode: int, size: int) -> Start | None:
    """Where to go on from, if the last batch known is still there."""
    if known is None or known.last is None or known.inode != inode or known.position > size:
        return None
    last = known.last
    if not is_at_its_place(file, last):
        return None
    return Start(last.position, last.base_offset)


def _last_batch(file: DataFile, start: Start, size: int, search: bool = True) -> Batch | None:
    """The last valid batch at or behind `start`.

    Without `search` only if nothing stands between it and those before: a preallocated file keeps its size while it
    fills up, and what stood behind the end was looked through already.
    """
    last = None
    for item in batch_runs(file, start.position, Bounds(size, start.first_offset, None, search)):
        if isinstance(item, BatchRun):
            last = batch_at(item.rows, -1)
    return last
