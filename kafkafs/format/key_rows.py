"""Keys of many records as sorted numbers, eight bytes a key: what key indexes hold, in memory and on disk.

A row is an int64: 31 bits of the key's SipHash-1-3 under a random seed, then the record's offset less a base in 32
bits. Of a key that comes more than once only the last record has a row. Rows are hints: two keys may share 31 bits, so
the finder of a row compares the record's own key. What tells keys apart while rows are made are 64 more bits of the
same hash, the checks; with a seed that was secret before, no producer can make two keys alike.
"""

import os
from typing import NamedTuple

import numpy as np

from kafkafs.errors import CorruptData
from kafkafs.format import kernels
from kafkafs.format.records import Records

Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]
SEED_SIZE = 16
_BUCKETS = 1 << 11
_FEW = 1 << 18
"""Records that are collected before they are sorted; where more keys are known already, as many as those."""


def new_seed() -> bytes:
    """A seed that was not known before."""
    return os.urandom(SEED_SIZE)


class KeyRows(NamedTuple):
    """Ascending rows, a check beside each, and what their offsets count from."""

    rows: Numbers
    checks: Numbers
    seed: bytes
    base: int


class KeyCollector:
    """Makes rows of records that come in the order of their offsets, in memory for the different keys."""

    def __init__(self, base: int, seed: bytes) -> None:
        """`base`: offsets are counted from it, and none is more than 2**32 behind it."""
        self._base, self._seed = base, seed
        self._settled = _nothing()
        self._pending = np.empty((2, _FEW), np.int64)
        self._count = 0

    @property
    def count(self) -> int:
        """Rows at most."""
        return len(self._settled[0]) + self._count

    def add(self, records: Records) -> None:
        """The keys of more records. CorruptData where an offset is too far from the base."""
        if self._count + len(records) > self._pending.shape[1]:
            self._settle()
            self._pending = np.empty((2, max(_FEW, len(records), len(self._settled[0]))), np.int64)
        rows, checks = self._pending[0, self._count :], self._pending[1, self._count :]
        table = np.ascontiguousarray(records.rows)
        made = kernels.hash_keys(table, len(table), records.data, self._seed, self._base, rows, checks)
        if made < 0:
            raise CorruptData(f"an offset is more than 32 bits behind the segment's base offset {self._base}")
        self._count += made

    def finish(self) -> KeyRows:
        """The rows of all records so far."""
        self._settle()
        return KeyRows(*self._settled, self._seed, self._base)

    def _settle(self) -> None:
        if self._count:
            rows, checks = self._pending[0, : self._count], self._pending[1, : self._count]
            self._settled = _settled(self._settled, (rows, checks))
            self._count = 0


def merged(earlier: KeyRows, later: KeyRows) -> KeyRows:
    """The rows of both, of the same seed and base; the records of one all stand before those of the other."""
    rows, checks = _settled((earlier.rows, earlier.checks), (later.rows, later.checks))
    return KeyRows(rows, checks, earlier.seed, earlier.base)


def _nothing() -> tuple[Numbers, Numbers]:
    return np.empty(0, np.int64), np.empty(0, np.int64)


def _settled(earlier: tuple[Numbers, Numbers], later: tuple[Numbers, Numbers]) -> tuple[Numbers, Numbers]:
    """Rows and checks of both, sorted, each key once."""
    rows, checks = (np.concatenate(pair) for pair in zip(earlier, later, strict=True))
    assert len(rows) == len(checks)  # the kernel would write behind them
    spare_rows, spare_checks, counts = np.empty_like(rows), np.empty_like(checks), np.empty(_BUCKETS, np.int64)
    kept = kernels.settle_keys(rows, checks, spare_rows, spare_checks, counts)
    return spare_rows[:kept].copy(), spare_checks[:kept].copy()


def matching(records: Records, key: bytes) -> Numbers:
    """The numbers of the records that have just this key."""
    table, found = np.ascontiguousarray(records.rows), np.empty(len(records), np.int64)
    made = kernels.match_keys(table, len(table), records.data, key, found)
    return found[:made]


def hashed(key: bytes, seed: bytes) -> int:
    """The 31 bits of a key."""
    return kernels.hash_key(key, seed)
