"""Timestamps of one segment: the batches that reach a time, and the largest timestamp.

The time index promises that every record newer than an entry's timestamp has an offset behind the entry's. The promise
is checked where it is cheap: the batch that holds the entry's offset must have the entry's timestamp as its largest.
Where it has not, the index is not believed and the scan starts over at the segment's start.
Source: LogSegment.findOffsetByTimestamp.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from kafkafs.format.batch import Batch, Batches, batch_at
from kafkafs.format.index import Probe, TimestampOffset
from kafkafs.log.batch_runs import BatchRun, Damage, Start
from kafkafs.log.offset_search import scan_start
from kafkafs.log.segment import Segment
from kafkafs.log.trace import Trace, moment, no_trace, probes_told


class Candidate(NamedTuple):
    """A batch whose header states a timestamp that reaches the time: a run and the row in it; and where the scan began
    that met it."""

    run: BatchRun
    row: int
    start: Start

    @property
    def batch(self) -> Batch:
        """The header as a value."""
        return batch_at(self.run.rows, self.row)


class _Contradiction(Exception):
    """The log says otherwise than the time index; never leaves this module."""


def batches_at_or_after(
    segment: Segment, timestamp: int, log_end: int, min_offset: int, trace: Trace
) -> Iterator[Candidate | Damage]:
    """The batches with offsets at or behind `min_offset` that may hold a record at or after `timestamp`, in order, and
    the damage between them.

    Damage may come twice, where the scan starts over.
    """
    entry = _entry(segment, timestamp, trace)
    start = scan_start(segment, max(entry.offset, min_offset), trace)
    is_used = entry.slot >= 0 and entry.offset > min_offset
    try:
        yield from _scan(segment, start, timestamp, log_end, entry if is_used else None, trace)
        return
    except _Contradiction:
        trace(f"log {segment.log_name}: no batch there has the time index entry's timestamp: from position 0")
    yield from _scan(segment, Start(0, segment.base_offset), timestamp, log_end, None, trace)


def _entry(segment: Segment, timestamp: int, trace: Trace) -> TimestampOffset:
    """The last time index entry before `timestamp`; the segment's start where there is none."""
    index, name = segment.indexes.time_index, segment.name_of("timeindex")
    probes: list[Probe] | None = None if trace is no_trace else []
    entry = index.lookup(timestamp - 1, probes)
    if entry.timestamp >= timestamp:
        trace(f"time index {name}: out of order: from the segment's first offset")
        return TimestampOffset(-1, -1, segment.base_offset)
    if trace is no_trace:
        return entry

    def told(probe: Probe) -> str:
        """Its entry, with a time that can be read."""
        return f"{probe.fields[0]} ({moment(probe.fields[0])}) -> offset {index.base_offset + probe.fields[1]}"

    looks = probes_told(index, probes or (), told, (f"before {timestamp}", f"not before {timestamp}"))
    if entry.slot >= 0:
        found = f"slot {entry.slot} of {index.entries}: {entry.timestamp} -> offset {entry.offset}"
        trace(f"time index {name}: {found} (its time: {moment(entry.timestamp)}){looks}")
    elif index.entries:
        trace(f"time index {name}: no entry before {timestamp}: from the segment's first offset{looks}")
    else:
        trace(f"time index {name}: missing or empty: from the segment's first offset")
    return entry


def _scan(
    segment: Segment, start: Start, timestamp: int, log_end: int, entry: TimestampOffset | None, trace: Trace
) -> Iterator[Candidate | Damage]:
    """`batches_at_or_after` from `start` on. `entry` is what is to be confirmed: no candidate comes before it is."""
    position = start.position
    for item in segment.walk(start, log_end, 0 if entry is None else entry.offset + 1):
        position = item.end
        if isinstance(item, Damage):
            trace(f"log {segment.log_name}: passing over {item.size} invalid bytes at position {item.position}")
            yield item
            continue
        entry = _checked(item, entry)
        for row in np.flatnonzero((item.rows["max_timestamp"] >= timestamp) & (item.rows["count"] > 0)).tolist():
            yield Candidate(item, row, start)
    if entry is not None:
        raise _Contradiction
    trace(f"log {segment.log_name}: scanned {position - start.position} bytes from {start.position}: none late enough")


def _checked(item: BatchRun, entry: TimestampOffset | None) -> TimestampOffset | None:
    """The entry, while it still waits for its batch; None once its batch has confirmed it.

    What stands in front of that batch must not be newer: so the entry promises.
    """
    if entry is None:
        return None
    times, row = item.rows["max_timestamp"], int(item.rows["last_offset"].searchsorted(entry.offset))
    newest = times[: row + 1].max()
    if row == len(times) and newest <= entry.timestamp:
        return entry
    if newest != entry.timestamp or times[row] != entry.timestamp:
        raise _Contradiction
    return None


def has_true_end(segment: Segment, log_end: int) -> bool:
    """Whether the log has the batch that the last time index entry tells of."""
    entry: TimestampOffset | None = segment.indexes.time_index.last()
    try:
        for item in segment.walk(scan_start(segment, entry.offset), log_end) if entry else ():
            if isinstance(item, BatchRun):
                entry = _checked(item, entry)
            if entry is None:
                return True
    except _Contradiction:
        pass
    return False


class Newest(NamedTuple):
    """The batch with the largest timestamp, as its header tells it; and whether the last time index entry is true."""

    timestamp: int
    base_offset: int
    is_indexed: bool


def largest_timestamp(segment: Segment, log_end: int) -> int:
    """The largest timestamp of the segment's valid batches up to `log_end`; -1 where none has one; remembered.

    Of a healthy closed segment only what stands behind the batch of the last time index entry is read. Of a remote one
    what is told counts, as it does for a broker: to read of each would be requests for each.
    """
    if segment.object is not None and (told := segment.indexes.indexed_largest()) >= 0:
        return told
    known = segment.indexes.known_largest
    if known is None or known[0] != log_end:
        found = newest(segment, log_end)
        known = segment.indexes.known_largest = log_end, -1 if found is None else found.timestamp
    return known[1]


def newest(segment: Segment, log_end: int, wanted: Callable[[Batches], Batches] = lambda rows: rows) -> Newest | None:
    """The newest of those batches that `wanted` leaves of any; None where none of them has a timestamp.

    The scan begins at the last time index entry, and where only others are that new, at earlier ones: nothing in front
    of an entry is newer than it.
    """
    index = segment.indexes.time_index
    entry, step = index.last(), 1
    while entry.slot >= 0:
        try:
            found = _newest(segment, scan_start(segment, entry.offset), log_end, wanted, entry)
        except _Contradiction:
            break
        if found is not None and found.timestamp >= entry.timestamp:
            return found
        entry, step = index.entry(max(-1, entry.slot - step)), step * 2
    return _newest(segment, Start(0, segment.base_offset), log_end, wanted, None)


def _newest(
    segment: Segment, start: Start, log_end: int, wanted: Callable[[Batches], Batches], entry: TimestampOffset | None
) -> Newest | None:
    found, is_indexed = None, entry is not None
    for item in segment.walk(start, log_end):
        if isinstance(item, Damage):
            continue
        entry = _checked(item, entry)
        rows = wanted(item.rows)
        if len(rows):
            times = rows["max_timestamp"]
            row = int(times.argmax())
            if times[row] > (-1 if found is None else found.timestamp):
                found = Newest(int(times[row]), int(rows["base_offset"][row]), is_indexed)
    if entry is not None:
        raise _Contradiction
    return found
