"""The transaction index: transactions that were aborted. Sources: TransactionIndex, AbortedTxn.

    int16  version, 0
    int64  producer id
    int64  first offset of the transaction's data
    int64  last offset: that of its abort marker, which lies in this segment
    int64  last stable offset when the marker was written

Appended in marker order and never preallocated; a cut entry at the end does not count.
"""

from dataclasses import dataclass

import numpy as np

from kafkafs.errors import CorruptData

DTYPE = np.dtype(
    [("version", ">i2"), ("producer_id", ">i8"), ("first", ">i8"), ("last", ">i8"), ("last_stable", ">i8")]
)
ENTRY_SIZE = DTYPE.itemsize


@dataclass(frozen=True, slots=True)
class AbortedTransaction:
    """One entry: the data of `producer_id` from `first_offset` up to the marker at `last_offset` counts for nothing."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def parse_transaction_index(data: bytes, base_offset: int) -> tuple[AbortedTransaction, ...]:
    """All entries in file order; CorruptData where one cannot be true."""
    rows = np.frombuffer(data, DTYPE, len(data) // ENTRY_SIZE)
    entries = tuple(
        AbortedTransaction(int(row["producer_id"]), int(row["first"]), int(row["last"]), int(row["last_stable"]))
        for row in rows
    )
    before = base_offset - 1
    for slot, (entry, version) in enumerate(zip(entries, rows["version"].tolist(), strict=True)):
        if version != 0:
            raise CorruptData(f"entry {slot} has version {version}, and only 0 is known")
        if not (before < entry.last_offset and entry.first_offset <= entry.last_offset):
            raise CorruptData(f"entry {slot} is out of order: {entry.first_offset} to {entry.last_offset}")
        before = entry.last_offset
    return entries
