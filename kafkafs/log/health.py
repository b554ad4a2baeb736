"""What is wrong with a partition on disk, as far as a look at its small files and its borders tells. `audit` reads all.

An index is "ok", "padded" (zeros behind its entries), "missing", or "damaged": it cannot be what Kafka writes, or the
log contradicts one of the entries looked at.

A partition can have 20,000 segments, and a look at all of them should take a second at most. So a kernel looks at the
closed ones first (`disk.closed_segments`): of each it reads the indexes, whole, and of its log the end and two headers.
Where those agree, as they do in a healthy segment, that is all, and the largest timestamp is known on the way. Where
anything is unusual the lookups are asked.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple
from weakref import WeakKeyDictionary

from kafkafs.disk.cached_value import ValidatedValue
from kafkafs.disk.closed_segments import IN_DOUBT, NO_TIMES, ClosedSegment, look_at_closed
from kafkafs.disk.directory import Directory
from kafkafs.errors import CorruptData, Denied, DiskError, NotFound, Vanished
from kafkafs.format.batch import LARGEST_HEADER, parse_batch
from kafkafs.format.names import segment_file
from kafkafs.log.listing import Listing
from kafkafs.log.offset_search import batch_reaching
from kafkafs.log.segment import Segment

State = Literal["ok", "padded", "missing", "damaged"]


class SegmentHealth(NamedTuple):
    """The state of each of a segment's indexes, and what is to be said about the segment."""

    offset_index: State
    time_index: State
    transaction_index: State
    problems: tuple[str, ...]
    largest: int | None = None  # the segment's largest timestamp, where the look has told it; -1 for none


_looked_at: WeakKeyDictionary[Segment, ValidatedValue[SegmentHealth]] = WeakKeyDictionary()
"""What a closer look at a segment has found, for as long as the segment is there. It belongs to one tree."""


def look_at_all(root: Directory, partition: str, segments: Sequence[Segment]) -> list[SegmentHealth]:
    """The health of each of a partition's segments, in their order."""
    usual = [_usual(segment) for segment in segments]
    verdicts = iter(look_at_closed(root, partition, filter(None, usual)))
    found = []
    for segment, listed in zip(segments, usual, strict=True):
        verdict, largest = next(verdicts) if listed else (IN_DOUBT, -1)
        found.append(look_at(segment) if verdict == IN_DOUBT else _quick_health(segment, verdict, largest))
    return found


def look_at(segment: Segment) -> SegmentHealth:
    """One segment's health, by a closer look at its indexes and some headers: again only when a file has changed.

    A log that cannot be read is asked for again each time: the next time it may be otherwise.
    """
    cached = _looked_at.setdefault(segment, ValidatedValue())
    stamp = segment.stamp()
    try:
        return cached.revalidated(stamp) or cached.store(_look(segment), stamp)
    except (Denied, NotFound, DiskError) as error:
        return SegmentHealth("missing", "missing", "missing", (f"{segment.log_name} cannot be read: {error}",))


def _look(segment: Segment) -> SegmentHealth:
    problems: list[str] = []
    is_last = segment.next_base is None
    size = segment.log().size
    if size == 0 and not is_last and not is_compacted_away(segment):
        problems.append(f"{segment.log_name} is empty though a later segment follows: a gap in the offsets")
    states = _states(segment)
    if is_last and "damaged" in states:  # or half of an entry was there: the broker writes into mapped pages
        states = _states(segment.anew())
    for kind, state in zip(("index", "timeindex", "txnindex"), states, strict=True):
        name = segment.name_of(kind)
        if state == "damaged":
            problems.append(_damaged(name))
        elif state == "padded" and not is_last:
            problems.append(f"{name} is padded with zeros though its segment is closed, as an unclean stop leaves it")
        elif state == "missing" and kind != "txnindex" and not is_last and size > 0:
            problems.append(f"{name} is missing; lookups take longer")
    return SegmentHealth(*states, tuple(problems))


def _usual(segment: Segment) -> ClosedSegment | None:
    """What the quick look asks about, if it can tell of the segment: closed, its files beside each other and called as
    its offset says."""
    files, next_base = segment.listed, segment.next_base
    log, index, times = files["log"], files.get("index"), files.get("timeindex")
    if next_base is None or segment.stands_in or index is None or times is None or index.rebuilt or times.rebuilt:
        return None
    if "txnindex" in files and _transaction_index(segment) != "ok":
        return None
    return ClosedSegment(segment.base_offset, next_base, log.inode, index.inode, times.inode, log.size, log.mtime_ns)


def _quick_health(segment: Segment, verdict: int, largest: int) -> SegmentHealth:
    transactions: State = "ok" if "txnindex" in segment.listed else "missing"
    if verdict == NO_TIMES:
        problems = (_damaged(segment.name_of("timeindex")),)
        return SegmentHealth("ok", "damaged", transactions, problems, largest)
    return SegmentHealth("ok", "ok", transactions, (), largest)


def _damaged(name: str) -> str:
    return f"{name} is damaged and not relied on; lookups take longer"


def is_compacted_away(segment: Segment) -> bool:
    """Whether an empty log is all that compaction left of a closed segment: its indexes are empty then as well.

    One that was emptied otherwise keeps the entry that its time index got when it was closed. What compaction has done
    tells where no checkpoint of the cleaner does: offsets may be missing then, and nothing is lost.
    """
    if segment.next_base is None or segment.listed["log"].size > 0:
        return False
    kinds = {"index": segment.indexes.offset_index, "timeindex": segment.indexes.time_index}
    return all(kind in segment.listed and index.length == 0 for kind, index in kinds.items())


def _states(segment: Segment) -> tuple[State, State, State]:
    return _offset_index(segment), _time_index(segment), _transaction_index(segment)


def _offset_index(segment: Segment) -> State:
    if "index" not in segment.listed:
        return "missing"
    index = segment.indexes.offset_index
    if not index.is_sane():
        return "damaged"
    log = segment.log()
    for slot in {index.entries - 1, index.entries // 2} if index.entries else ():
        entry = index.entry(slot)
        header = parse_batch(log.read(entry.position, LARGEST_HEADER), 0, entry.position)
        if header is None or not segment.base_offset <= header.base_offset <= header.last_offset <= entry.offset:
            return "damaged"
    return "padded" if index.is_padded else "ok"


def _time_index(segment: Segment) -> State:
    if "timeindex" not in segment.listed:
        return "missing"
    index = segment.indexes.time_index
    if not index.is_sane():
        return "damaged"
    first = parse_batch(segment.log().read(0, LARGEST_HEADER), 0, 0)
    if index.entries == 0:
        has_times = first is not None and first.max_timestamp >= 0
        return "damaged" if has_times and segment.next_base is not None else "padded" if index.is_padded else "ok"
    if not segment.stands_in:  # else the last entry may be of what does not count yet
        last = index.last()
        end = segment.log().size  # now: the log is written before its indexes
        found = batch_reaching(segment, last.offset, end)
        if found is None or getattr(found, "max_timestamp", -1) != last.timestamp:
            return "damaged"
    return "padded" if index.is_padded else "ok"


def _transaction_index(segment: Segment) -> State:
    try:
        return "missing" if segment.indexes.aborted() is None else "ok"
    except (CorruptData, NotFound, Vanished, Denied, DiskError):
        return "damaged"


def problems_of_listing(listing: Listing) -> list[str]:
    """What the names alone tell: things that are no regular file, and indexes whose log is missing."""
    missing = (segment_file(offset, "log") for offset in listing.logless)
    return [
        *listing.problems,
        *(f"{log} is missing though its index is there: a gap in the offsets" for log in missing),
    ]
