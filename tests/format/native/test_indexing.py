"""Entries of rebuilt indexes: compiled and uncompiled they are the same, whatever batches say. `log/test_rebuilding`
compares them with a naive model."""

import numpy as np
import pytest

from kafkafs.format import kernels
from kafkafs.format.batch import BATCH, Batches
from kafkafs.format.native import indexing

ANY = np.iinfo(np.int64)


def rows(seed: int) -> Batches:
    """Batches one behind the other, with any offsets and times."""
    chance, found = np.random.default_rng(seed), np.zeros(60, BATCH)
    found["size"] = chance.integers(61, 9000, len(found))
    found["position"] = np.cumsum(found["size"]) - found["size"]
    found["last_offset"] = chance.integers(ANY.min, ANY.max, len(found))
    found["max_timestamp"] = chance.choice([ANY.min, -1, 0, 1, 2**40, ANY.max, *range(2, 60)], len(found))
    return found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("interval", [0, 4096, 2**31 - 1])
def test_compiled_and_uncompiled_it_is_the_same(seed: int, interval: int) -> None:
    """In one call, and in several that go on with each other's progress."""
    batches, said = rows(seed), []
    for index_entries in (kernels.index_entries, indexing.index_entries):
        for step in (60, 7):
            progress, offsets, times = np.array([0, -1, -1, -1], np.int64), b"", b""
            for first in range(0, len(batches), step):
                part = batches[first : first + step]
                room = bytearray(8 * len(part)), bytearray(12 * len(part))
                made, timed = index_entries(part, len(part), 2**62, interval, progress, *room)
                offsets, times = offsets + room[0][: 8 * made], times + room[1][: 12 * timed]
            said.append((offsets, times, progress.tolist()))
    assert said.count(said[0]) == 4
    assert interval > 4096 or len(said[0][0]) > 80
