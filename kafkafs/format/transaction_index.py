"""A segment's index of transactions that were aborted. Sources: TransactionIndex, AbortedTxn

    int16  version, 0
    int64  producer id
    int64  first offset of the transaction's data
    int64  last offset: that of its abort marker, which is in this segment
    int64  last stable offset when the marker was written

Kafka appends entries in the order of markers, and preallocates nothing. A cut entry at the end does not count.
"""

from dataclasses import dataclass

import numpy as np

from kafkafs.errors import CorruptData

ABORTED = np.dtype(
    [("version", ">i2"), ("producer_id", ">i8"), ("first", ">i8"), ("last", ">i8"), ("last_stable", ">i8")]
)
ABORTED_SIZE = ABORTED.itemsize


@dataclass(frozen=True, slots=True)
class AbortedTransaction:
    """One entry: the data of `producer_id` from `first_offset` up to the marker at `last_offset` counts for nothing."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def parse_transaction_index(data: bytes, base_offset: int) -> tuple[AbortedTransaction, ...]:
    """All entries in file order; CorruptData if one cannot be true."""
    rows = np.frombuffer(data, ABORTED, len(data) // ABORTED_SIZE)
    firsts, lasts, versions = rows["first"], rows["last"], rows["version"]
    before = np.append(np.int64(base_offset - 1), lasts)[: len(rows)]
    corrupt = np.flatnonzero((versions != 0) | (before >= lasts) | (firsts > lasts))
    for slot in corrupt[:1].tolist():  # looked for before objects are made of what a file of any size says
        if versions[slot] != 0:
            raise CorruptData(f"entry {slot} has version {versions[slot]}, and only 0 is known")
        raise CorruptData(f"entry {slot} is out of order: {firsts[slot]} to {lasts[slot]}")
    return tuple(AbortedTransaction(*row[1:]) for row in rows.tolist())
