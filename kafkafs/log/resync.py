"""Where a log takes up again behind invalid bytes: the search for the next whole batch that a caller accepts.

The entry's own size is tried first, since most damage leaves it alone. After that every position is a candidate; holes
of a preallocated file are skipped, and four strided views of a window test each of its positions at once.
"""

from collections.abc import Callable, Iterator

import numpy as np

from kafkafs.disk.blocking import may_block
from kafkafs.disk.data_file import DataFile
from kafkafs.format.batch import FRAME_SIZE, LARGEST_HEADER, SMALLEST, Batch, crc_holds, parse_batch

_WINDOW = 1 << 20
_LOOKED_AT = 20
"""Bytes from a position on that tell whether a batch may begin there: five words, the last one with the magic."""

_CRC_AT_ONCE = 64 << 20
"""A candidate larger than this is not believed: checking it would take the memory of its size."""


def next_valid(file: DataFile, position: int, end: int, accept: Callable[[Batch], bool]) -> Batch | None:
    """The first batch behind `position` that `accept` takes; None where there is none before `end`."""
    may_block()
    here = parse_batch(file.read(position, min(LARGEST_HEADER, end - position)), 0, position)
    if here is not None and here.end < end:
        behind = parse_batch(file.read(here.end, min(LARGEST_HEADER, end - here.end)), 0, here.end)
        if behind is not None and accept(behind):
            return behind
    for candidate in _candidates(file, position + 1, end):
        if accept(candidate):
            return candidate
    return None


def whole_batch(file: DataFile, batch: Batch, end: int) -> bool:
    """Whether the batch lies before `end` and its CRC holds."""
    if batch.end > end or batch.size > _CRC_AT_ONCE:
        return False
    return crc_holds(batch, file.read_long(batch.position, batch.size))


def _candidates(file: DataFile, position: int, end: int) -> Iterator[Batch]:
    """Headers that can be true and whose batch would end in time, in file order."""
    while (position := file.next_data(position)) < end - FRAME_SIZE:
        window = file.read(position, min(_WINDOW + LARGEST_HEADER, end - position))
        if len(window) < FRAME_SIZE:
            return  # the log was cut meanwhile
        for at in _likely(window[: _WINDOW + _LOOKED_AT - 1]):
            header = parse_batch(window, at, position + at)
            if header is None and len(window) - at < LARGEST_HEADER:
                header = parse_batch(file.read(position + at, LARGEST_HEADER), 0, position + at)
            if header is not None and header.end <= end:
                yield header
        position += _WINDOW


def _likely(window: bytes) -> list[int]:
    """Positions in the window at which offset, size and magic are possible at all, ascending."""
    found = []
    for phase in range(4):
        words = np.frombuffer(window, ">u4", (len(window) - phase) // 4, phase).astype(np.int64)
        if len(words) < 5:
            continue
        high, size, magic = words[:-4], words[2:-2], words[4:] >> 24
        possible = (high < 2**31) & (magic <= 2) & (size >= SMALLEST[0] - 12) & (size < 2**31)
        found.append(np.flatnonzero(possible) * 4 + phase)
    return [] if not found else sorted(int(at) for at in np.concatenate(found))
