"""Offsets and timestamps of one segment: where to scan from, the first batch that reaches an offset, those that reach a
time, and the largest timestamp.

An entry of the offset index is held against the log, and the scan begins there. That makes the answer independent of
the index: a batch that really is at the position named, with offsets that the entry allows, has everything older
before it. If no entry passes, the scan starts at the segment's start. Source: LogSegment.translateOffset.

The time index promises that every record newer than an entry's timestamp has an offset behind the entry's. The promise
is checked where it is cheap: the batch that holds the entry's offset must have the entry's timestamp as its largest. If
the batch has not reached it, the index is not believed, and the scan starts over at the segment's start. Source:
LogSegment.findOffsetByTimestamp.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from kafkafs.disk.data_file import DataFile
from kafkafs.errors import Lost
from kafkafs.format.batch import FRAME_SIZE, UNCHECKED, VALID, Batch, Batches, batch_at, first_offsets, parse_batch
from kafkafs.format.index import OffsetIndex, OffsetPosition, Probe, TimestampOffset
from kafkafs.format.times import utc_text
from kafkafs.format.trace import Trace, list_probes, no_trace
from kafkafs.log.batch_runs import ANY_SIZE, FIRST_READ, BatchRun, Bounds, Damage, Start, batch_runs, first_window
from kafkafs.log.closing_entries import stated_largest
from kafkafs.log.overlaps import first_offset, span
from kafkafs.log.segment import ANY_OFFSET, Segment

_ENTRIES_TRIED = 8


def scan_start(segment: Segment, offset: int, trace: Trace = no_trace) -> Start:
    """Return the place to scan from for `offset`: the last index entry at or before it that the log confirms.

    Entries are tried back from the one that the index names, at growing steps.
    """
    if offset <= segment.base_offset and segment.object is None and trace is no_trace:
        return Start(0, segment.base_offset)  # no entry leads there: each names the end of a batch behind the first
    index = segment.indexes.offset_index
    probes: list[Probe] | None = None if trace is no_trace else []
    entry = index.lookup(offset, probes)
    file = segment.log()
    file.fetch(entry.position, max(FIRST_READ, entry.end - entry.position))
    step = 1
    while entry.slot >= 0:
        confirmed = _confirmed(segment, file, entry) if entry.offset <= offset else None
        if trace is not no_trace:
            described = f"offset index {segment.name_of('index')}: slot {entry.slot} of {index.entries}: "
            described += f"offset {entry.offset} -> position {entry.position}"
            described += "" if confirmed else ", which the log contradicts"
            trace(described + _probes(index, probes, offset))
            probes = None  # they led to the first entry; the others are tried because of the log
        if confirmed is not None:
            return confirmed
        if step > 1 << _ENTRIES_TRIED:
            break
        entry = index.entry(max(-1, entry.slot - step))
        step *= 2
    if trace is not no_trace:
        why = f"no entry at or before {offset}" if index.entries else "missing, empty or unreadable"
        trace(f"offset index {segment.name_of('index')}: {why}: from position 0{_probes(index, probes, offset)}")
    return Start(0, segment.base_offset)


def wanted_end(segment: Segment, offset: int) -> int:
    """The position at which a walk up to `offset` will end, as the offset index says; 0 if the segment ends before, or
    if nobody knows. Nothing of the log is read for it."""
    if segment.next_base is not None and segment.next_base <= offset:
        return 0
    return segment.indexes.offset_index.lookup(offset - 1).end


def _probes(index: OffsetIndex, probes: list[Probe] | None, offset: int) -> str:
    def probed(probe: Probe) -> str:
        return f"offset {index.base_offset + probe.fields[0]} -> position {probe.fields[1]}"

    return list_probes(index, probes or (), probed, (f"at or before {offset}", f"after {offset}"))


def _confirmed(segment: Segment, file: DataFile, entry: OffsetPosition) -> Start | None:
    """The batch at the entry's position, if it may point there: that batch ends with its offset, or one that follows
    does, as older brokers index a whole append. Its base offset, outside the CRC, is then true too."""
    _, offset, position, end = entry
    if position <= 0:
        return None
    window = first_window(file, position, end - position)
    if len(window.walked.rows):
        base, last, validity = first_offsets(window.walked.rows)
    else:
        header = parse_batch(window.data, 0, position)
        if header is None:
            return None
        base, last, validity = header.base_offset, header.last_offset, UNCHECKED
    if not segment.base_offset <= base <= last <= offset:
        return None
    start = Start(position, base, window)
    return start if (validity == VALID and last == offset) or _leads_to(segment, file, start, offset) else None


def _leads_to(segment: Segment, file: DataFile, start: Start, offset: int) -> bool:
    """True if a batch from `start` on ends with `offset`, and everything up to there is valid."""
    sound = partial(segment.sound_batches, file)
    bounds = Bounds(file.size, start.first_offset, segment.next_base, False, offset + 1, sound)
    for item in batch_runs(file, start.position, bounds, start.window):
        if isinstance(item, BatchRun) and item.last_offset >= offset:
            return int(item.rows["last_offset"][_row_reaching(item, offset)]) == offset
    return False


def batch_reaching(segment: Segment, offset: int, log_end: int, trace: Trace = no_trace) -> Batch | Damage | None:
    """The first batch whose last offset is at or after `offset`, or the damage that owns it; None behind the last."""
    start = scan_start(segment, offset, trace)
    scanned = 0
    for item in segment.walk(start, log_end, ANY_OFFSET, offset):
        if item.last_offset < offset:
            scanned += item.end - item.position
            continue
        if isinstance(item, Damage):
            trace(f"log {segment.log_name}: offset {offset} is in the damaged batch at {item.position}")
            return item
        found = batch_at(item.rows, _row_reaching(item, offset))
        if trace is not no_trace:  # what a message of an old format spans takes unpacking
            scanned += found.end - item.position
            trace(scanned_to(segment, scanned, start, found))
        return found
    trace(f"log {segment.log_name}: scanned {scanned} bytes from position {start.position}: none at or after {offset}")
    return None


def scanned_to(segment: Segment, scanned: int, start: Start, found: Batch) -> str:
    """The step of an explanation that has found its batch."""
    return (
        f"log {segment.log_name}: scanned {scanned} bytes from position {start.position} to the batch "
        f"{span(segment.log(), found)} at position {found.position}"
    )


def closed_end(segment: Segment) -> int:
    """The position at which a closed segment's log ends: with its file, but for fewer than a header's zero bytes at the
    end; of a swap file that stands in, where the next segment's offsets begin. Found once."""
    end = segment.known_end
    if end is None:
        end = segment.known_end = _stand_in_end(segment) if segment.overlaps_next else _end_before_zeros(segment)
    return end


def _end_before_zeros(segment: Segment) -> int:
    if segment.object is not None:  # what is uploaded has been cut where it ends
        return segment.seen[0]
    file = segment.log()
    size = file.size
    tail = file.read(max(0, size - FRAME_SIZE), FRAME_SIZE)
    if not tail.endswith(b"\0"):
        return size
    end = size
    start = scan_start(segment, segment.next_base if segment.next_base is not None else segment.base_offset)
    for item in segment.walk(start, size, ANY_OFFSET):
        end = item.end
    return end if size - end <= FRAME_SIZE else size


def _stand_in_end(segment: Segment) -> int:
    """Return the place at which the next segment's offsets begin: the rest of a swap file is there as well.

    An item that spans that place, damage or a batch, is nowhere else. The log ends behind it, and a walk up to there
    finds it damaged.
    """
    assert segment.next_base is not None
    file, next_base = segment.log(), segment.next_base
    size = file.size
    start = scan_start(segment, next_base)
    for item in batch_runs(file, start.position, Bounds(size, start.first_offset, None)):
        if item.last_offset < next_base:
            continue
        if isinstance(item, Damage):
            return item.end if item.base_offset < next_base else item.position
        reaching = batch_at(item.rows, _row_reaching(item, next_base))
        return reaching.end if first_offset(file, reaching) < next_base else reaching.position
    return size


def _row_reaching(run: BatchRun, offset: int) -> int:
    """The first row whose last offset is at or after `offset`."""
    return bisect_left(run.rows["last_offset"], offset)


class Candidate(NamedTuple):
    """A batch whose header states a timestamp that reaches the time: a run of nothing else; and where the scan began
    that met it."""

    batch: Batch
    run: BatchRun
    start: Start


class _Contradiction(Exception):
    """The log says otherwise than the time index; never leaves this module."""


def batches_at_or_after(
    segment: Segment, timestamp: int, log_end: int, min_offset: int, trace: Trace, lenient: bool = False,
    largest: int = ANY_SIZE,
) -> Iterator[Candidate | Damage]:  # fmt: skip
    """The batches with offsets at or behind `min_offset` that may hold a record at or after `timestamp`, in order, and
    the damage between them.

    Damage may come twice, where the scan starts over. Lost if a tier lost batches that may reach the time: offsets that
    it lacks, or damage in front of a batch that does; passed over if `lenient`. For batches of more than `largest`
    bytes, only the headers may come.
    """
    entry = _entry(segment, timestamp, trace)
    start = scan_start(segment, max(entry.offset, min_offset), trace)
    is_used = entry.slot >= 0 and entry.offset > min_offset
    try:
        yield from _scan(
            segment, start, timestamp, log_end, entry if is_used else None, min_offset, trace, lenient, largest
        )
        return
    except _Contradiction:
        trace(f"log {segment.log_name}: no batch there has the time index entry's timestamp: from position 0")
    start = Start(0, segment.base_offset)
    yield from _scan(segment, start, timestamp, log_end, None, min_offset, trace, lenient, largest)


def _entry(segment: Segment, timestamp: int, trace: Trace) -> TimestampOffset:
    """The last time index entry before `timestamp`; the segment's start where there is none."""
    index = segment.indexes.time_index
    probes: list[Probe] | None = None if trace is no_trace else []
    entry = index.lookup(timestamp - 1, probes)
    if entry.timestamp >= timestamp:
        trace(f"time index {segment.name_of('timeindex')}: out of order: from the segment's first offset")
        return TimestampOffset(-1, -1, segment.base_offset)
    if trace is no_trace:
        return entry
    name = segment.name_of("timeindex")

    def probed(probe: Probe) -> str:
        return f"{probe.fields[0]} ({utc_text(probe.fields[0])}) -> offset {index.base_offset + probe.fields[1]}"

    looks = list_probes(index, probes or (), probed, (f"before {timestamp}", f"not before {timestamp}"))
    if entry.slot >= 0:
        found = f"slot {entry.slot} of {index.entries}: {entry.timestamp} -> offset {entry.offset}"
        trace(f"time index {name}: {found} (its time: {utc_text(entry.timestamp)}){looks}")
    elif index.entries:
        trace(f"time index {name}: no entry before {timestamp}: from the segment's first offset{looks}")
    else:
        trace(f"time index {name}: missing, empty or unreadable: from the segment's first offset")
    return entry


def _scan(
    segment: Segment, start: Start, timestamp: int, log_end: int, entry: TimestampOffset | None, min_offset: int,
    trace: Trace, lenient: bool, largest: int,
) -> Iterator[Candidate | Damage]:  # fmt: skip
    """`batches_at_or_after` from `start` on. `entry` is what is to be confirmed: no candidate comes before it is."""
    item: BatchRun | Damage | None = None
    lost: Damage | None = None  # of a tier: its records may be late enough if those right behind it are
    passed, needed = 0 if entry is None else entry.offset + 1, ANY_OFFSET if lenient else min_offset
    for item in segment.walk(start, log_end, passed, needed, largest):
        if isinstance(item, Damage):
            trace(f"log {segment.log_name}: passing over {item.size} invalid bytes at position {item.position}")
            is_lost = segment.object is not None and not lenient and item.last_offset >= min_offset
            lost = item if is_lost else None
            yield item
            continue
        entry = _checked(item, entry)
        if lost is not None and item.rows["max_timestamp"][0] >= timestamp:
            raise _lost(segment, lost)
        lost = None
        for row in (item.rows["max_timestamp"] >= timestamp).nonzero()[0].tolist():
            batch = batch_at(item.rows, row)
            if batch.count > 0:  # compaction leaves empty ones
                yield Candidate(batch, BatchRun(item.data, item.position, item.rows[row : row + 1]), start)
    if entry is not None:
        raise _Contradiction
    if lost is not None:
        raise _lost(segment, lost)
    scanned = 0 if item is None else item.end - start.position
    trace(f"log {segment.log_name}: scanned {scanned} bytes from {start.position}: none late enough")


def _checked(item: BatchRun, entry: TimestampOffset | None) -> TimestampOffset | None:
    """The entry, while it still waits for its batch; None once its batch has confirmed it.

    No record in front of that batch may be newer: so the entry promises.
    """
    if entry is None:
        return None
    times, row = item.rows["max_timestamp"], _row_reaching(item, entry.offset)
    newest = times[times[: row + 1].argmax()]
    if row == len(times) and newest <= entry.timestamp:
        return entry
    if newest != entry.timestamp or times[row] != entry.timestamp:
        raise _Contradiction
    return None


def has_true_end(segment: Segment, log_end: int) -> bool:
    """True if the log has the batch that the last time index entry names."""
    entry: TimestampOffset | None = segment.indexes.time_index.last()
    try:
        for item in segment.walk(scan_start(segment, entry.offset), log_end, ANY_OFFSET) if entry else ():
            if isinstance(item, BatchRun):
                entry = _checked(item, entry)
            if entry is None:
                return True
    except _Contradiction:
        pass
    return False


class Newest(NamedTuple):
    """The batch with the largest timestamp in its header, and whether the last time index entry is true."""

    timestamp: int
    base_offset: int
    is_indexed: bool


def largest_timestamp(segment: Segment, log_end: int) -> int:
    """The largest timestamp of the segment's valid batches up to `log_end`; -1 if none has one; remembered.

    For a healthy closed segment, only the part behind the batch of the last time index entry is read. For a remote
    segment, the noted value counts, as it does for a broker: a read of each would be a request for each.
    """
    if segment.object is not None and (stated := stated_largest(segment)) is not None:
        return stated
    known = segment.indexes.known_largest
    if known is None or known[0] != log_end:
        found = newest(segment, log_end)
        known = segment.indexes.known_largest = log_end, -1 if found is None else found.timestamp
    return known[1]


def newest_among_last(run: BatchRun, entry: TimestampOffset) -> int | None:
    """The largest timestamp of a segment that ends with `run`, if that has the batch that `entry`, the last one of the
    time index, names; None if it has not, or contradicts the entry."""
    try:
        is_met = _checked(run, entry) is None
    except _Contradiction:
        return None
    return int(run.rows["max_timestamp"].max()) if is_met else None


def newest(
    segment: Segment, log_end: int, wanted: Callable[[Batches], Batches] = lambda rows: rows, lenient: bool = False
) -> Newest | None:
    """The newest of those batches that `wanted` leaves of any; None if none of them has a timestamp.

    The scan begins at the last time index entry, and where only others are that new, at earlier ones: nothing in front
    of an entry is newer than it. Lost if a tier lost batches on the way, unless `lenient`.
    """
    index = segment.indexes.time_index
    entry, step = index.last(), 1
    while entry.slot >= 0:
        try:
            found = _newest(segment, scan_start(segment, entry.offset), log_end, wanted, entry, lenient)
        except _Contradiction:
            break
        if found is not None and found.timestamp >= entry.timestamp:
            return found
        entry, step = index.entry(max(-1, entry.slot - step)), step * 2
    return _newest(segment, Start(0, segment.base_offset), log_end, wanted, None, lenient)


def _newest(
    segment: Segment, start: Start, log_end: int, wanted: Callable[[Batches], Batches], entry: TimestampOffset | None,
    lenient: bool,
) -> Newest | None:  # fmt: skip
    found, is_indexed = None, entry is not None
    lost: Damage | None = None  # of a tier, behind the newest batch
    for item in segment.walk(start, log_end, ANY_OFFSET, ANY_OFFSET if lenient else 0):
        if isinstance(item, Damage):
            lost = item if segment.object is not None and not lenient else None
            continue
        entry = _checked(item, entry)
        rows = wanted(item.rows)
        if len(rows):
            times = rows["max_timestamp"]
            row = int(times.argmax())
            if times[row] > (-1 if found is None else found.timestamp):
                found = Newest(int(times[row]), int(rows["base_offset"][row]), is_indexed)
            lost = lost if found is None or times[row] < found.timestamp else None
    if entry is not None:
        raise _Contradiction
    if lost is not None:
        raise _lost(segment, lost)
    return found


def _lost(segment: Segment, damage: Damage) -> Lost:
    return Lost(f"{segment.object}: {damage.size} bytes at position {damage.position} are not a valid batch")
