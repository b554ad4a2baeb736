"""Timestamps of one segment: the batches that reach a time, and the largest timestamp.

The time index promises that every record newer than an entry's timestamp has an offset behind the entry's. The promise
is checked where it is cheap: the batch that holds the entry's offset must have the entry's timestamp as its largest. If
the batch has not reached it, the index is not believed, and the scan starts over at the segment's start. Source:
LogSegment.findOffsetByTimestamp.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kafkafs.errors import Lost
from kafkafs.format.batch import Batch, Batches, batch_at
from kafkafs.format.index import Probe, TimestampOffset
from kafkafs.format.times import utc_text
from kafkafs.format.trace import Trace, list_probes, no_trace
from kafkafs.log.batch_runs import ANY_SIZE, BatchRun, Damage, Start
from kafkafs.log.closing_entries import stated_largest
from kafkafs.log.segment import ANY_OFFSET, Segment
from kafkafs.log.segment_search import row_reaching, scan_start


class Candidate(NamedTuple):
    """A batch whose header states a timestamp that reaches the time: a run of nothing else; and where the scan began
    that met it."""

    batch: Batch
    run: BatchRun
    start: Start


class _Contradiction(Exception):
    """The log says otherwise than the time index; never leaves this module."""


class TimeSearch(NamedTuple):
    """A search in one segment for the batches with offsets at or behind `min_offset` that may hold a record at or after
    `timestamp`.

    Lost if a tier lost batches that may reach the time: offsets that it lacks, or damage in front of a batch that does;
    passed over if `lenient`. For batches of more than `largest` bytes, only the headers may come.
    """

    segment: Segment
    timestamp: int
    log_end: int
    min_offset: int
    trace: Trace = no_trace
    lenient: bool = False
    largest: int = ANY_SIZE

    def batches(self) -> Iterator[Candidate | Damage]:
        """The batches of this search in order, and the damage between them. Damage may come twice if the scan starts
        over."""
        segment, entry = self.segment, self._entry()
        start = scan_start(segment, max(entry.offset, self.min_offset), self.trace)
        is_used = entry.slot >= 0 and entry.offset > self.min_offset
        try:
            yield from self._scan(start, entry if is_used else None)
            return
        except _Contradiction:
            self.trace(f"log {segment.log_name}: no batch there has the time index entry's timestamp: from position 0")
        yield from self._scan(Start(0, segment.base_offset), None)

    def _entry(self) -> TimestampOffset:
        """The last time index entry before the time; the segment's start where there is none."""
        index, timestamp, trace = self.segment.indexes.time_index, self.timestamp, self.trace
        probes: list[Probe] | None = None if trace is no_trace else []
        entry = index.lookup(timestamp - 1, probes)
        if entry.timestamp >= timestamp:
            trace(f"time index {self.segment.name_of('timeindex')}: out of order: from the segment's first offset")
            return TimestampOffset(-1, -1, self.segment.base_offset)
        if trace is no_trace:
            return entry
        name = self.segment.name_of("timeindex")

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

    def _scan(self, start: Start, entry: TimestampOffset | None) -> Iterator[Candidate | Damage]:
        """`batches` from `start` on. `entry` is what is to be confirmed: no candidate comes before it is."""
        segment, trace = self.segment, self.trace
        item: BatchRun | Damage | None = None
        lost: Damage | None = None  # a tier's: its records may be late enough if those right behind it are
        passed, needed = 0 if entry is None else entry.offset + 1, ANY_OFFSET if self.lenient else self.min_offset
        for item in segment.walk(start, self.log_end, passed, needed, self.largest):
            if isinstance(item, Damage):
                trace(f"log {segment.log_name}: passing over {item.size} invalid bytes at position {item.position}")
                is_lost = segment.object is not None and not self.lenient and item.last_offset >= self.min_offset
                lost = item if is_lost else None
                yield item
                continue
            entry = _checked(item, entry)
            if lost is not None and item.rows["max_timestamp"][0] >= self.timestamp:
                raise _lost(segment, lost)
            lost = None
            for row in (item.rows["max_timestamp"] >= self.timestamp).nonzero()[0].tolist():
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
    times, row = item.rows["max_timestamp"], row_reaching(item, entry.offset)
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
    segment, the recorded value counts, as it does for a broker: a read of each would be a request for each.
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
    lost: Damage | None = None  # damage in a tier, behind the newest batch
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
    return Lost(f"{segment.object}: {damage}")
