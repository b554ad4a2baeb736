"""What a read_committed reader sees, told from the log.

A transaction's outcome is the next marker of its producer. Reading goes forward, so markers are found by a scan that
runs ahead of the reader no further than it must. The transaction index would save that scan for what was aborted, but
only the scan tells whether it is right. A transaction without a marker is open, and the first open one is the last
stable offset.
Sources: ProducerStateManager, TransactionIndex, CompletedFetch.
"""

import threading
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from kafkafs.disk.blocking import may_block
from kafkafs.errors import CorruptData, Denied, DiskError, NotFound, Vanished
from kafkafs.format.batches import Batches, Flags, is_control, is_transactional
from kafkafs.format.control import ControlType, control_type
from kafkafs.format.names import segment_file
from kafkafs.format.producer_snapshot import open_transactions
from kafkafs.format.records import Refusal, decode
from kafkafs.log.batch_runs import BatchRun, Start
from kafkafs.log.log import Log
from kafkafs.log.segment import Segment

_MARKER_LIMIT = 1 << 20
_PRODUCERS_KEPT = 4096


def marker(run: BatchRun, row: int) -> ControlType | None:
    """What the control batch in `row` says; None where compaction has emptied it, or it cannot be read."""
    for piece in decode(run.data, run.position, run.rows[row : row + 1], _MARKER_LIMIT):
        if not isinstance(piece, Refusal) and len(piece):
            return control_type(piece.key(0) or b"")
    return None


def is_abort(run: BatchRun, row: int) -> bool:
    """Whether the control batch in `row` aborts. One that compaction emptied ends a transaction without aborting it:
    the cleaner drops an aborted transaction's data before its marker."""
    return marker(run, row) is ControlType.ABORT


class OpenTransactions:
    """The transactions that are open at the log end, kept up to date as the log grows. One a partition."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._log: Log | None = None
        self._open: dict[int, int] = {}
        self._known: tuple[Log, int] | None = None

    def last_stable_offset(self, log: Log) -> int:
        """The first offset of the first open transaction; the log end where none is open."""
        known = self._known
        if known is not None and known[0] is log:
            return known[1]
        may_block()  # before the lock: its holder may read a log for long
        with self._lock:
            if self._log is not log:
                self._open = self._scan(log)
                self._log = log
            stable = min((log.end_offset, *self._open.values()))
            self._known = log, stable
            return stable

    def _scan(self, log: Log) -> dict[int, int]:
        before, found = self._log, dict(self._open)
        start = _continue_at(before, log)
        if start is None:
            first, found = _snapshot(log)
            start = (first, Start(0, log.segments[first].base_offset)) if log.segments else None
        if start is None:
            return {}
        for run in _batch_runs(log, _MarkerScan(*start)):
            _follow(run.rows, found)
        return {producer: max(offset, log.start_offset) for producer, offset in found.items()}


def _continue_at(before: Log | None, log: Log) -> tuple[int, Start] | None:
    """Where the newer log differs from the older one, if all it did was grow."""
    if before is None or not before.segments or before.tail is None or before.tail.last is None or log.tail is None:
        return None
    if before.segments[-1] is not log.segments[-1] or not log.tail.grew_from(before.tail):
        return None
    return len(log.segments) - 1, Start(before.tail.position, before.tail.end_offset)


def _snapshot(log: Log) -> tuple[int, dict[int, int]]:
    """The newest segment whose start a producer snapshot describes, and the transactions open there."""
    for number in range(len(log.segments) - 1, 0, -1):
        segment = log.segments[number]
        try:
            return number, open_transactions(segment.read_beside(segment_file(segment.base_offset, "snapshot")))
        except (NotFound, CorruptData, Denied, DiskError, Vanished):
            continue
    return 0, {}


def _follow(rows: Batches, found: dict[int, int]) -> None:
    """Take the run's data and markers into account."""
    rows = rows[is_transactional(rows)]
    control = is_control(rows)
    for producer in sorted(set(rows["producer_id"].tolist())):  # np.unique would import numpy.ma at its first use
        mine = rows["producer_id"] == producer
        ended = np.flatnonzero(mine & control)
        if len(ended):
            found.pop(producer, None)
            mine[: int(ended[-1]) + 1] = False
        begun = np.flatnonzero(mine)
        if len(begun):
            found.setdefault(producer, int(rows["base_offset"][begun[0]]))


@dataclass(slots=True)
class _MarkerScan:
    """Where a scan has got to: a segment by number, the position and the offset there; and the markers it has met."""

    segment: int
    start: Start
    markers: dict[int, list[tuple[int, bool]]] = field(default_factory=dict)


def _batch_runs(log: Log, scan: _MarkerScan) -> Iterator[BatchRun]:
    """What stands from `scan` on. It knows nothing of what asks: a cycle of the two would keep a buffer for long."""
    for number in range(scan.segment, len(log.segments)):
        segment = log.segments[number]
        place = scan.start if number == scan.segment else Start(0, segment.base_offset)
        scan.segment = number
        for item in segment.walk(place, log.walk_end(segment)) if segment.is_readable() else ():
            if isinstance(item, BatchRun):
                yield item


class Outcomes:
    """Whether transactional batches below the last stable offset were aborted, asked in offset order."""

    def __init__(self, log: Log, segment: Segment, start: Start) -> None:
        self._log = log
        self._scan = _MarkerScan(log.segments.index(segment), start)
        self._walk = _batch_runs(log, self._scan)

    def aborted(self, rows: Batches) -> Flags:
        """For each batch, whether its transaction was aborted; False for those outside any."""
        dropped = np.zeros(len(rows), np.bool_)
        for row in np.flatnonzero(is_transactional(rows) & ~is_control(rows)).tolist():
            dropped[row] = self.is_aborted(int(rows["producer_id"][row]), int(rows["last_offset"][row]))
        return dropped

    def is_aborted(self, producer: int, offset: int) -> bool:
        """Whether the transaction of `producer` that has a batch ending with `offset` was aborted."""
        while True:
            markers = self._scan.markers.get(producer, [])
            at = bisect_right(markers, (offset, True))
            if at < len(markers):
                del markers[:at]
                return markers[0][1]
            run = next(self._walk, None)
            if run is None:
                return False
            self._remember(run, offset)

    def _remember(self, run: BatchRun, asked: int) -> None:
        markers = self._scan.markers
        if len(markers) > _PRODUCERS_KEPT:  # producers come and go: those whose last marker was passed may be forgotten
            self._scan.markers = markers = {each: known for each, known in markers.items() if known[-1][0] > asked}
        for row in np.flatnonzero(is_control(run.rows) & is_transactional(run.rows)).tolist():
            producer, offset = int(run.rows["producer_id"][row]), int(run.rows["last_offset"][row])
            markers.setdefault(producer, []).append((offset, is_abort(run, row)))
