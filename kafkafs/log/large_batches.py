"""Large batches: those that are known to be sound, and a check of their CRC that takes little memory."""

from collections.abc import Iterator
from typing import NamedTuple

from kafkafs.disk.blocking import may_block
from kafkafs.disk.data_file import DataFile
from kafkafs.errors import Vanished
from kafkafs.format.batch import Batch, crc_holds_in
from kafkafs.format.bounded import BoundedDict

IN_PIECES = 16 << 20
"""A batch larger than this, of which nothing but the header is needed, is checked in pieces of a megabyte."""

PIECE = 1 << 20

_LARGEST_CANDIDATE = 64 << 20
"""A candidate larger than this is not believed: checking thousands of them would take minutes."""


class SoundBatches(NamedTuple):
    """Large batches of one segment in one state that a lookup found sound when it passed them. The next lookup reads
    only their headers. (Without this a point in batches of 850 KB takes twice as long.)

    Other segments share `known`. A key has the segment's generation, which changes with its log, and a position.
    """

    generation: int
    known: BoundedDict[int, None]

    def has(self, position: int) -> bool:
        """True if the batch at that position was found sound, and has not been forgotten."""
        return self.generation << 32 | position in self.known

    def add(self, position: int) -> None:
        """Remember that batch."""
        self.known.remember(self.generation << 32 | position, None)


def pieces(file: DataFile, batch: Batch) -> Iterator[memoryview]:
    """The bytes of a batch, in pieces."""
    may_block()
    for position in range(batch.position, batch.end, PIECE):
        size = min(PIECE, batch.end - position)
        data = file.read_long(position, size)
        if len(data) < size:
            raise Vanished(f"{file.name!r} became shorter while it was read")
        yield data


def whole_batch(file: DataFile, batch: Batch, end: int) -> bool:
    """True if the batch is before `end` and its CRC holds."""
    if batch.end > end or batch.size > _LARGEST_CANDIDATE:
        return False
    return crc_holds_in(batch, pieces(file, batch))
