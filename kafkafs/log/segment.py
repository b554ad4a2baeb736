"""One segment: which files it is made of, and whether they are as they were at the last look. Source: LogSegment.

    segment_files   its files, by kind
    indexes         its indexes, and what they say by themselves
    segment         its identity: closed or growing, sealed, truncated; and the walk over its log

What stands at an offset or a time is asked of `lookup`.
"""

from collections.abc import Iterator
from itertools import count

from kafkafs.disk.data_file import DataFile
from kafkafs.errors import Denied, Vanished
from kafkafs.format.batch import LARGEST_HEADER, Batch, is_overfull, parse_batch
from kafkafs.log.batch_runs import BatchRun, Bounds, Damage, Start, batch_runs
from kafkafs.log.indexes import SegmentIndexes
from kafkafs.log.listing import ListedFile
from kafkafs.log.overlaps import Known
from kafkafs.log.segment_files import Files
from kafkafs.log.sound_batches import SoundBatches

_generations = count(1)


class Segment:
    """A segment's files, and where the next segment begins (None for the last one, whose log grows).

    The writers: `_seen`, `generation` and `_last_batch` are written by `seal` alone, in that order, which a
    `Partition` calls under its lock; a thread that reads the generation first never takes an older state for it.
    `known_end`, `is_doubtful` and `overlaps` are written by whichever thread has found them, at once and without a
    lock: two threads find the same. All else is fixed.
    """

    __slots__ = (
        "__weakref__",
        "_last_batch",
        "_seen",
        "base_offset",
        "files",
        "generation",
        "indexes",
        "is_doubtful",
        "known_end",
        "listed",
        "next_base",
        "number",
        "overlaps",
    )

    def __init__(self, files: Files, next_base: int | None) -> None:
        self.files = files
        self.listed = files.listed
        self.base_offset = files.base_offset
        self.next_base = next_base
        self.indexes = SegmentIndexes(files, next_base is not None)
        self.number = self.generation = next(_generations)
        """No other segment ever has this number, nor one of the same name that was cut or compacted since."""
        """What is known of batches holds for one state of one log: its number."""
        self.known_end: int | None = None
        """Where a closed segment's log ends, once `offset_search` has found it."""
        self.is_doubtful: bool | None = None
        """Whether a header gives reason to look for batches that hold more than it states; None: none was looked at."""
        self.overlaps: Known | None = None
        """Those batches, once `overlaps` has looked for them."""
        self._last_batch: Batch | None = None
        self._seen: tuple[int, int] | None = None

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
        """The `.log`, for a handle to hold open; None where too many are held already. Vanished if it changed."""
        if not self.files.may_hold_more():
            return None
        file = self.log()
        self.check(file)
        return file

    def is_readable(self) -> bool:
        """False where the daemon may not read the log, which then is a gap in the offsets. Of a remote one a reader
        hears when it gets there: to ask of all would be a request for each."""
        if self.object is not None:
            return True
        try:
            self.log()
        except Denied:
            return False
        return True

    def read_beside(self, name: str) -> bytes:
        """A small file of the same directory, by name; NotFound where there is none."""
        return self.files.read_beside(name)

    @property
    def stands_in(self) -> bool:
        """Whether its log may go on behind the next segment's base: a swap file, or an upload of a former leader's."""
        return self.next_base is not None and self.files.is_cut_short

    @property
    def object(self) -> str | None:
        """The key of its log in a remote tier; None where it is on the disk."""
        return self.files.object

    def is_made_of(self, files: dict[str, ListedFile], next_base: int | None) -> bool:
        """Whether it is the segment of these files. The last one's log grows; `find_tail` knows it by its content."""
        if next_base is not None or self.next_base is not None:
            return self.listed == files and self.next_base == next_base
        return {kind: (file.name, file.inode) for kind, file in self.listed.items()} == {
            kind: (file.name, file.inode) for kind, file in files.items()
        }

    def anew(self) -> "Segment":
        """The same files, with nothing remembered of them."""
        return Segment(self.files.anew(), self.next_base)

    def seal(self, last: Batch | None, size: int, mtime_ns: int) -> None:
        """Remember the last batch of the growing log, which must stand as long as anything read before it is true.

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
        """Whether `file`, the open `.log`, was not written since the last look."""
        about = file.stat()
        return (about.st_size, about.st_mtime_ns) == self.seen

    def check(self, file: DataFile) -> None:
        """Call between reading from `file`, the open `.log`, and handing on what was read. Vanished if it changed."""
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

    def walk(self, start: Start, log_end: int, passed: int = 0) -> Iterator[BatchRun | Damage]:
        """What stands from `start` up to `log_end`, all of this generation of the log.

        Of large batches that end below the offset `passed` the bytes may be left out, see `batch_runs.Bounds`.
        """
        file = self.log()
        next_base = self.next_base
        if next_base is None and self._last_batch is not None:
            next_base = self._last_batch.last_offset + 1  # the log's end is known: what is invalid before it is damage
        sound = SoundBatches(self.generation) if passed and self.is_as_seen(file) else None
        bounds = Bounds(log_end, start.first_offset, next_base, True, passed, sound)
        runs = batch_runs(file, start.position, bounds, start.window)
        del start  # with its window: a walk can be a long one
        for item in runs:
            self.check(file)
            if not self.is_doubtful and isinstance(item, BatchRun) and is_overfull(item.rows):
                self.is_doubtful = True
            yield item
        self.check(file)


def is_at_its_place(file: DataFile, batch: Batch) -> bool:
    """Whether the batch's header still stands in the file where it stood."""
    return parse_batch(file.read(batch.position, LARGEST_HEADER), 0, batch.position) == batch
