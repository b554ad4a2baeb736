"""Timestamps of one segment: the first batch late enough, and the largest. Source: LogSegment.findOffsetByTimestamp.

The time index promises that every record newer than an entry's timestamp has an offset behind the entry's. The promise
is checked where it is cheap: the batch that holds the entry's offset must have the entry's timestamp as its largest.
Where it has not, the index is not believed and the scan starts over at the segment's start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kafkafs.format.batches import Batches, batch_at
from kafkafs.format.time_index import TimestampOffset
from kafkafs.log.batch_runs import BatchRun, Damage
from kafkafs.log.places import Start, Trace, no_trace
from kafkafs.log.wrapped import span

if TYPE_CHECKING:
    from kafkafs.log.segment import Segment

Found = tuple[BatchRun, int]
"""A batch: a run and the row in it."""

Pass = Callable[[int], None]
"""Hears the first offset of what is passed over because it cannot be read."""


def unheard(_: int) -> None:
    """A `Pass` for those who do not want to know."""


class _Contradiction(Exception):
    """The log says otherwise than the time index; never leaves this module."""


def first_late(
    segment: Segment,
    timestamp: int,
    end: int,
    min_offset: int,
    wanted: Callable[[BatchRun, int], bool],
    trace: Trace,
    passed: Pass = unheard,
) -> Found | None:
    """The first batch with offsets at or behind `min_offset` that may hold a record at or after `timestamp`, and that
    `wanted` takes; None where the segment has none. Damage is passed over."""
    if trace is no_trace and (glimpse := segment.glance(min_offset, end, timestamp=timestamp)) is not None:
        item = glimpse.batch_run()
        if wanted(item, 0):
            return item, 0
    hint = _hint(segment, timestamp, trace)
    offset = max(hint.offset, min_offset)
    try:
        start = segment.start(offset, trace)
        is_used = hint.slot >= 0 and hint.offset > min_offset
        return _scan(segment, start, timestamp, end, wanted, hint if is_used else None, trace, passed)
    except _Contradiction:
        trace(f"log {segment.log_name}: no batch there has the time index entry's timestamp: from position 0")
        return _scan(segment, Start(0, segment.base_offset), timestamp, end, wanted, None, trace, passed)


def _hint(segment: Segment, timestamp: int, trace: Trace) -> TimestampOffset:
    index, name = segment.time_index, segment.name_of("timeindex")
    entry = index.lookup(timestamp - 1)
    if entry.timestamp >= timestamp:
        trace(f"time index {name}: out of order: from the segment's first offset")
        return TimestampOffset(-1, -1, segment.base_offset)
    if entry.slot >= 0:
        trace(f"time index {name}: slot {entry.slot} of {index.entries}: {entry.timestamp} -> offset {entry.offset}")
    elif index.entries:
        trace(f"time index {name}: no entry before {timestamp}: from the segment's first offset")
    else:
        trace(f"time index {name}: missing or empty: from the segment's first offset")
    return entry


def _scan(
    segment: Segment,
    start: Start,
    timestamp: int,
    end: int,
    wanted: Callable[[BatchRun, int], bool],
    hint: TimestampOffset | None,
    trace: Trace,
    passed: Pass,
) -> Found | None:
    position = start.position
    for item in segment.walk(start, end):
        position = item.end
        if isinstance(item, Damage):
            trace(f"log {segment.log_name}: passing over {item.size} invalid bytes at position {item.position}")
            passed(item.base_offset)
            continue
        hint = _checked(item, hint)
        for row in np.flatnonzero((item.rows["max_timestamp"] >= timestamp) & (item.rows["count"] > 0)).tolist():
            if wanted(item, row):
                if trace is not no_trace:
                    batch = batch_at(item.rows, row)
                    trace(
                        f"log {segment.log_name}: scanned {batch.end - start.position} bytes from position "
                        f"{start.position} to the batch {span(segment.log(), batch)} at position {batch.position}"
                    )
                return item, row
    if hint is not None:
        raise _Contradiction
    trace(f"log {segment.log_name}: scanned {position - start.position} bytes from {start.position}: none late enough")
    return None


def _checked(item: BatchRun, hint: TimestampOffset | None) -> TimestampOffset | None:
    """The hint, while it still waits for its batch; None once its batch has confirmed it.

    What stands in front of that batch must not be newer: so the entry promises.
    """
    if hint is None:
        return None
    row = int(np.searchsorted(item.rows["last_offset"], hint.offset))
    newest = int(item.rows["max_timestamp"][: row + 1].max())
    if row == len(item.rows) and newest <= hint.timestamp:
        return hint
    if newest != hint.timestamp or int(item.rows["max_timestamp"][row]) != hint.timestamp:
        raise _Contradiction
    return None


class Newest(NamedTuple):
    """The batch with the largest timestamp, as its header tells it."""

    timestamp: int
    base_offset: int


def largest_timestamp(segment: Segment, end: int) -> int:
    """The largest timestamp of the segment's valid batches; -1 where none has one.

    Of a healthy closed segment only what stands behind the batch of the last time index entry is read.
    """
    found = newest(segment, end, lambda rows: rows)
    return -1 if found is None else found.timestamp


def newest(segment: Segment, end: int, wanted: Callable[[Batches], Batches]) -> Newest | None:
    """The newest of those batches that `wanted` leaves of any; None where none of them has a timestamp.

    The scan begins at the last time index entry, and where only others are that new, at earlier ones: nothing in front
    of an entry is newer than it.
    """
    slot, step = segment.time_index.last().slot, 1
    while slot >= 0:
        entry = segment.time_index.entry(slot)
        try:
            found = _newest(segment, segment.start(entry.offset), end, wanted, entry)
        except _Contradiction:
            break
        if found is not None and found.timestamp >= entry.timestamp:
            return found
        slot, step = slot - step, step * 2
    return _newest(segment, Start(0, segment.base_offset), end, wanted, None)


def _newest(
    segment: Segment, start: Start, end: int, wanted: Callable[[Batches], Batches], hint: TimestampOffset | None
) -> Newest | None:
    found: Newest | None = None
    for item in segment.walk(start, end):
        if isinstance(item, Damage):
            continue
        hint = _checked(item, hint)
        rows = wanted(item.rows)
        if len(rows):
            row = rows[int(rows["max_timestamp"].argmax())]
            if int(row["max_timestamp"]) > (-1 if found is None else found.timestamp):
                found = Newest(int(row["max_timestamp"]), int(row["base_offset"]))
    if hint is not None:
        raise _Contradiction
    return found
