"""Passes over the stretch in which two logs have the same bytes: long reads of both, one comparison, one check of CRCs.

Equal bytes are equal batches, and a CRC that holds in one copy holds in the other. So both copies are read, and the
batches of one of them are checked. A stretch begins at a batch that a walk of either log has led to. It ends before
whatever a walk would look at twice: invalid bytes, offsets out of order, the end of a segment, compressed messages of
v0 and v1, headers that state more records than offsets. The copies may have the stretch at different positions.
"""

from itertools import islice
from typing import NamedTuple

import numpy as np

from kafkafs.disk.data_file import BUFFER_SIZE, DataFile
from kafkafs.format.batch import (
    FRAME,
    FRAME_SIZE,
    LARGEST_HEADER,
    Batches,
    count_in_order,
    data_batches,
    is_overfull,
    is_wrapped,
    walk,
)
from kafkafs.log.batch_runs import Damage, next_size_of, whole_batches
from kafkafs.log.log import Log
from kafkafs.log.segment import ANY_OFFSET, Segment
from kafkafs.log.segment_search import wanted_end
from kafkafs.log.visible import Visible

LEAST = 1 << 20
"""Bytes of a segment below which nothing is won."""

READ = BUFFER_SIZE - LARGEST_HEADER
_LONGEST = 16 << 20
_LOOKED_AT = 4  # runs of batches: a window mostly begins within a batch


class EqualSpan(NamedTuple):
    """The offsets [start, end) that both logs have in equal bytes, and the number of data records in them."""

    start: int
    end: int
    records: int


class _Place(NamedTuple):
    """The position of a batch in a segment, and the position and offset that bound what may be read from there."""

    segment: Segment
    file: DataFile
    position: int
    end: int
    next_base: int
    base_offset: int


def equal_stretch(one: Visible, other: Visible, start: int, end: int) -> EqualSpan:
    """Pass over what both logs have in the same bytes. The stretch begins with the first batch behind `start`."""
    here, there = _place(one, start, end), _place(other, start, end)
    if here is None or there is None or here.base_offset != there.base_offset:
        return EqualSpan(start, start, 0)
    next_base = min(here.next_base, there.next_base, end)
    begin = reached = here.base_offset
    passed, records, size, is_grown = 0, 0, READ, False
    room = min(here.end - here.position, there.end - there.position)
    is_end = here.end - here.position == there.end - there.position
    while passed < room:
        wanted = min(size, room - passed)
        data = _same_bytes(here, there, passed, wanted)
        if data is None:
            break
        walked = walk(data, here.position + passed)
        rows = _certain(walked.rows, data, reached, next_base, is_end and passed + wanted == room)
        if not len(rows):
            size = walked.missing + wanted + LARGEST_HEADER
            if is_grown or size > _LONGEST:
                break
            is_grown = True
            continue
        is_grown, passed = False, passed + int(rows["size"].sum())
        size = whole_batches(READ, next_size_of(data, walked))
        reached = int(rows["last_offset"][-1]) + 1
        data_rows = data_batches(rows)
        records += int(np.where(data_rows["magic"] >= 2, data_rows["count"], 1).sum())
        if len(rows) < len(walked.rows) - 1:
            break
    return EqualSpan(begin, reached, records)


def _place(visible: Visible, start: int, end: int) -> _Place | None:
    """The place of the first batch that begins in the window. None if it has to be walked to, or is not near."""
    log = visible.log
    if not log.segments or log.walk_end(log.segments[log.number_at(start)]) < LEAST:
        return None
    for segment, item in islice(visible.batches(start, end), _LOOKED_AT):
        if isinstance(item, Damage) or segment.object is not None or segment.overlaps_next or segment.is_doubtful:
            return None
        row = int(item.rows["base_offset"].searchsorted(start))
        if row < len(item.rows):
            return _place_at(log, segment, item.rows[row], end)
    return None


def _place_at(log: Log, segment: Segment, row: np.void, end: int) -> _Place:
    behind, known = log.walk_end(segment), wanted_end(segment, end)
    return _Place(
        segment, segment.log(), int(row["position"]), min(behind, known + FRAME_SIZE) if known else behind,
        min(log.end_offset, ANY_OFFSET if segment.next_base is None else segment.next_base), int(row["base_offset"]),
    )  # fmt: skip


def _same_bytes(here: _Place, there: _Place, passed: int, size: int) -> memoryview | None:
    """The bytes of both copies; None if they differ, or if there are fewer."""
    views = [each.file.read_long(each.position + passed, size) for each in (here, there)]
    for each in (here, there):
        each.segment.check(each.file)
    if any(len(view) < size for view in views):
        return None
    words = size - size % 8
    one, other = (np.frombuffer(view[:words], np.int64) for view in views)
    is_same = np.array_equal(one, other) and views[0][words:] == views[1][words:]
    return views[0] if is_same else None


def _certain(rows: Batches, data: memoryview, reached: int, next_base: int, is_end: bool) -> Batches:
    """The first rows that a walk would give, whatever follows the bytes. `is_end`: nothing follows them."""
    rows = rows[: count_in_order(rows, reached - 1, next_base)]
    odd = is_wrapped(rows)
    rows = rows[: int(odd.argmax())] if odd.any() else rows
    if not len(rows) or is_overfull(rows):
        return rows[:0]
    at = int(rows["size"].sum())
    goes_on = at + FRAME_SIZE <= len(data) and FRAME.unpack_from(data, at)[0] > rows["last_offset"][-1]
    return rows if goes_on or (is_end and at == len(data)) else rows[:-1]
