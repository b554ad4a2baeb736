"""The health of a partition on disk, as far as a look at its small files and its borders tells. `audit` reads all.

A partition can have 20,000 segments. The look reads the whole indexes of each segment, and some headers of its log. It
also reads the log behind the last time index entry, which tells the segment's largest timestamp. A segment is read
again only when a file has changed.
"""

from collections.abc import Sequence

from kafkafs.disk.data_file import is_settled
from kafkafs.disk.directory import Inside
from kafkafs.errors import UNREADABLE, Denied, DiskError, NotFound
from kafkafs.format.batch import LARGEST_HEADER, parse_batch
from kafkafs.log.listing import INDEX_KINDS
from kafkafs.log.segment import Segment
from kafkafs.log.segment_files import IndexState, LogAttributes, SegmentFiles, SegmentHealth
from kafkafs.log.segment_search import Newest, has_true_end, newest

__all__ = [
    "LogAttributes",
    "SegmentHealth",
    "attributes_of_logs",
    "is_compacted_away",
    "look_at_all",
]


def look_at_all(segments: Sequence[Segment]) -> list[SegmentHealth]:
    """The health of each of a partition's segments, in their order. NotFound where its directory is gone."""
    files = next((segment.files for segment in segments if isinstance(segment.files, SegmentFiles)), None)
    if files is None:
        return [_of_a_tier(segment) for segment in segments]
    with files.inside() as inside:
        return [
            _looked(segment, segment.files, inside) if isinstance(segment.files, SegmentFiles) else _of_a_tier(segment)
            for segment in segments
        ]


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
    lent = files.lend(inside)
    try:
        log = segment.log()
        about = log.stat()
        found = _look(segment, about.st_size)._replace(log=LogAttributes(log.access(about), about.st_mtime_ns))
        segment.indexes.forget()  # what is remembered of pages, of each of so many, is for those who ask again
        return cached.store(found, stamp if is_settled(about.st_ctime_ns) else None)
    except (Denied, NotFound, DiskError) as error:
        return SegmentHealth("missing", "missing", "missing", (f"{segment.log_name} cannot be read: {error}",))
    finally:
        del lent


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
        entry = index.entry(slot)
        header = parse_batch(log.read(entry.position, LARGEST_HEADER), 0, entry.position)
        if header is None or not segment.base_offset <= header.base_offset <= header.last_offset <= entry.offset:
            return "damaged"
    return "padded" if index.is_padded else "ok"


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
    else:  # of a file that stands in the last entry may be of what does not count yet
        is_true = segment.overlaps_next or (found is not None and found.is_indexed)
    return "damaged" if not is_true else "padded" if index.is_padded else "ok"


def _transaction_index(segment: Segment) -> IndexState:
    try:
        return "missing" if segment.indexes.aborted() is None else "ok"
    except UNREADABLE:
        return "damaged"
