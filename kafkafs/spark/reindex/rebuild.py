"""What LogSegment.recover makes of a log: offset index, time index and transaction index, as bytes.

Batches count up to the first that is not valid. A batch gets an entry when more than the interval lies between it and
the one that got an entry last; the first batch never does. Sources: LogSegment.recover, OffsetIndex.append,
TimeIndex.maybeAppend, ProducerAppendInfo, ProducerStateManager.lastStableOffset.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from kafkafs.errors import CorruptData, NotFound
from kafkafs.format.batches import Batches
from kafkafs.format.names import segment_file
from kafkafs.format.offset_index import OffsetIndex
from kafkafs.format.producer_snapshot import open_transactions
from kafkafs.format.time_index import TimeIndex
from kafkafs.format.transaction_index import DTYPE as TRANSACTION
from kafkafs.log.batch_runs import BatchRun, Damage
from kafkafs.log.segment import Segment
from kafkafs.spark.segments import SegmentSnapshot
from kafkafs.spark.transactions import Aborted, Tracker, events

DEFAULT_INTERVAL = 4096
_LARGEST_RELATIVE = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Indexes:
    """The files' bytes; a transaction index exists only where something was aborted."""

    offset_index: bytes
    time_index: bytes
    transaction_index: bytes
    valid_end: int  # the position up to which the log is valid


def rebuild(snapshot: SegmentSnapshot, interval: int) -> Indexes:
    """The indexes of one segment."""
    base = snapshot.segment.base_offset
    indexing, transactions = _Indexing(base, interval), tracker_at(snapshot)
    aborted: list[Aborted] = []
    for run in _valid(snapshot.runs()):
        fit = run.rows["last_offset"] - base <= _LARGEST_RELATIVE
        kept = run if fit.all() else run._replace(rows=run.rows[: int(np.argmin(fit))])
        indexing.take(kept.rows)
        aborted += _follow(kept, transactions)
        if kept is not run:
            break
    return indexing.finish(_transaction_index(aborted))


def _valid(runs: Iterable[BatchRun | Damage]) -> Iterator[BatchRun]:
    """What stands up to the first damage."""
    for run in runs:
        if isinstance(run, Damage):
            return
        yield run


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


def tracker_at(snapshot: SegmentSnapshot) -> Tracker:
    """The transactions that are open where the segment begins: of the newest snapshot before it, and what follows."""
    segments = snapshot.log.segments
    number = [segment.base_offset for segment in segments].index(snapshot.segment.base_offset)
    begun, transactions = number, Tracker()
    while begun > 0:
        known = _open_by_snapshot(segments[begun])
        if known is not None:
            transactions = Tracker(known)
            break
        begun -= 1
    for earlier in segments[begun:number]:
        for run in _valid(snapshot.of(earlier)):
            _follow(run, transactions)
    return transactions


def _follow(run: BatchRun, transactions: Tracker) -> list[Aborted]:
    """What a run of batches aborts. A marker that compaction emptied ends nothing here: ProducerAppendInfo.append."""
    followed = (transactions.follow(event) for event in events(run) if event.kind != "emptied")
    return [each for each in followed if each is not None and each.first is not None]


def _transaction_index(aborted: list[Aborted]) -> bytes:
    rows = [(0, each.producer, each.first, each.last, each.stable) for each in aborted]
    return np.array(rows, TRANSACTION).tobytes()


def _open_by_snapshot(segment: Segment) -> dict[int, int] | None:
    """The transactions open at the segment's start, as its producer snapshot tells; None where it does not."""
    try:
        return open_transactions(segment.read_beside(segment_file(segment.base_offset, "snapshot")))
    except (NotFound, CorruptData):
        return None
