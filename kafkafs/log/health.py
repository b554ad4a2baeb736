"""The health of a partition on disk, from its small files and its first and last batches. `audit` reads everything.

A partition can have 20,000 segments. The look reads the whole indexes of each segment, and some headers of its log. It
also reads the log behind the last time index entry, to get the segment's largest timestamp. A segment is read
again only when a file has changed.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from kafkafs.disk.blocking import patience, patience_left
from kafkafs.disk.data_file import DataFile, is_settled
from kafkafs.disk.directory import Inside
from kafkafs.disk.page_cache import LONG_READ
from kafkafs.errors import UNREADABLE, Denied, DiskError, KafkafsError, NotFound
from kafkafs.format.batch import LARGEST_HEADER, batch_at, count_in_order, is_overfull, parse_batch, walk
from kafkafs.format.index import OffsetIndex, OffsetPosition, TimeIndex
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.listing import INDEX_KINDS, ListedFile
from kafkafs.log.segment import Segment
from kafkafs.log.segment_files import IndexState, LogAttributes, SegmentFiles, SegmentHealth, Stamp
from kafkafs.log.time_search import Newest, has_true_end, newest, newest_among_last

__all__ = [
    "LogAttributes",
    "SegmentHealth",
    "attributes_of_logs",
    "is_compacted_away",
    "segments_health",
]

_LOOKS = 8
"""Segments of a copy in a bucket that are looked at at a time."""

_PLAIN = {"log", "index", "timeindex"}
"""The files of a segment without aborted transactions."""


def segments_health(segments: Sequence[Segment]) -> list[SegmentHealth]:
    """The health of each of a partition's segments, in their order. NotFound if its directory is gone."""
    files = next((segment.files for segment in segments if isinstance(segment.files, SegmentFiles)), None)
    if files is None:
        return [_of_a_tier(segment) for segment in segments]
    with files.inside() as inside:

        def look(segment: Segment) -> SegmentHealth:
            here = segment.files
            return _looked(segment, here, inside) if isinstance(here, SegmentFiles) else _of_a_tier(segment)

        return _side_by_side(look, segments) if files.is_far else list(map(look, segments))


def _side_by_side(look: Callable[[Segment], SegmentHealth], segments: Sequence[Segment]) -> list[SegmentHealth]:
    """Look at segments with several threads, which have this thread's patience: each look waits for requests."""
    until = time.monotonic() + patience_left()

    def patient(segment: Segment) -> SegmentHealth:
        with patience(until - time.monotonic()):
            return look(segment)

    with ThreadPoolExecutor(_LOOKS) as threads:
        return list(threads.map(patient, segments))


def attributes_of_logs(segments: Sequence[Segment]) -> list[LogAttributes] | None:
    """The attributes of each segment's log; None if a log is not there as it was listed, or is not on the disk."""
    local = [segment.files for segment in segments if isinstance(segment.files, SegmentFiles)]
    if len(local) < len(segments):
        return None
    with local[-1].inside() as inside:
        found = [files.log_attributes(inside) for files in local]
    return [each for each in found if each is not None] if None not in found else None


def _of_a_tier(segment: Segment) -> SegmentHealth:
    """Return the health that its objects tell. A look into each object would be a request for each."""
    if trouble := segment.files.trouble:
        return SegmentHealth("missing", "missing", "missing", (trouble,))
    states: dict[str, IndexState] = {kind: "ok" if kind in segment.listed else "missing" for kind in INDEX_KINDS}
    return SegmentHealth(states["index"], states["timeindex"], states["txnindex"], ())


def _looked(segment: Segment, files: SegmentFiles, inside: Inside) -> SegmentHealth:
    """Return the earlier result, unless a file has changed since. A log that cannot be read is asked for again each
    time: the next time it may be otherwise."""
    cached, stamp = files.health, files.stamp(inside)
    if (known := cached.revalidated(stamp)) is not None:
        return known
    if (sound := _sound(segment, files, inside, stamp)) is not None:
        return cached.store(sound, stamp if is_settled(max(stamp[2::3])) else None)
    lent = files.lend(inside)
    try:
        log = segment.log()
        about = log.stat()
        found = _look(segment, about.st_size)._replace(log=LogAttributes(log.access(about), about.st_mtime_ns))
        segment.indexes.forget()  # remembered pages serve repeated lookups, and there are many segments
        return cached.store(found, stamp if is_settled(about.st_ctime_ns) else None)
    except (Denied, NotFound, DiskError) as error:
        return SegmentHealth("missing", "missing", "missing", (f"{segment.log_name} cannot be read: {error}",))
    finally:
        del lent


def _sound(segment: Segment, files: SegmentFiles, inside: Inside, stamp: Stamp) -> SegmentHealth | None:
    """The health of a closed segment whose files are all as a broker leaves them, which are most: from one read of each
    index, and one of the log behind the last entry. None if anything is not as plain as that: look closer."""
    base, listed, (size, mtime_ns) = segment.base_offset, files.listed, files.log_seen
    is_listed = stamp[::3] == tuple(file.inode for file in listed.values()) and listed.keys() == _PLAIN
    if (
        not is_listed
        or segment.next_base is None
        or segment.overlaps_next
        or any(file.rebuilt for file in listed.values())
    ):
        return None
    sizes = dict(zip(listed, stamp[1::3], strict=True))
    if max(sizes["index"], sizes["timeindex"]) > LONG_READ:
        return None
    try:
        offsets = OffsetIndex(*_read_once(listed["index"], inside), base, lambda: size)
        times = TimeIndex(*_read_once(listed["timeindex"], inside), base, lambda: size)
        is_plain = offsets.is_sound() and times.is_sound() and times.entries > 0
        if not is_plain or (offsets.length, times.length) != (sizes["index"], sizes["timeindex"]):
            return None
        last, newest_entry = offsets.entry(offsets.entries - 1), times.last()
        is_plain = newest_entry.offset >= last.offset and size - last.position <= LONG_READ
        if not is_plain or offsets.is_padded or times.is_padded:
            return None
        log = inside.open(segment.log_name)
        if offsets.entries and not _leads_to_a_batch(segment, log, offsets.entry(offsets.entries // 2)):
            return None
        data, about = log.read(last.position, size - last.position), log.stat()
        found = LogAttributes(log.access(about), about.st_mtime_ns)
    except KafkafsError:
        return None
    rows = walk(data, last.position).rows
    first = batch_at(rows, 0) if len(rows) else None
    if first is None or first.base_offset < base or (last.slot >= 0 and first.last_offset != last.offset):
        return None
    before = base if last.slot < 0 else first.base_offset
    is_whole = count_in_order(rows, before - 1, segment.next_base) == len(rows) and batch_at(rows, -1).end == size
    if (
        not is_whole
        or is_overfull(rows)
        or (log.inode, about.st_size, about.st_mtime_ns) != (listed["log"].inode, size, mtime_ns)
    ):
        return None
    largest = newest_among_last(BatchRun(data, last.position, rows), newest_entry)
    return None if largest is None else SegmentHealth("ok", "ok", "missing", (), largest, found)


def _read_once(file: ListedFile, inside: Inside) -> tuple[Callable[[int, int], bytes], int]:
    """How to read a small file that has been read at once, and its length."""
    data = inside.read(file.name, 0, LONG_READ)
    return lambda position, size: data[position : position + size], len(data)


def _look(segment: Segment, size: int) -> SegmentHealth:
    problems: list[str] = []
    is_last = segment.next_base is None
    if size == 0 and not is_last and not is_compacted_away(segment):
        problems.append(f"{segment.log_name} is empty though a later segment follows: a gap in the offsets")
    found = None if is_last or segment.overlaps_next else newest(segment, size)
    states = _states(segment, found)
    if is_last and "damaged" in states:  # or half of an entry was there: the broker writes into mapped pages
        states = _states(segment.reopened(), None)
    for kind, state in zip(INDEX_KINDS, states, strict=True):
        if state == "damaged":
            what = "cannot be read" if _is_refused(segment, kind) else "is damaged"
            sentence = f"{what} and not relied on; lookups take longer"
        elif state == "padded" and not is_last:
            sentence = "is padded with zeros though its segment is closed, as an unclean stop leaves it"
        elif state == "missing" and kind != "txnindex" and not is_last and size > 0:
            sentence = "is missing; lookups take longer"
        else:
            continue
        problems.append(f"{segment.name_of(kind)} {sentence}")
    largest = None if is_last or segment.overlaps_next else -1 if found is None else found.timestamp
    return SegmentHealth(*states, tuple(problems), largest)


def is_compacted_away(segment: Segment) -> bool:
    """True if an empty log is all that compaction left of a closed segment: its indexes are empty then as well.

    One that was emptied otherwise keeps the entry that its time index got when it was closed. Without a checkpoint of
    the cleaner, traces of a compaction tell: offsets may be missing then, and nothing is lost.
    """
    if segment.next_base is None or segment.listed["log"].size > 0:
        return False
    lengths = {"index": segment.indexes.offset_index.length, "timeindex": segment.indexes.time_index.length}
    return all(kind in segment.listed and length == 0 for kind, length in lengths.items())


def _states(segment: Segment, found: Newest | None) -> tuple[IndexState, IndexState, IndexState]:
    return _offset_index(segment), _time_index(segment, found), _transaction_index(segment)


def _is_refused(segment: Segment, kind: str) -> bool:
    """True if the disk does not give an index's bytes."""
    try:
        file = segment.files.open(kind)
        file.read(max(0, file.size - 1), 1)
    except UNREADABLE:
        return True
    return False


def _offset_index(segment: Segment) -> IndexState:
    if "index" not in segment.listed:
        return "missing"
    index = segment.indexes.offset_index
    if not index.is_sound() or (index.entries == 0 and _is_refused(segment, "index")):  # for a lookup it is empty
        return "damaged"
    log = segment.log()
    for slot in {index.entries - 1, index.entries // 2} if index.entries else ():
        if not _leads_to_a_batch(segment, log, index.entry(slot)):
            return "damaged"
    return "padded" if index.is_padded else "ok"


def _leads_to_a_batch(segment: Segment, log: DataFile, entry: OffsetPosition) -> bool:
    header = parse_batch(log.read(entry.position, LARGEST_HEADER), 0, entry.position)
    return header is not None and segment.base_offset <= header.base_offset <= header.last_offset <= entry.offset


def _time_index(segment: Segment, found: Newest | None) -> IndexState:
    """`found`: the newest batch of the whole log, where it is closed."""
    if "timeindex" not in segment.listed:
        return "missing"
    index = segment.indexes.time_index
    if not index.is_sound() or (index.entries == 0 and _is_refused(segment, "timeindex")):
        return "damaged"
    if index.entries == 0:
        first = parse_batch(segment.log().read(0, LARGEST_HEADER), 0, 0)
        is_true = first is None or first.max_timestamp < 0 or segment.next_base is None
    elif segment.next_base is None:
        is_true = has_true_end(segment, segment.log().size)  # now: the log is written before its indexes
    else:  # the last entry of a swap file may be about a part that does not count yet
        is_true = segment.overlaps_next or (found is not None and found.is_indexed)
    return "damaged" if not is_true else "padded" if index.is_padded else "ok"


def _transaction_index(segment: Segment) -> IndexState:
    try:
        return "missing" if segment.indexes.aborted() is None else "ok"
    except UNREADABLE:
        return "damaged"
