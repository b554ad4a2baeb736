"""Offsets that headers do not tell: batches whose records go beyond the last one that is stated, and
what they hide; and the first offset of a compressed message.

Old clients (sarama before 1.18) left the last offset delta at 0. Such a batch is sound, and Kafka's consumer takes each
offset from the first batch that has it. `visible` finds them in a log.

Compressed messages of formats v0 and v1 state their last offset only: their first one takes unpacking. It is asked for
where it decides: whether a message reaches into a range, and which offsets a corrupt neighbour owns.
"""

from bisect import bisect_left
from typing import NamedTuple

import numpy as np

from kafkafs.disk.data_file import DataFile
from kafkafs.format.batch import Batch, Batches, is_wrapped, walk
from kafkafs.format.records import Records, Refusal, decode
from kafkafs.format.tables import chosen

Offsets = np.ndarray[tuple[int], np.dtype[np.int64]]


class Overlaps(NamedTuple):
    """The batches that reach too far, in order: position, first offset, last offset by the header, and last offset that
    the batch holds. `reaches` only rises: up to where this batch and those before it hold offsets.
    """

    positions: Offsets
    bases: Offsets
    lasts: Offsets
    held: Offsets
    reaches: Offsets

    def __bool__(self) -> bool:
        return len(self.bases) > 0

    @property
    def reach(self) -> int:
        """The largest offset in them; -1 without any."""
        return int(self.reaches[-1]) if self else -1

    def since(self, offset: int) -> "Overlaps":
        """The overlaps for a reader that begins at `offset`, the log start: a fetch asks for no batch that ends
        below."""
        first = int(self.lasts.searchsorted(offset))
        return overlaps_of(*(column[first:] for column in self[:-1])) if first else self

    def floors(self, bases: Offsets) -> Offsets:
        """For batches with these first offsets, the largest offset in those before them; -1 for none."""
        found, behind = np.full(len(bases), -1, np.int64), self.bases.searchsorted(bases)
        found[behind > 0] = self.reaches[behind[behind > 0] - 1]
        return found

    def start_of(self, offset: int) -> int:
        """The first offset of the first batch that reaches `offset`; `offset` itself where none before it does."""
        row = int(self.reaches.searchsorted(offset))
        return min(offset, int(self.bases[row])) if row < len(self.bases) else offset


def overlaps_of(positions: Offsets, bases: Offsets, lasts: Offsets, held: Offsets) -> Overlaps:
    """The overlaps with these columns."""
    return Overlaps(positions, bases, lasts, held, np.maximum.accumulate(held))


NONE = overlaps_of(*(np.empty(0, np.int64) for _ in range(4)))


class KnownOverlaps(NamedTuple):
    """The batches that were found up to a position of a segment's log. The next batch begins at or behind
    `next_offset`."""

    end: int
    next_offset: int
    overlaps: Overlaps


def fresh(piece: Records, rows: Batches, overlaps: Overlaps) -> Records:
    """The records, decoded from `rows`, of which no batch before has the offset."""
    numbers = piece.rows["batch"]
    if not len(numbers):
        return piece
    first, last = numbers[0], numbers[-1]  # a run may have thousands of rows, and a piece only one of them
    floors = overlaps.floors(rows["base_offset"][first : last + 1])
    is_first = piece.rows["offset"] > floors[numbers - first]
    return piece if is_first.all() else Records(piece.data, chosen(piece.rows, is_first))


_LIMIT = 256 << 20
"""Bytes of memory that the answer may take; beyond it the last offset is used for the first."""


def first_offset(file: DataFile, batch: Batch) -> int:
    """The first offset that the batch holds; the one its header states where that is so, or where nothing better is
    known."""
    return contents(file, batch)[0]


def span(file: DataFile, batch: Batch) -> str:
    """The offsets that the batch holds, for people."""
    return f"{first_offset(file, batch)}..{batch.last_offset}"


def contents(file: DataFile, batch: Batch) -> tuple[int, int]:
    """Return the first offset and the number of records of the batch; from its header if possible."""
    if not batch.is_wrapped:
        return batch.base_offset, batch.count
    data, first, count = file.read(batch.position, batch.size), batch.base_offset, 0
    for piece in decode(data, batch.position, walk(data, batch.position).rows[:1], _LIMIT, file.memory):
        if isinstance(piece, Refusal):
            return batch.base_offset, batch.count
        first = first if count else int(piece.rows["offset"][0])
        count += len(piece)
    return first, count


def overlapping(rows: Batches, start: int, end: int) -> Batches:
    """The rows that may hold offsets in [start, end): of compressed messages at its end one more than surely do."""
    low, high = bisect_left(rows["last_offset"], start), bisect_left(rows["base_offset"], end)
    if high < len(rows) and is_wrapped(rows[high : high + 1])[0]:
        before = int(rows["last_offset"][high - 1]) if high else -1
        high += before < end - 1
    return rows[low:high]
