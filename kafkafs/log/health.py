"""What is wrong with a partition on disk, as far as a look at its small files and its borders tells. `audit` reads all.

An index is "ok", "padded" (zeros behind its entries), "missing", or "damaged": it cannot be what Kafka writes, or the
log contradicts one of the entries looked at.

A partition can have 20,000 segments, and a look at all of them should take seconds at most. So of a closed segment each
index is read once, whole, and of its log the end and a header: where those agree, as they do in a healthy segment, that
is all, and the largest timestamp is known on the way. Where anything is unusual the lookups are asked.
"""

from dataclasses import dataclass
from typing import Literal, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from kafkafs.disk.data_file import DataFile
from kafkafs.errors import CorruptData, Denied, DiskError, NotFound, Vanished
from kafkafs.format.abstract_index import AbstractIndex
from kafkafs.format.batch import LARGEST_HEADER, parse_batch
from kafkafs.format.batches import VALID, Batches, walk
from kafkafs.format.names import parse_segment_file, segment_file
from kafkafs.format.offset_index import OffsetIndex
from kafkafs.format.time_index import TimeIndex
from kafkafs.log.indexes import UNREADABLE
from kafkafs.log.listing import Listing
from kafkafs.log.lookup import find_batch
from kafkafs.log.segment import Segment

AnyIndex = TypeVar("AnyIndex", bound=AbstractIndex)
State = Literal["ok", "padded", "missing", "damaged"]


@dataclass(frozen=True, slots=True)
class SegmentHealth:
    """The state of each of a segment's indexes, and what is to be said about the segment."""

    offset_index: State
    time_index: State
    transaction_index: State
    problems: tuple[str, ...]
    largest: int | None = None  # the segment's largest timestamp, where the look has told it; -1 for none


_WHOLE_INDEX = 1 << 18
"""Bytes of an index that are read at once. A larger one is padded, or that of a segment of 128 GiB."""

_END = 16 << 10
"""Bytes of a log's end that are looked at: some index intervals."""

_looked_at: WeakKeyDictionary[Segment, tuple[object, SegmentHealth]] = WeakKeyDictionary()


def look_at(segment: Segment) -> SegmentHealth:
    """The segment's health. Reads its indexes and some headers, again only when one of its files has changed.

    A log that cannot be read is asked for again each time: the next time it may be otherwise.
    """
    stamp = segment.stamp()
    known = _looked_at.get(segment)
    if known is None or known[0] != stamp:
        try:
            known = _looked_at[segment] = (stamp, _quick_look(segment) or _look(segment))
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


def _quick_look(segment: Segment) -> SegmentHealth | None:
    """The health of a closed segment with nothing unusual about it; None where only `_look` can tell."""
    if segment.next_base is None or segment.stands_in or not {"index", "timeindex"} <= segment.files.keys():
        return None
    if "txnindex" in segment.files and _transaction_index(segment) != "ok":
        return None
    offsets, times = _whole(segment, "index", OffsetIndex), _whole(segment, "timeindex", TimeIndex)
    if offsets is None or times is None or not times.slots or times.is_padded or offsets.is_padded:
        return None
    if not times.is_sane() or not offsets.is_sane():
        return None
    log, size, last = segment.log(), segment.seen[0], times.last()
    entry = offsets.lookup(last.offset)
    if size - entry.position > _END or (offsets.slots > 1 and not _leads_to_a_batch(segment, offsets, log)):
        return None
    walked = walk(log.read(entry.position, size - entry.position), entry.position)
    segment.check(log)
    rows = walked.rows
    if walked.stop != "end" or not len(rows) or not _in_order(rows, entry.offset, segment.next_base, entry.slot >= 0):
        return None
    row = int(np.searchsorted(rows["last_offset"], last.offset))
    if row == len(rows) or not rows["max_timestamp"][row] == rows["max_timestamp"].max() == last.timestamp:
        return None
    return SegmentHealth("ok", "ok", "ok" if "txnindex" in segment.files else "missing", (), last.timestamp)


def _whole(segment: Segment, kind: str, index: type[AnyIndex]) -> AnyIndex | None:
    """One of its indexes, all of it in memory; None where that is too much, or where it cannot be read."""
    try:
        data = segment.open_files.read_once(kind, _WHOLE_INDEX)
    except UNREADABLE:
        return None
    return None if data is None else index(lambda at, size: data[at : at + size], len(data), segment.base_offset)


def _leads_to_a_batch(segment: Segment, offsets: OffsetIndex, log: DataFile) -> bool:
    """Whether the entry in the middle, and the last one, lead to headers of batches that they can be about."""
    for slot in {offsets.entries - 1, offsets.entries // 2}:
        entry = offsets.entry(slot)
        header = parse_batch(log.read(entry.position, LARGEST_HEADER), 0, entry.position)
        if header is None or not segment.base_offset <= header.base_offset <= header.last_offset <= entry.offset:
            return False
    return True


def _in_order(rows: Batches, offset: int, next_base: int, is_indexed: bool) -> bool:
    """Whether all batches are valid, in the order of their offsets, and the first is the one of an entry for `offset`,
    or of the segment's start."""
    base, last = rows["base_offset"], rows["last_offset"]
    first = int(last[0]) <= offset if is_indexed else int(base[0]) >= offset
    return (
        first
        and bool((rows["valid"] == VALID).all())
        and bool((base <= last).all())
        and bool((base[1:] > last[:-1]).all())
        and int(last[-1]) < next_base
    )


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
