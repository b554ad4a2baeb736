"""What LogSegment.recover makes of a segment's log: offset index, time index and transaction index, as bytes.

A batch gets an entry when more than the interval lies between it and the one that got an entry last; the first batch
never does. Whoever has the log hands it on from its first batch, up to what is to be indexed: `reindex_job` all that
is valid, `revive` what it keeps. Sources: LogSegment.recover, OffsetIndex.append, TimeIndex.maybeAppend,
ProducerAppendInfo, ProducerStateManager.lastStableOffset.
"""

from dataclasses import dataclass

import numpy as np

from kafkafs.format.batch import Batches
from kafkafs.format.index import ABORTED as TRANSACTION
from kafkafs.format.index import OffsetIndex, TimeIndex, rises
from kafkafs.format.tables import Numbers
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

    def take(self, run: BatchRun) -> BatchRun:
        """More valid batches, right behind those before: those that were taken, all but where an offset no longer fits
        in the index. There recovery cuts the log, and nothing may follow."""
        fit = run.rows["last_offset"] - self._base <= LARGEST_RELATIVE
        kept = run if fit.all() else run._replace(rows=run.rows[: int(np.argmin(fit))])
        self._indexing.take(kept.rows)
        self._aborted += follow(kept, self._transactions)
        return kept

    def finish(self) -> Indexes:
        """The files; called once, behind the last batch."""
        rows = [(0, each.producer, each.first, each.last, each.stable) for each in self._aborted]
        return self._indexing.finish(np.array(rows, TRANSACTION).tobytes())


def follow(run: BatchRun, transactions: Tracker) -> list[Aborted]:
    """What a run of batches aborts. A marker that compaction emptied ends nothing here: ProducerAppendInfo.append."""
    followed = (transactions.follow(event) for event in events(run) if event.kind != "emptied")
    return [each for each in followed if each is not None and each.first is not None]


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
        positions = np.ascontiguousarray(rows["position"])  # of a column each search would make a copy
        highest, holders = self._running(rows)
        chosen = self._choose(positions)
        self._offsets += zip(
            (rows["last_offset"][chosen] - self._base).tolist(), positions[chosen].tolist(), strict=True
        )
        for timestamp, offset in zip(highest[chosen].tolist(), holders[chosen].tolist(), strict=True):
            self._maybe_time(timestamp, offset)
        self._largest, self._largest_offset = int(highest[-1]), int(holders[-1])
        self._end = int(positions[-1]) + int(rows["size"][-1])

    def _choose(self, positions: Numbers) -> list[int]:
        """The rows that get an entry: each the first one that stands so far behind the last one that did."""
        chosen = []
        while (row := int(positions.searchsorted(self._indexed_at + self._interval, "right"))) < len(positions):
            chosen.append(row)
            self._indexed_at = int(positions[row])
        return chosen

    def _running(self, rows: Batches) -> "tuple[np.ndarray, np.ndarray]":
        """For each batch the largest timestamp so far, and the last offset of the first batch that reached it."""
        highest = np.maximum(np.maximum.accumulate(rows["max_timestamp"]), self._largest)
        raised = rises(highest, self._largest)
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
