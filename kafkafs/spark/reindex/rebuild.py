"""What LogSegment.recover makes of a log: offset index, time index and transaction index, as bytes.

Batches count up to the first that is not valid. A batch gets an entry when more than the interval lies between it and
the one that got an entry last; the first batch never does. Sources: LogSegment.recover, OffsetIndex.append,
TimeIndex.maybeAppend, ProducerAppendInfo, ProducerStateManager.lastStableOffset.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from kafkafs.errors import CorruptData, NotFound
from kafkafs.format.batches import Batches, is_control, is_transactional
from kafkafs.format.control import ControlType
from kafkafs.format.names import segment_file
from kafkafs.format.offset_index import OffsetIndex
from kafkafs.format.producer_snapshot import open_transactions
from kafkafs.format.time_index import TimeIndex
from kafkafs.format.transaction_index import DTYPE as TRANSACTION
from kafkafs.log.batch_runs import BatchRun, Bounds, batch_runs
from kafkafs.log.log import Log
from kafkafs.log.segment import Segment
from kafkafs.log.transactions import marker

DEFAULT_INTERVAL = 4096
_LARGEST_RELATIVE = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Indexes:
    """The files' bytes; a transaction index exists only where something was aborted."""

    offset_index: bytes
    time_index: bytes
    transaction_index: bytes
    valid_end: int  # the position up to which the log is valid


def rebuild(log: Log, segment: Segment, interval: int) -> Indexes:
    """The indexes of one segment."""
    indexing, transactions = _Indexing(segment.base_offset, interval), open_at(log, segment)
    for item in _valid(segment):
        rows = item.rows
        fit = rows["last_offset"] - segment.base_offset <= _LARGEST_RELATIVE
        rows = rows if fit.all() else rows[: int(np.argmin(fit))]
        indexing.take(rows)
        transactions.take(item, len(rows))
        if len(rows) < len(item.rows):
            break
    return indexing.finish(transactions.entries())


def _valid(segment: Segment) -> Iterator[BatchRun]:
    """The stretches of a segment up to the first damage."""
    file = segment.log()
    for item in batch_runs(file, 0, Bounds(file.size, segment.base_offset, segment.next_base)):
        if not isinstance(item, BatchRun):
            return
        yield item


class _Indexing:
    """Offset and time entries, chosen as the batches pass by."""

    def __init__(self, base_offset: int, interval: int) -> None:
        self._base, self._interval = base_offset, interval
        self._indexed_at = self._end = 0
        self._largest, self._largest_offset = -1, -1
        self._offsets: list[tuple[int, int]] = []
        self._times: list[tuple[int, int]] = []

    def take(self, rows: Batches) -> None:
        """More batches, right behind those before."""
        if not len(rows):
            return
        positions, last_offsets = rows["position"], rows["last_offset"]
        highest, holders = self._running(rows)
        row = int(np.searchsorted(positions, self._indexed_at + self._interval, side="right"))
        while row < len(rows):
            self._indexed_at = int(positions[row])
            self._offsets.append((int(last_offsets[row]) - self._base, self._indexed_at))
            self._maybe_time(int(highest[row]), int(holders[row]))
            row = int(np.searchsorted(positions, self._indexed_at + self._interval, side="right"))
        self._largest, self._largest_offset = int(highest[-1]), int(holders[-1])
        self._end = int(positions[-1]) + int(rows["size"][-1])

    def _running(self, rows: Batches) -> "tuple[np.ndarray, np.ndarray]":
        """For each batch the largest timestamp so far, and the last offset of the first batch that reached it."""
        highest = np.maximum(np.maximum.accumulate(rows["max_timestamp"]), self._largest)
        raised = np.diff(highest, prepend=self._largest) > 0
        since = np.maximum.accumulate(np.where(raised, np.arange(len(rows)), -1))
        return highest, np.where(since < 0, self._largest_offset, rows["last_offset"][since])

    def _maybe_time(self, timestamp: int, offset: int) -> None:
        last = self._times[-1][0] if self._times else -1
        if timestamp > last:
            self._times.append((timestamp, offset - self._base))

    def finish(self, transactions: bytes) -> Indexes:
        """The files; the largest timestamp gets its entry at the end."""
        self._maybe_time(self._largest, self._largest_offset)
        return Indexes(
            np.array(self._offsets, OffsetIndex.dtype).tobytes(),
            np.array(self._times, TimeIndex.dtype).tobytes(),
            transactions,
            self._end,
        )


@dataclass(slots=True)
class Transactions:
    """The open transactions as batches pass by, and the aborted ones: what matters here of ProducerStateManager."""

    open: dict[int, int] = field(default_factory=dict)  # producer -> first offset of its transaction
    aborted: list[tuple[int, int, int, int, int]] = field(default_factory=list)

    def take(self, item: BatchRun, count: int) -> None:
        """The first `count` batches of a stretch."""
        rows = item.rows[:count]
        control = is_control(rows)
        for row in np.flatnonzero(is_transactional(rows)).tolist():
            producer = int(rows["producer_id"][row])
            if not control[row]:
                self.open.setdefault(producer, int(rows["base_offset"][row]))
                continue
            kind = marker(item, row)
            if kind is None or producer not in self.open:
                continue
            first, last = self.open.pop(producer), int(rows["last_offset"][row])
            if kind is ControlType.ABORT:
                self.aborted.append((0, producer, first, last, min(self.open.values(), default=last + 1)))

    def entries(self) -> bytes:
        """The transaction index."""
        return np.array(self.aborted, TRANSACTION).tobytes()


def open_at(log: Log, segment: Segment) -> Transactions:
    """The transactions that are open where the segment begins: of the newest snapshot before it, and what follows."""
    number = log.segments.index(segment)
    begun, found = number, Transactions()
    while begun > 0:
        snapshot = _snapshot(log.segments[begun])
        if snapshot is not None:
            found.open = snapshot
            break
        begun -= 1
    for earlier in log.segments[begun:number]:
        for item in _valid(earlier):
            found.take(item, len(item.rows))
    found.aborted.clear()
    return found


def _snapshot(segment: Segment) -> dict[int, int] | None:
    """The transactions open at the segment's start, as its producer snapshot tells; None where it does not."""
    try:
        return open_transactions(segment.read_beside(segment_file(segment.base_offset, "snapshot")))
    except (NotFound, CorruptData):
        return None
