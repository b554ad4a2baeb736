"""What two replicas hold at the same offsets: whole batches by their headers, and records where batches differ.

A follower appends its leader's batches byte for byte, leader epoch too (ReplicaManager, UnifiedLog.appendAsFollower);
what the cleaner of one broker rewrote keeps of each record that is left its offset, timestamp, key, value, headers and
leader epoch (MemoryRecords.filterTo).
"""

import numpy as np

from kafkafs.format import kernels
from kafkafs.format.batches import Batches, Flags
from kafkafs.format.columns import Records

_HEADER = ("base_offset", "last_offset", "crc", "leader_epoch")


def unlike(one: Batches, other: Batches) -> tuple[Flags, Flags]:
    """Of two tables in offset order, which rows have no equal in the other one: offsets, CRC and leader epoch."""
    if not len(one) or not len(other):
        return np.ones(len(one), np.bool_), np.ones(len(other), np.bool_)
    beside = np.minimum(np.searchsorted(other["base_offset"], one["base_offset"]), len(other) - 1)
    equal = np.ones(len(one), np.bool_)
    for name in _HEADER:
        equal &= one[name] == other[name][beside]
    alone = np.ones(len(other), np.bool_)
    alone[beside[equal]] = False
    return ~equal, alone


def overlapping(one: Batches, first: "np.ndarray[tuple[int], np.dtype[np.int64]]", last: object) -> Flags:
    """Which rows own an offset that one of the ranges [first, last] owns; these in order, and apart from each other."""
    lasts = np.asarray(last, np.int64)
    if not len(first):
        return np.zeros(len(one), np.bool_)
    beside = np.searchsorted(lasts, one["base_offset"])  # the first range that ends at or behind the row's beginning
    found = beside < len(lasts)
    return found & (first[np.minimum(beside, len(lasts) - 1)] <= one["last_offset"])


def unlike_record(one: Records, one_batches: Batches, other: Records, other_batches: Batches) -> int | None:
    """The offset of the first record that both hold, and not alike; what only one holds is passed over."""
    tables = [np.ascontiguousarray(each) for each in (one.rows, one_batches, other.rows, other_batches)]
    rows, batches, other_rows, beside = tables
    found = kernels.unlike_record(rows, len(one), one.data, batches, other_rows, len(other), other.data, beside)
    return None if found < 0 else int(one.rows["offset"][found])
