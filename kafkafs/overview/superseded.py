"""Bytes of records that a later record with the same key replaces, in bounded memory however many keys there are.

Keys are known by 63 bits of a hash. If there are more of them than may be remembered, only those in the lower half of
the hashes are counted, and another pass over the log takes the rest; and so on, by as many passes as it takes.
"""

import numpy as np

from kafkafs.format.key_index import key_hashes, new_seed
from kafkafs.format.records import Records
from kafkafs.format.tables import Numbers

MOST_KEYS = 1 << 22
"""Keys that are remembered, at 24 bytes each; while they are put in order, there is room for three times as much."""
_PENDING = 1 << 18
_SEED = new_seed()
_LAST = 2**63 - 1


def hashes_of(records: Records) -> Numbers:
    """A number of 63 bits for each record that has a key, in their order."""
    return key_hashes(records, _SEED)[1] & np.int64(_LAST)


class Superseded:
    """Takes the hashes and sizes of records in the order of offsets. `size`: the replaced bytes of finished passes."""

    def __init__(self, most: int = MOST_KEYS) -> None:
        self.size = 0
        self._most = most
        self._first, self._last = 0, _LAST  # the hashes that this pass counts
        self._waiting: list[tuple[Numbers, Numbers]] = []
        self._count = 0
        self._begin()

    def _begin(self) -> None:
        self._keys, self._newest, self._sums = (np.empty(0, np.int64) for _ in range(3))

    def add(self, hashes: Numbers, sizes: Numbers) -> None:
        """Takes more records."""
        if self._first or self._last < _LAST:
            wanted = (hashes >= self._first) & (hashes <= self._last)
            hashes, sizes = hashes[wanted], sizes[wanted]
        self._waiting.append((hashes, sizes))
        self._count += len(hashes)
        if self._count >= max(_PENDING, len(self._keys) // 4):
            self._settle()

    def finish(self) -> bool:
        """Ends a pass. True if another one is needed: then all records have to come once more, in the same order."""
        self._settle()
        self.size += int(self._sums.sum() - self._newest.sum())
        self._begin()
        if self._last == _LAST:
            return False
        self._first, self._last = self._last + 1, _LAST
        return True

    def _settle(self) -> None:
        """Adds what waits: of each key the size of its last record, and of all of them together."""
        keys = np.concatenate([self._keys, *(hashes for hashes, _ in self._waiting)])
        sizes = [sizes for _, sizes in self._waiting]
        newest, sums = np.concatenate([self._newest, *sizes]), np.concatenate([self._sums, *sizes])
        self._waiting, self._count = [], 0
        if not len(keys):
            return
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        is_first = np.append(True, keys[1:] != keys[:-1])
        firsts = np.flatnonzero(is_first)
        lasts = np.append(firsts[1:], len(keys)) - 1
        self._keys, self._newest, self._sums = keys[firsts], newest[order][lasts], np.add.reduceat(sums[order], firsts)
        if len(self._keys) > self._most > 1:
            half = self._most // 2
            self._last = int(self._keys[half]) - 1  # the rest is for another pass
            self._keys, self._newest, self._sums = self._keys[:half], self._newest[:half], self._sums[:half]
