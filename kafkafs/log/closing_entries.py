"""The largest timestamp of a closed segment, where its indexes prove it and its log need not be opened.

A broker tries a time index entry whenever it writes an offset index entry, and once more when it closes a segment. So a
time index is whole if its last entry names the segment's last offset, or an offset behind the last entry of the offset
index. An index that was cut, padded or lost fails this test. An entry that names a false time can pass it, so a reader
also looks into the log next to its answer (`lookup`). Source: LogSegment.append, LogSegment.onBecomeInactiveSegment.
"""

import struct

from kafkafs.disk.page_cache import LONG_READ
from kafkafs.errors import UNREADABLE
from kafkafs.format.index import OffsetIndex, TimeIndex
from kafkafs.log.segment import Segment

_TIME, _OFFSET = TimeIndex.fields, OffsetIndex.fields


def proven_largest(segment: Segment) -> int | None:
    """The largest timestamp of a closed segment on the disks; None if only its log has it. A proof is remembered."""
    if segment.object is not None or segment.overlaps_next:
        return segment.indexes.proven_largest
    return _remembered(segment)


def is_surely_before(timestamp: int, pair: tuple[Segment, ...]) -> bool:
    """True if the log of the first segment of the pair need not tell that it ends before `timestamp`.

    If times rise, a false entry of an index can only hide an answer right in front of a segment that reaches the time.
    So there the log is asked.
    """
    for segment in pair:
        largest = proven_largest(segment)
        if largest is None or largest >= timestamp:
            return False
    return True


def stated_largest(segment: Segment) -> int | None:
    """The largest timestamp of a remote segment, by the broker's record of the upload, else by its indexes; or None."""
    recorded = segment.files.largest
    return recorded if recorded is not None and recorded >= 0 else _remembered(segment)


def _remembered(segment: Segment) -> int | None:
    """The proof, found once."""
    indexes, next_base = segment.indexes, segment.next_base
    if indexes.proven_largest is None and next_base is not None:
        indexes.proven_largest = _proven(segment, next_base)
    return indexes.proven_largest


def _proven(segment: Segment, next_base: int) -> int | None:
    times = _last_slots(segment, "timeindex", _TIME)
    if not times:
        return None
    timestamp, relative = times[-1]
    before, relative_before = times[-2] if len(times) > 1 else (-1, 0)
    last = next_base - 1 - segment.base_offset
    if not (timestamp > before and 0 <= relative_before <= relative <= last) or timestamp == relative == 0:
        return None
    if relative == last:
        return timestamp
    return timestamp if relative > _last_indexed(segment, last) else None


def _last_indexed(segment: Segment, last: int) -> int:
    """The last offset of the offset index, relative to the base; `last` if the index seems to lack its end."""
    offsets, size = _last_slots(segment, "index", _OFFSET), segment.listed["log"].size
    if offsets is None or size - (offsets[-1][1] if offsets else 0) > LONG_READ:
        return last
    if len(offsets) > 1 and not (offsets[-1][0] > offsets[-2][0] and offsets[-1][1] > offsets[-2][1]):
        return last
    return offsets[-1][0] if offsets else 0


def _last_slots(segment: Segment, kind: str, entry: struct.Struct) -> list[tuple[int, int]] | None:
    """The last two entries of an index, or fewer; None if it is missing, cannot be read or ends in half an entry. The
    file does not stay open, because this is a question to all segments."""
    if kind not in segment.listed:
        return None
    try:
        file = segment.files.open_once(kind)
        if file is None or file.size % entry.size:
            return None
        wanted = min(file.size, 2 * entry.size)
        data = file.read(file.size - wanted, wanted)
    except UNREADABLE:
        return None
    return list(entry.iter_unpack(data)) if len(data) == wanted else None
