"""Find the place where a log goes on behind invalid bytes: the next batch that may count.

The entry's own size is tried first, since most damage leaves it alone. After that every position is a candidate.
"""

from collections.abc import Callable, Iterator

import numpy as np

from kafkafs.disk.blocking import may_block
from kafkafs.disk.data_file import DataFile
from kafkafs.format.batch import FRAME_SIZE, LARGEST_HEADER, LOG_OVERHEAD, SMALLEST, Batch, is_plausible, parse_batch

WINDOW = 1 << 20
_LOOKED_AT = 20
"""Bytes from a position on that tell whether a batch may begin there: five words, the last one with the magic."""


def next_valid(file: DataFile, position: int, end: int, accept: Callable[[Batch], bool]) -> Batch | None:
    """The first batch behind `position` that `accept` takes; None if there is no such batch before `end`."""
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


def _candidates(file: DataFile, position: int, end: int) -> Iterator[Batch]:
    """Headers that can be true and whose batch would end in time, in file order. Holes of a preallocated file are
    skipped."""
    while (position := file.next_data(position)) < end - FRAME_SIZE:
        window = file.read(position, min(WINDOW + LARGEST_HEADER, end - position))
        if len(window) < FRAME_SIZE:
            return  # the log was cut meanwhile
        for at in _likely(window[: WINDOW + _LOOKED_AT - 1], end - position):
            data, start = window, at
            if len(window) - at < LARGEST_HEADER:
                data, start = file.read(position + at, LARGEST_HEADER), 0
            header = parse_batch(data, start, position + at)
            if header is not None and header.end <= end and is_plausible(header, data, start):
                yield header
        position += WINDOW


def _likely(window: bytes, longest: int) -> list[int]:
    """Positions in the window at which offset, magic and a size of at most `longest` are possible at all, ascending.
    Four strided views test each position at once."""
    found, limit = [], min(longest - LOG_OVERHEAD, 2**31 - 1)
    for phase in range(4):
        words = np.frombuffer(window, ">u4", (len(window) - phase) // 4, phase).astype(np.int64)
        if len(words) < 5:
            continue
        high, size, magic = words[:-4], words[2:-2], words[4:] >> 24
        possible = (high < 2**31) & (magic <= 2) & (size >= SMALLEST[0] - LOG_OVERHEAD) & (size <= limit)
        found.append(np.flatnonzero(possible) * 4 + phase)
    return [] if not found else sorted(int(at) for at in np.concatenate(found))
