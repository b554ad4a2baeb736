"""Rebuild a segment's indexes as LogSegment.recover does: offset index, time index and transaction index, as bytes.

A batch gets an entry when more than the interval is between it and the one that got an entry last; the first batch
never does. The caller hands the log on from its first batch, up to the end of the indexes: `reindex_job` all that is
valid, `revive` what it keeps. Sources: LogSegment.recover, OffsetIndex.append, TimeIndex.maybeAppend,
ProducerAppendInfo, ProducerStateManager.lastStableOffset.
"""

from dataclasses import dataclass

import numpy as np

from kafkafs.format import kernels
from kafkafs.format.batch import Batches
from kafkafs.format.index import OffsetIndex, TimeIndex
from kafkafs.format.transaction_index import ABORTED as TRANSACTION
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.transaction_events import Aborted, Tracker, events

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
        """Add valid batches, right behind those before. Return those that were taken: all, unless an offset no longer
        fits in the index. There recovery cuts the log, and nothing may follow."""
        kept = run
        if run.last_offset - self._base > LARGEST_RELATIVE:  # offsets rise
            fit = run.rows["last_offset"] - self._base <= LARGEST_RELATIVE
            kept = run._replace(rows=run.rows[: int(np.argmin(fit))])
        self._indexing.add(kept.rows)
        self._aborted += follow(kept, self._transactions)
        return kept

    def finish(self) -> Indexes:
        """The files; called once, behind the last batch."""
        rows = [(0, each.producer, each.first, each.last, each.stable) for each in self._aborted]
        return self._indexing.finish(np.array(rows, TRANSACTION).tobytes() if rows else b"")


def follow(run: BatchRun, transactions: Tracker) -> list[Aborted]:
    """The transactions that a run of batches aborts. A marker that compaction emptied ends nothing here:
    ProducerAppendInfo.append."""
    followed = (transactions.follow(event) for event in events(run) if event.kind != "emptied")
    return [each for each in followed if each is not None and each.first is not None]


class _Indexing:
    """Offset and time entries, chosen as the batches pass by."""

    def __init__(self, base_offset: int, interval: int) -> None:
        self._base, self._interval, self._end = base_offset, min(interval, LARGEST_RELATIVE), 0
        self._progress = np.array([0, -1, -1, -1], np.int64)  # see `native.indexing`
        self._offsets, self._times = list[bytes | bytearray](), list[bytes | bytearray]()

    def add(self, rows: Batches) -> None:
        """Add batches, right behind those before."""
        count = len(rows)
        if not count:
            return
        offsets, times = bytearray(count * OffsetIndex.entry_size), bytearray(count * TimeIndex.entry_size)
        made, timed = kernels.index_entries(rows, count, self._base, self._interval, self._progress, offsets, times)
        self._offsets.append(offsets[: made * OffsetIndex.entry_size])
        self._times.append(times[: timed * TimeIndex.entry_size])
        self._end = int(rows["position"][-1]) + int(rows["size"][-1])

    def finish(self, transactions: bytes) -> Indexes:
        """The files; the largest timestamp gets its entry at the end."""
        _, largest, largest_offset, last_time = self._progress.tolist()
        if largest > last_time:
            self._times.append(TimeIndex.fields.pack(largest, largest_offset - self._base))
        return Indexes(b"".join(self._offsets), b"".join(self._times), transactions, self._end)
