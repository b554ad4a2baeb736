"""Rebuild a segment's indexes as LogSegment.recover does: offset index, time index and transaction index, as bytes.

A batch gets an entry when more than the interval is between it and the one that got an entry last; the first batch
never does. The caller hands the log on from its first batch, up to the end of the indexes: `reindex_job` all that is
valid, `revive` what it keeps. Sources: LogSegment.recover, OffsetIndex.append, TimeIndex.maybeAppend,
ProducerAppendInfo, ProducerStateManager.lastStableOffset.
"""

from dataclasses import dataclass

import numpy as np

from kafkafs.format.batch import Batches
from kafkafs.format.index import OffsetIndex, TimeIndex, rises
from kafkafs.format.tables import Numbers, Table
from kafkafs.format.transaction_index import ABORTED as TRANSACTION
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.outcomes import Aborted, Tracker, events

DEFAULT_INTERVAL = 4096
"""Kafka's `index.interval.bytes` where nobody has set it."""

LARGEST_RELATIVE = 2**31 - 1
"""So far from its segment's base offset an index can point."""


@dataclass(frozen=True, slots=True)
class Indexes:
    """The files' bytes; a transaction index exists only where something was aborted."""

    offset_index: bytes
    time_index: bytes
    transaction_index: bytes
    valid_end: int  # the position up to which the log was handed on


class Rebuilding:
    """The indexes of one segment, made as its batches pass by."""

    def __init__(self, base_offset: int, interval: int, transactions: Tracker) -> None:
        """`transactions`: those that are open where the segment begins; it follows them."""
        self._base = base_offset
        self._indexing = _Indexing(base_offset, interval)
        self._transactions = transactions
        self._aborted: list[Aborted] = []

    def add(self, run: BatchRun) -> BatchRun:
        """More valid batches, right behind those before: those that were taken, all but where an offset no longer fits
        in the index. There recovery cuts the log, and nothing may follow."""
        fit = run.rows["last_offset"] - self._base <= LARGEST_RELATIVE
        kept = run if fit.all() else run._replace(rows=run.rows[: int(np.argmin(fit))])
        self._indexing.add(kept.rows)
        self._aborted += follow(kept, self._transactions)
        return kept

    def finish(self) -> Indexes:
        """The files; called once, behind the last batch."""
        rows = [(0, each.producer, each.first, each.last, each.stable) for each in self._aborted]
        return self._indexing.finish(np.array(rows, TRANSACTION).tobytes())


def follow(run: BatchRun, transactions: Tracker) -> list[Aborted]:
    """The transactions that a run of batches aborts. A marker that compaction emptied ends nothing here:
    ProducerAppendInfo.append."""
    followed = (transactions.follow(event) for event in events(run) if event.kind != "emptied")
    return [each for each in followed if each is not None and each.first is not None]


class _Indexing:
    """Offset and time entries, chosen as the batches pass by."""

    def __init__(self, base_offset: int, interval: int) -> None:
        self._base, self._interval = base_offset, interval
        self._indexed_at = self._end = 0
        self._largest, self._largest_offset, self._last_time = -1, -1, -1
        self._offsets: list[Table] = []
        self._times: list[Table] = []

    def add(self, rows: Batches) -> None:
        """More batches, right behind those before."""
        if not len(rows):
            return
        positions = np.ascontiguousarray(rows["position"])  # of a column each search would make a copy
        highest, holders = self._running(rows)
        chosen = self._choose(positions)
        if len(chosen):
            entries = np.empty(len(chosen), OffsetIndex.dtype)
            first, second = OffsetIndex.dtype.names or ("", "")
            entries[first], entries[second] = rows["last_offset"][chosen] - self._base, positions[chosen]
            self._offsets.append(entries)
            self._add_times(highest[chosen], holders[chosen])
        self._largest, self._largest_offset = int(highest[-1]), int(holders[-1])
        self._end = int(positions[-1]) + int(rows["size"][-1])

    def _choose(self, positions: Numbers) -> Numbers:
        """The rows that get an entry: each the first one that stands so far behind the last one that did."""
        row = int(positions.searchsorted(self._indexed_at + self._interval, "right"))
        count = len(positions)
        if row == count:
            return np.empty(0, np.int64)
        rest = positions[row:]
        if count - row == 1 or int(np.diff(rest).min()) > self._interval:  # large batches: each gets one
            self._indexed_at = int(positions[-1])
            return np.arange(row, count)
        chosen = []
        while row < count:
            chosen.append(row)
            self._indexed_at = int(positions[row])
            row = int(positions.searchsorted(self._indexed_at + self._interval, "right"))
        return np.array(chosen, np.int64)

    def _running(self, rows: Batches) -> "tuple[np.ndarray, np.ndarray]":
        """For each batch the largest timestamp so far, and the last offset of the first batch that reached it."""
        highest = np.maximum(np.maximum.accumulate(rows["max_timestamp"]), self._largest)
        raised = rises(highest, self._largest)
        since = np.maximum.accumulate(np.where(raised, np.arange(len(rows)), -1))
        return highest, np.where(since < 0, self._largest_offset, rows["last_offset"][since])

    def _add_times(self, timestamps: Numbers, offsets: Numbers) -> None:
        """Entries for those that are larger than the last one; timestamps never fall."""
        which = rises(timestamps, self._last_time)
        if which.any():
            entries = np.empty(int(which.sum()), TimeIndex.dtype)
            first, second = TimeIndex.dtype.names or ("", "")
            entries[first], entries[second] = timestamps[which], offsets[which] - self._base
            self._times.append(entries)
            self._last_time = int(timestamps[-1])

    def finish(self, transactions: bytes) -> Indexes:
        """The files; the largest timestamp gets its entry at the end."""
        self._add_times(np.array([self._largest]), np.array([self._largest_offset]))
        return Indexes(
            b"".join(each.tobytes() for each in self._offsets),
            b"".join(each.tobytes() for each in self._times),
            transactions,
            self._end,
        )
