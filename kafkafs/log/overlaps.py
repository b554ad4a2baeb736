"""Batches whose records go beyond the last offset that their header states: a table of them, and what it hides.

Old clients (sarama before 1.18) left the last offset delta at 0. Such a batch is sound, and Kafka's consumer takes each
offset from the first batch that has it. `visible` finds them in a log.
"""

from typing import NamedTuple

import numpy as np

from kafkafs.format.batch import Batches
from kafkafs.format.records import Records

Offsets = np.ndarray[tuple[int], np.dtype[np.int64]]


class Overlaps(NamedTuple):
    """Of batches that reach too far, in order: position, first offset, last one as the header states it, and last one
    held. `reaches` only rises: up to where this batch and those before it hold offsets.
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
        """Those that a reader gets who begins at `offset`, the log start: a fetch asks for no batch that ends below."""
        first = int(self.lasts.searchsorted(offset))
        return overlaps_of(*(column[first:] for column in self[:-1])) if first else self

    def floors(self, bases: Offsets) -> Offsets:
        """For batches with these first offsets, the largest offset in those before them; -1 for none."""
        return np.concatenate(([-1], self.reaches))[np.searchsorted(self.bases, bases)]

    def begin(self, offset: int) -> int:
        """The first offset of the first batch that reaches `offset`; `offset` itself where none before it does."""
        row = int(self.reaches.searchsorted(offset))
        return min(offset, int(self.bases[row])) if row < len(self.bases) else offset


def overlaps_of(positions: Offsets, bases: Offsets, lasts: Offsets, held: Offsets) -> Overlaps:
    """The table of these columns."""
    return Overlaps(positions, bases, lasts, held, np.maximum.accumulate(held))


NONE = overlaps_of(*(np.empty(0, np.int64) for _ in range(4)))


class Known(NamedTuple):
    """What was found up to a position of a segment's log; the next batch begins at or behind `next_offset`."""

    end: int
    next_offset: int
    overlaps: Overlaps


def reaches_beyond(piece: Records, rows: Batches) -> bool:
    """Whether the piece, decoded from `rows`, is of a batch that goes beyond its last offset. Such have their own."""
    last = piece.rows[-1]
    return bool(last["offset"] > rows["last_offset"][last["batch"]])


def fresh(piece: Records, rows: Batches, overlaps: Overlaps) -> Records:
    """The records, decoded from `rows`, of which no batch before has the offset."""
    floors = overlaps.floors(rows["base_offset"])[piece.rows["batch"]]
    is_first = piece.rows["offset"] > floors
    return piece if is_first.all() else Records(piece.data, piece.rows[is_first])
