"""Two logs side by side, as columns: which batches and records are alike at one offset, and what a record hashes to.

Two records are alike if timestamp, key, value and headers are equal. Null differs from empty. Borders of batches,
codecs, leader epochs and the type of the timestamp do not count.
"""

from collections.abc import Sequence

import numpy as np

from kafkafs.format import kernels
from kafkafs.format.batch import Batches
from kafkafs.format.native.layout import RECORD_ALONE as ALONE
from kafkafs.format.native.layout import RECORD_SAME as SAME
from kafkafs.format.native.layout import RECORD_UNLIKE as UNLIKE
from kafkafs.format.records import Records
from kafkafs.format.tables import Flags

__all__ = ["ALONE", "HASH", "SAME", "UNLIKE", "Hashes", "Marks", "content_hashes", "marks", "unlike"]

Marks = np.ndarray[tuple[int], np.dtype[np.uint8]]
"""A byte for each record: `ALONE`, `SAME` or `UNLIKE`."""

HASH = np.dtype([("first", "u8"), ("second", "u8")])
"""128 bits, by SipHash under a seed."""

Hashes = np.ndarray[tuple[int], np.dtype[np.void]]
"""A table of dtype `HASH`."""


def unlike(one: Batches, other: Batches, fields: Sequence[str]) -> tuple[Flags, Flags]:
    """Return masks of the rows of two tables in offset order that have no equal in the other one. Rows are equal if
    these fields of the header are, `base_offset` among them."""
    if not len(one) or not len(other):
        return np.ones(len(one), np.bool_), np.ones(len(other), np.bool_)
    beside = np.minimum(np.searchsorted(other["base_offset"], one["base_offset"]), len(other) - 1)
    equal = np.ones(len(one), np.bool_)
    for name in fields:
        equal &= one[name] == other[name][beside]
    alone = np.ones(len(other), np.bool_)
    alone[beside[equal]] = False
    return ~equal, alone


def marks(one: Records, other: Records) -> tuple[Marks, Marks]:
    """Return a mark for each record of either side. Both sides are in the order of offsets, without a repeated one."""
    tables = np.ascontiguousarray(one.rows), np.ascontiguousarray(other.rows)
    found = np.empty(len(one), np.uint8), np.empty(len(other), np.uint8)
    kernels.mark_records(tables[0], len(one), one.data, tables[1], len(other), other.data, *found)
    return found


def content_hashes(records: Records, seed: bytes) -> Hashes:
    """Return a hash of timestamp, key, value and headers for each record. `seed` has 16 bytes."""
    found = np.empty(len(records), HASH)
    kernels.hash_contents(np.ascontiguousarray(records.rows), len(records), records.data, seed, found)
    return found
