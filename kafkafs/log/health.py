"""What is wrong with a partition on disk, as far as a look at its small files and its borders tells. `audit` reads all.

An index is "ok", "padded" (zeros behind its entries), "missing", or "damaged": it cannot be what Kafka writes, or the
log contradicts one of the entries looked at.
"""

from dataclasses import dataclass
from typing import Literal
from weakref import WeakKeyDictionary

from kafkafs.errors import CorruptData, Denied, DiskError, NotFound, Vanished
from kafkafs.format.batch import LARGEST_HEADER, parse_batch
from kafkafs.format.names import parse_segment_file, segment_file
from kafkafs.log.listing import Listing
from kafkafs.log.lookup import find_batch
from kafkafs.log.segment import Segment

State = Literal["ok", "padded", "missing", "damaged"]


@dataclass(frozen=True, slots=True)
class SegmentHealth:
    """The state of each of a segment's indexes, and what is to be said about the segment."""

    offset_index: State
    time_index: State
    transaction_index: State
    problems: tuple[str, ...]


_looked_at: WeakKeyDictionary[Segment, tuple[object, SegmentHealth]] = WeakKeyDictionary()


def look_at(segment: Segment) -> SegmentHealth:
    """The segment's health. Reads its indexes and some headers, again only when one of its files has changed.

    A log that cannot be read is asked for again each time: the next time it may be otherwise.
    """
    stamp = segment.stamp()
    known = _looked_at.get(segment)
    if known is None or known[0] != stamp:
        try:
            known = _looked_at[segment] = (stamp, _look(segment))
        except (Denied, NotFound, DiskError) as error:
            return SegmentHealth("missing", "missing", "missing", (f"{segment.log_name} cannot be read: {error}",))
    return known[1]


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
            problems.append(f"{name} is damaged and not relied on; lookups take longer")
        elif state == "padded" and not is_last:
            problems.append(f"{name} is padded with zeros though its segment is closed, as an unclean stop leaves it")
        elif state == "missing" and kind != "txnindex" and not is_last and size > 0:
            problems.append(f"{name} is missing; lookups take longer")
    return SegmentHealth(*states, tuple(problems))


def is_compacted_away(segment: Segment) -> bool:
    """Whether an empty log is all that compaction left of a segment: its indexes are empty then as well.

    One that was emptied otherwise keeps the entry that its time index got when it was closed.
    """
    kinds = {"index": segment.indexes.offset_index, "timeindex": segment.indexes.time_index}
    return all(kind in segment.files and index.length == 0 for kind, index in kinds.items())


def _states(segment: Segment) -> tuple[State, State, State]:
    return _offset_index(segment), _time_index(segment), _transaction_index(segment)


def _offset_index(segment: Segment) -> State:
    if "index" not in segment.files:
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
    if "timeindex" not in segment.files:
        return "missing"
    index = segment.indexes.time_index
    if not index.is_sane():
        return "damaged"
    first = parse_batch(segment.log().read(0, LARGEST_HEADER), 0, 0)
    if index.entries == 0:
        has_times = first is not None and first.max_timestamp >= 0
        return "damaged" if has_times and segment.next_base is not None else "padded" if index.is_padded else "ok"
    last = index.last()
    found = find_batch(segment, last.offset, segment.log().size)  # its size now: the log is written before its indexes
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
    problems = list(listing.problems)
    named: dict[int, set[str]] = {}
    for name in listing.files:
        if (parsed := parse_segment_file(name)) and parsed.kind != "snapshot":
            named.setdefault(parsed.offset, set()).add(parsed.kind)
    for offset, kinds in sorted(named.items()):
        if "log" not in kinds:
            problems.append(f"{segment_file(offset, 'log')} is missing though its index is there: a gap in the offsets")
    return problems
