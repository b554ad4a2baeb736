"""One segment: its identity, if it is closed or growing, or truncated; and the walk over its log. Source: LogSegment.

`segment_files` has its files by kind, `segment_indexes` its indexes. `lookup` answers which record is at an offset or a
time.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count

from kafkafs.disk.data_file import DataFile
from kafkafs.errors import Denied, Lost, Vanished
from kafkafs.format.batch import LARGEST_HEADER, Batch, Batches, batch_at, is_overfull, parse_batch
from kafkafs.log.batch_runs import ANY_SIZE, LONGEST_READ, BatchRun, Bounds, Damage, Start, batch_runs
from kafkafs.log.gaps import Holes
from kafkafs.log.large_batches import SoundBatches
from kafkafs.log.listing import ListedFile
from kafkafs.log.overlaps import KnownOverlaps, contents, overlapping
from kafkafs.log.refetching import Refetches, fetched_again
from kafkafs.log.scattered import scattered_batches
from kafkafs.log.segment_files import Files
from kafkafs.log.segment_indexes import SegmentIndexes

__all__ = ["ANY_OFFSET", "BatchRun", "Damage", "Segment", "batches_of", "is_at_its_place"]

ANY_OFFSET = 2**63 - 1
"""Larger than every offset."""

_generations = count(1)


class Segment:
    """A segment's files, and where the next segment begins (None for the last one, whose log grows).

    The writers: `_seen`, `generation` and `_last_batch` are written by `remember_end` alone, in that order, which a
    `Partition` calls under its lock; a thread that reads the generation first never takes an older state for it.
    `known_end`, `known_end_offset`, `is_doubtful` and `overlaps` are written by whichever thread has found them, at
    once and without a lock: two threads find the same. All else is fixed.
    """

    __slots__ = (
        "__weakref__", "_last_batch", "_seen", "base_offset", "files", "generation", "indexes", "is_cut", "is_doubtful",
        "known_end", "known_end_offset", "next_base", "number", "object", "overlaps", "refetches",
    )  # fmt: skip

    def __init__(self, files: Files, next_base: int | None, is_cut: bool = False) -> None:
        """`is_cut`: the log may go on behind `next_base`, where a piece of a tier takes over."""
        self.files = files
        self.is_cut = is_cut
        self.base_offset = files.base_offset
        self.next_base = next_base
        self.object = files.object
        """The key of its log in a remote tier; None if it is on the disk."""
        self.indexes = SegmentIndexes(files, next_base is not None)
        self.number = self.generation = next(_generations)
        """`number` is unique: no other segment ever has it, nor one of the same name that was cut or compacted since.
        Facts about batches hold for one state of one log, its `generation`, which changes when the log does."""
        self.refetches = Refetches()
        """Positions of damage in a remote log that was fetched again."""
        self.known_end: int | None = None
        """The position at which a closed segment's log ends, once `segment_search` has found it."""
        self.known_end_offset: int | None = None
        """The offset behind the last batch of a closed segment, once `tier.local_gaps` has found it."""
        self.is_doubtful: bool | None = None
        """True if a header gives reason to look for batches that hold more than stated; None if no header was read."""
        self.overlaps: KnownOverlaps | None = None
        """The batches that hold more than their headers state, once `overlaps` has looked for them."""
        self._last_batch: Batch | None = None
        self._seen: tuple[int, int] | None = None

    @property
    def listed(self) -> dict[str, ListedFile]:
        """The segment's files by kind, as they were listed."""
        return self.files.listed

    @property
    def log_name(self) -> str:
        """The name of the `.log`."""
        return self.listed["log"].name

    def name_of(self, kind: str) -> str:
        """The name of a file; the one that it would have, where there is none."""
        return self.files.name_of(kind)

    def log(self) -> DataFile:
        """The `.log`, open."""
        return self.files.open("log")

    def hold(self) -> DataFile | None:
        """The `.log`, for a handle to hold open; None if too many are held already. Vanished if it changed."""
        if not self.files.may_hold_more():
            return None
        return self.check_log()

    def check_log(self) -> DataFile:
        """The `.log`, open, if what was read of it before is still true; else Vanished."""
        file = self.log()
        self.check(file)
        return file

    def is_readable(self) -> bool:
        """False if the daemon may not read the log, which then is a gap in the offsets. For a remote segment, a
        reader gets the error when it gets there, because a question about each would be a request for each."""
        if self.object is not None:
            return True
        try:
            self.log()
        except Denied:
            return False
        return True

    def read_small_file(self, name: str) -> bytes:
        """A small file of the same directory, by name; NotFound if it does not exist."""
        return self.files.read_small_file(name)

    @property
    def overlaps_next(self) -> bool:
        """True if its log may go on behind the next segment's base: a swap file, an upload of a former leader, or a
        segment in front of a gap of the disk."""
        return self.next_base is not None and (self.is_cut or self.files.is_cut_short)

    def has_files(self, files: dict[str, ListedFile], next_base: int | None) -> bool:
        """True if it is the segment of these files. The last one's log grows; `find_tail` knows it by its content."""
        if next_base is not None or self.next_base is not None:
            return self.listed == files and self.next_base == next_base
        return {kind: (file.name, file.inode) for kind, file in self.listed.items()} == {
            kind: (file.name, file.inode) for kind, file in files.items()
        }

    def reopened(self) -> "Segment":
        """A segment of the same files that remembers nothing about them."""
        return Segment(self.files.reopened(), self.next_base, self.is_cut)

    def remember_end(self, last: Batch | None, size: int, mtime_ns: int) -> None:
        """Remembers the last batch of the growing log, which must stand as long as anything read before it is true.

        `size` and `mtime_ns` are the file's at that time: while they hold, so does the batch.
        """
        if self._seen != (size, mtime_ns):
            self._seen = size, mtime_ns
            self.generation = next(_generations)
        self._last_batch = last
        if last is not None and last.count > last.last_offset - last.base_offset + 1:
            self.is_doubtful = True

    @property
    def seen(self) -> tuple[int, int]:
        """The log's size and time of change at the last look; (-1, -1) before the first."""
        if self.next_base is None:
            return self._seen or (-1, -1)
        return self.files.log_seen

    def is_as_seen(self, file: DataFile) -> bool:
        """True if `file`, the open `.log`, was not written since the last look."""
        about = file.stat()
        return (about.st_size, about.st_mtime_ns) == self.seen

    def sound_batches(self, file: DataFile) -> SoundBatches | None:
        """The batches that are known to be sound; None if `file`, the open `.log`, was written since the last look."""
        known = SoundBatches(self.generation, file.hints.sound_batches)
        return known if self.is_as_seen(file) else None

    def check(self, file: DataFile) -> None:
        """Call this after a read from `file`, the open `.log`, before the bytes are used. Vanished if it changed."""
        intact = self.is_as_seen(file)
        if not intact and self.next_base is None:
            intact = self._last_batch is None or is_at_its_place(file, self._last_batch)
        if not intact:
            raise Vanished(f"{file.name!r} was truncated while it was read; open it again")

    def read(self, position: int, size: int) -> bytes:
        """Bytes of this generation of the log."""
        file = self.log()
        data = file.read(position, size)
        self.check(file)
        return data

    def walk_whole(self, log_end: int) -> Iterator[BatchRun | Damage]:
        """Everything up to `log_end`, read in long pieces."""
        return self.walk(Start(0, self.base_offset, first_read=LONGEST_READ, is_long=True), log_end)

    def continues_in(self, later: "Segment", last: Batch) -> bool:
        """True if `later` has the same file, and `last` is in it at the same position: so is everything before it."""
        if later.base_offset != self.base_offset or later.listed["log"].inode != self.listed["log"].inode:
            return False
        return is_at_its_place(later.log(), last)

    def contents(self, batch: Batch) -> tuple[int, int]:
        """The first offset that a batch of it holds, and how many records. A compressed message has to be unpacked."""
        return contents(self.log(), batch)

    def overlapping(self, rows: Batches, start: int, end: int) -> Batches:
        """The rows of batches that hold offsets in [start, end)."""
        rows = overlapping(rows, start, end)
        if len(rows) and rows["base_offset"][-1] >= end and self.contents(batch_at(rows, -1))[0] >= end:
            return rows[:-1]
        return rows

    def walk(
        self,
        start: Start,
        log_end: int,
        passed: int = 0,
        needed: int = 0,
        largest: int = ANY_SIZE,
        lost: Callable[[Lost], None] | None = None,
    ) -> Iterator[BatchRun | Damage]:
        """Yield everything from `start` up to `log_end`, all of this generation of the log.

        For large batches that end below the offset `passed`, and for batches of more than `largest` bytes, the bytes
        may be left out: see `batch_runs.Bounds`. Lost if offsets from `needed` on are missing that were uploaded to
        a tier; where `lost` is given, it hears of them, and the walk goes on.
        """
        file = self.log()
        next_base = self.next_base
        if next_base is None and self._last_batch is not None:
            next_base = self._last_batch.last_offset + 1  # the log's end is known: what is invalid before it is damage
        bounds = Bounds(
            log_end, start.first_offset, next_base, True, passed, partial(self.sound_batches, file), largest
        )
        read_to = start.wanted_end + LARGEST_HEADER if start.wanted_end else log_end
        reader = (
            file.straight(start.position, read_to, is_whole=start.first_read >= LONGEST_READ) if start.is_long else file
        )
        runs = batch_runs(reader, start.position, bounds, start.known, start.first_read, start.wanted_end)
        if self.object is not None:
            runs = fetched_again(file, bounds, runs, self.refetches)
            if needed < ANY_OFFSET and not self.files.is_measured:
                holes = Holes(self.object or self.log_name, file, self.indexes.offset_index, needed, lost)
                runs = holes.check(runs, start.first_offset, self.next_base)
        del start  # with its bytes: a walk can be a long one
        for item in runs:
            self.check(file)
            if not self.is_doubtful and isinstance(item, BatchRun) and is_overfull(item.rows):
                self.is_doubtful = True
            yield item
        self.check(file)


def batches_of(file: DataFile, scattered: bool = False, largest: int = ANY_SIZE) -> Iterator[BatchRun | Damage]:
    """Everything in a file of batches that is no segment. `scattered`: in whatever order offsets are, and all bytes up
    to the end of the file (see `log.scattered`). `largest`: see `batch_runs.Bounds`."""
    if scattered:
        return scattered_batches(file, file.size, largest)
    return batch_runs(file, 0, Bounds(file.size, 0, None, largest=largest))


def is_at_its_place(file: DataFile, batch: Batch) -> bool:
    """True if the batch's header is still at its place in the file."""
    return parse_batch(file.read(batch.position, LARGEST_HEADER), 0, batch.position) == batch
