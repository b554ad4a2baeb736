"""The kept parts of one segment, as they grow: ranges of its log, rewritten batches, and the indexes of both."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from kafkafs.disk.data_file import DataFile
from kafkafs.errors import DiskError, Vanished
from kafkafs.format.batch import walk
from kafkafs.format.producer_snapshot import ProducerState
from kafkafs.format.tables import copied
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.rebuilding import Indexes, Rebuilding
from kafkafs.log.segment import Segment
from kafkafs.log.transaction_events import Tracker

Kept = Callable[[int, bytes | memoryview], None]
"""Gets the base offset of the new segment, and the bytes that are kept, in order, as they are read."""


def keep_nothing(base_offset: int, data: bytes | memoryview) -> None:
    """Do nothing, for a scan whose indexes and counts are enough."""


@dataclass(frozen=True, slots=True)
class Borrowed:
    """Bytes of another replica's log."""

    file: DataFile
    position: int
    size: int


Piece = tuple[int, int] | bytes | Borrowed
"""Position and size of bytes in a log, or bytes that are not from there."""


def size_of(piece: Piece) -> int:
    """The size of a piece in bytes."""
    return piece.size if isinstance(piece, Borrowed) else len(piece) if isinstance(piece, bytes) else piece[1]


def log_size(segment: Segment) -> int:
    """Bytes of its log, as it was on a broker's disk. The size of a remote segment that cannot be read is 0. The scan
    finds its damage."""
    with suppress(DiskError, Vanished):
        return segment.files.log_seen[0]
    return 0


@dataclass(frozen=True, slots=True)
class KeptSegment:
    """The kept parts of a segment: pieces in order, and the indexes of the whole. Or what another replica has between
    it and the next one.

    `base_offset`: of the new segment. `producers`: those that a broker recorded where it begins; None if it did not.
    """

    base_offset: int
    segment: Segment
    pieces: tuple[Piece, ...]
    indexes: Indexes
    producers: tuple[ProducerState, ...] | None

    @property
    def is_own(self) -> bool:
        """True if the piece belongs to the segment itself."""
        return self.base_offset == self.segment.base_offset

    @property
    def size(self) -> int:
        """Bytes that are kept."""
        return sum(map(size_of, self.pieces))


class KeptParts:
    """The kept parts of one segment, as they grow. `pieces` are the pieces until now."""

    def __init__(
        self,
        segment: Segment,
        base_offset: int,
        interval: int,
        transactions: Tracker,
        kept: Kept = keep_nothing,
        producers: tuple[ProducerState, ...] | None = None,
    ) -> None:
        """`base_offset`: of the new segment. `interval`: index.interval.bytes. `transactions`: those open where the
        segment begins. `producers`: those that a broker recorded there."""
        self.segment, self.base_offset, self.pieces = segment, base_offset, list[Piece]()
        self._interval, self._transactions, self._kept, self._producers = interval, transactions, kept, producers
        self._rebuilding, self._size = Rebuilding(base_offset, interval, transactions), 0

    def begin_segment(self, base_offset: int) -> "KeptParts":
        """Return the parts of a further new segment, which another replica has behind this one."""
        return KeptParts(self.segment, base_offset, self._interval, self._transactions, self._kept)

    def add(self, run: BatchRun, borrowed_from: DataFile | None = None) -> None:
        """A run of the segment's batches goes in, or one of another replica's file. DiskError if the indexes could
        not lead there."""
        first, size = int(run.rows["position"][0]), run.end - int(run.rows["position"][0])
        data = run.data[first - run.position : run.end - run.position]
        moved = first - self._size
        if moved:  # something before it was left out
            rows = copied(run.rows)
            rows["position"] -= moved
            run = BatchRun(run.data, run.position - moved, rows)
        last = self.pieces[-1] if self.pieces else b""
        self._index(run)
        if borrowed_from is not None:
            self.pieces.append(Borrowed(borrowed_from, first, size))
        elif isinstance(last, tuple) and sum(last) == first:
            self.pieces[-1] = last[0], last[1] + size
        else:
            self.pieces.append((first, size))
        self._size += size
        self._kept(self.base_offset, data)

    def make(self, batch: bytes) -> BatchRun:
        """A batch that is not from the segment goes in: as a run."""
        run = BatchRun(batch, self._size, walk(batch, self._size).rows)
        self._index(run)
        self.pieces.append(batch)
        self._size += len(batch)
        self._kept(self.base_offset, batch)
        return run

    def finish(self) -> KeptSegment:
        """The result; called once."""
        indexes = self._rebuilding.finish()
        return KeptSegment(self.base_offset, self.segment, tuple(self.pieces), indexes, self._producers)

    def _index(self, run: BatchRun) -> None:
        if self._rebuilding.add(run) is not run:
            raise DiskError("offsets that are too far from their segment's base offset")
