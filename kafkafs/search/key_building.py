"""Making the key index of one closed segment, as `kafkafs reindex --keys` does for each.

It serves both isolation levels: of a key that has aborted records the last record of all has a row, and the last one
that was not aborted. What is not settled yet, and what cannot be read as a whole, has no index: lookups scan it.
"""

from collections.abc import Iterator

import numpy as np

from kafkafs.errors import CorruptData
from kafkafs.format.batch import is_transactional
from kafkafs.format.key_index import Identity, encode
from kafkafs.format.key_rows import KeyCollector, Numbers, new_seed
from kafkafs.format.records import Refusal
from kafkafs.log.batch_runs import BatchRun, Damage
from kafkafs.log.log import Log
from kafkafs.log.options import ReadOptions
from kafkafs.log.segment import Segment
from kafkafs.log.transactions import OpenTransactions
from kafkafs.log.visible import Visible


def build(log: Log, segment: Segment, identity: Identity, transactions: OpenTransactions) -> bytes | None:
    """The file for a closed segment of that identity; None where lookups have to scan it. Vanished if it changes."""
    if segment.next_base is None or Visible(log, _COMMITTED, transactions).end < segment.next_base:
        return None
    seed = new_seed()
    try:
        rows, has_transactions = _rows(Visible(log, ReadOptions(), transactions), segment, seed)
        if has_transactions:
            committed, _ = _rows(Visible(log, _COMMITTED, transactions), segment, seed)
            rows = np.unique(np.concatenate((rows, committed)))
    except CorruptData:
        return None
    return encode(rows, seed, identity)


_COMMITTED = ReadOptions(isolation="read_committed")


def _rows(visible: Visible, segment: Segment, seed: bytes) -> tuple[Numbers, bool]:
    """The rows of the segment's visible records, and whether it has transactions.

    CorruptData where there is something that cannot be read.
    """
    assert segment.next_base is not None
    collector, has_transactions, end = KeyCollector(segment.base_offset, seed), False, segment.next_base
    for holder, item in _runs(visible, segment.base_offset, end):
        has_transactions = has_transactions or bool(is_transactional(item.rows).any())
        for piece in visible.decoded(holder, item):
            if isinstance(piece, Refusal):
                raise CorruptData(str(piece.error))
            collector.add(piece.between(segment.base_offset, end))
    return collector.finish().rows, has_transactions


def _runs(visible: Visible, start: int, end: int) -> Iterator[tuple[Segment, BatchRun]]:
    for holder, item in visible.batches(start, end):
        if isinstance(item, Damage):
            raise CorruptData(f"{item.size} bytes at position {item.position} are no valid batch")
        yield holder, item
