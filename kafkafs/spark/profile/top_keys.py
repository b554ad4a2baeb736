"""The keys that take the most bytes, of a segment and added up.

The table is bounded: a key is known by a hash of 64 bits and shown by its first bytes, and of each piece of a log only
the heaviest are taken over. So the sums are lower bounds, and true for a key that is heavy everywhere.
"""

from typing import NamedTuple

import numpy as np

from kafkafs.format import kernels
from kafkafs.format.records import Records

KEPT = 512
_SHOWN = 64
_SEED = np.zeros(2, np.int64)


class HeavyKey(NamedTuple):
    """A key's first bytes, how many records it has, and their bytes."""

    shown: bytes
    records: int
    size: int


class TopKeys:
    """The heaviest keys so far, by hash."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: dict[int, HeavyKey] = {}

    def heaviest(self, count: int) -> list[HeavyKey]:
        """So many at most, the heaviest first; of equals the smaller key."""
        return sorted(self._found.values(), key=lambda each: (-each.size, each.shown))[:count]

    def add(self, other: "TopKeys") -> None:
        """Adds those of another segment."""
        for hashed, key in other._found.items():
            self._put(hashed, key)
        self._prune()

    def take(self, piece: Records, sizes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        """Adds a piece of a log; `sizes` are its records' bytes."""
        hashes = _hashes(piece)
        if hashes is None or not len(hashes):
            return
        keyed = np.flatnonzero(piece.rows["key_size"] >= 0)
        found, first, which = np.unique(hashes, return_index=True, return_inverse=True)
        records, summed = np.bincount(which), np.bincount(which, sizes[keyed])
        for at in np.argsort(-summed, kind="stable")[:KEPT].tolist():
            shown = bytes(piece.key(int(keyed[first[at]])) or b"")[:_SHOWN]
            self._put(int(found[at]), HeavyKey(shown, int(records[at]), int(summed[at])))
        self._prune()

    def _put(self, hashed: int, key: HeavyKey) -> None:
        known = self._found.get(hashed)
        if known is not None:
            key = HeavyKey(known.shown, known.records + key.records, known.size + key.size)
        self._found[hashed] = key

    def _prune(self) -> None:
        if len(self._found) > 2 * KEPT:
            ranked = sorted(self._found.items(), key=lambda item: -item[1].size)
            self._found = dict(ranked[:KEPT])


def _hashes(piece: Records) -> np.ndarray[tuple[int], np.dtype[np.int64]] | None:
    """Of each key, in order; None where the offsets lie too far apart for the kernel, as in no real piece."""
    table = np.ascontiguousarray(piece.rows)
    rows, hashes = np.empty(len(table), np.int64), np.empty(len(table), np.int64)
    base = int(table["offset"].min())
    made = kernels.hash_keys(table, len(table), piece.data, _SEED, base, rows, hashes)
    return None if made < 0 else hashes[:made]
