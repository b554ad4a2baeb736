"""One segment: its log and its indexes, and the lookups in it. Source: LogSegment, LazyIndex.

A lookup takes a hint from an index, checks it against the log, and scans from there. The check makes the answer
independent of the index: a batch that really stands at the position named, with offsets that the entry allows, has
everything older before it. Where no entry passes, the scan starts at the segment's start.
"""

from collections.abc import Callable, Iterator
from itertools import count
from time import monotonic
from weakref import ReferenceType, ref

import numpy as np

from kafkafs.disk.data_file import DataFile
from kafkafs.disk.directory import Directory
from kafkafs.errors import Denied, DiskError, NotFound, Vanished
from kafkafs.format.batch import FRAME_SIZE, LARGEST_HEADER, Batch, parse_batch
from kafkafs.format.batches import batch_at
from kafkafs.format.names import segment_file
from kafkafs.format.offset_index import OffsetIndex
from kafkafs.format.time_index import TimeIndex
from kafkafs.format.transaction_index import AbortedTransaction, parse_transaction_index
from kafkafs.log.batch_runs import BatchRun, Bounds, Damage, batch_runs
from kafkafs.log.glance import ANY, NEED_ALL, NEED_HEADER, Glances, Glimpse
from kafkafs.log.listing import FileName
from kafkafs.log.places import Start, Trace, no_trace
from kafkafs.log.resync import whole_batch
from kafkafs.log.time_search import largest_timestamp
from kafkafs.log.wrapped import span

_HINTS_TRIED = 8
_generations = count(1)  # of segments: what is known of batches holds for one state of one file
_PASSING = (Vanished, DiskError)  # may be otherwise the next time
_UNREADABLE = (NotFound, Denied, *_PASSING)


class Segment:
    """A segment's files by kind, and where the next segment begins (None for the last one)."""

    def __init__(
        self,
        root: Directory,
        partition: str,
        base_offset: int,
        files: dict[str, FileName],
        next_base: int | None,
        indexes: Directory | None = None,
    ) -> None:
        self._root = root
        self._indexes = indexes
        self._partition = partition
        self.base_offset = base_offset
        self.next_base = next_base
        self.files = files
        self._offset_index: OffsetIndex | None = None
        self._time_index: TimeIndex | None = None
        self._largest: tuple[int, int] | None = None
        self._hinted: int | None = None
        self._end: int | None = None
        self._seal: Batch | None = None
        self._sealed: tuple[int, int] | None = None
        self._open: dict[str, ReferenceType[DataFile]] = {}
        self._generation = next(_generations)
        self._glances: Glances | None = None

    @property
    def log_name(self) -> str:
        return self.files["log"].name

    def log(self) -> DataFile:
        """The `.log`, open."""
        return self._file("log")

    def hold(self) -> DataFile | None:
        """The `.log`, for a handle to hold open; None where too many are held already. Vanished if it changed."""
        if not self._root.may_hold_more():
            return None
        file = self.log()
        self.check(file)
        return file

    def is_made_of(self, files: dict[str, FileName], next_base: int | None) -> bool:
        """Whether it is the segment of these files. The last one's log grows; `find_tail` knows it by its content."""
        if next_base is not None or self.next_base is not None:
            return self.files == files and self.next_base == next_base
        return {kind: (file.name, file.inode) for kind, file in self.files.items()} == {
            kind: (file.name, file.inode) for kind, file in files.items()
        }

    def anew(self) -> "Segment":
        """The same files, with nothing remembered of them."""
        return Segment(self._root, self._partition, self.base_offset, self.files, self.next_base, self._indexes)

    def seal(self, last: Batch | None, size: int, mtime_ns: int) -> None:
        """Remember the last batch of the growing log, which must stand as long as anything read before it is true.

        `size` and `mtime_ns` are the file's at that time: while they hold, so does the batch.
        """
        if self._sealed != (size, mtime_ns):
            self._generation = next(_generations)
            self._sealed = size, mtime_ns
            self._glances = None
        self._seal = last

    def is_as_seen(self, file: DataFile) -> bool:
        """Whether `file`, the open `.log`, was not written since somebody looked at it last."""
        about, listed = file.stat(), self.files["log"]
        seen = self._sealed if self.next_base is None else (listed.size, listed.mtime_ns)
        return (about.st_size, about.st_mtime_ns) == seen

    def check(self, file: DataFile) -> None:
        """Call between reading from `file`, the open `.log`, and handing on what was read. Vanished if it changed."""
        intact = self.is_as_seen(file)
        if not intact and self.next_base is None:
            intact = self._seal is None or is_at_its_place(file, self._seal)
        if not intact:
            raise Vanished(f"{file.name!r} was truncated while it was read; open it again")

    def is_readable(self) -> bool:
        """False where the daemon may not read the log, which then is a gap in the offsets."""
        try:
            self.log()
        except Denied:
            return False
        return True

    def _file(self, kind: str) -> DataFile:
        """One of the files, open for as long as the directory's cache or somebody else keeps it."""
        known = self._open.get(kind)
        file = known() if known is not None else None
        if file is None:
            name = self.files[kind]
            file = self._root_of(name).open(f"{self._partition}/{name.name}", name.inode)
            self._open[kind] = ref(file)
        file.used = monotonic()
        return file

    def _root_of(self, name: FileName) -> Directory:
        return self._indexes if name.rebuilt and self._indexes is not None else self._root

    def stamp(self) -> tuple[tuple[int, int, int], ...]:
        """Changes when one of the files does: inode, size and time of each. Vanished where one is gone: list anew."""
        stats = ((name, self._root_of(name)) for name in self.files.values())
        try:
            found = [root.stat(f"{self._partition}/{name.name}") for name, root in stats]
        except NotFound as error:
            raise Vanished(f"a file of {self.log_name!r} is gone: {error}") from error
        return tuple((about.st_ino, about.st_size, about.st_mtime_ns) for about in found)

    @property
    def offset_index(self) -> OffsetIndex:
        """Opened at the first lookup; an empty one where the file is missing."""
        index = self._offset_index  # another thread may drop it meanwhile
        if index is None:
            read, size = self._index("index")
            index = OffsetIndex(read, size or 0, self.base_offset)
            self._offset_index = None if size is None else index
        return index

    @property
    def time_index(self) -> TimeIndex:
        """Opened at the first lookup; an empty one where the file is missing."""
        index = self._time_index
        if index is None:
            read, size = self._index("timeindex")
            index = TimeIndex(read, size or 0, self.base_offset)
            self._time_index = None if size is None else index
        return index

    def _index(self, kind: str) -> tuple[Callable[[int, int], bytes], int | None]:
        """How to read an index file, and its length. The file is asked for anew each time, so that few stay open.

        A file that is gone or cannot be read reads as empty: an index is a hint. Where that may pass, as an error of
        the disk may, there is no length, and nothing that was made of the index is remembered.
        """
        if kind not in self.files:
            return (lambda _position, _size: b""), 0

        def read(position: int, size: int) -> bytes:
            try:
                return self._file(kind).read(position, size)
            except _UNREADABLE as error:
                if isinstance(error, _PASSING):
                    self.drop_index_state()
                return b""

        try:
            return read, self._file(kind).size  # of now: a broker that rolls cuts it first
        except _UNREADABLE as error:
            return read, None if isinstance(error, _PASSING) else 0

    def drop_index_state(self) -> None:
        """Look at the indexes anew: the broker appends to those of the last segment."""
        self._offset_index = self._time_index = self._largest = self._glances = None

    def aborted(self) -> tuple[AbortedTransaction, ...] | None:
        """The transaction index; None where the segment has none. CorruptData where it cannot be true."""
        if "txnindex" not in self.files:
            return None
        file = self._file("txnindex")
        return parse_transaction_index(file.read(0, file.size), self.base_offset)

    def read_beside(self, name: str) -> bytes:
        """A small file of the same directory, by name; NotFound where there is none."""
        return self._root.read_whole(f"{self._partition}/{name}")

    def closed_end(self) -> int:
        """Where a closed segment's log ends: with its file, but for fewer than a header's zero bytes at the end."""
        if self._end is None and self.stands_in:
            self._end = self._stand_in_end()
        if self._end is None:
            file = self.log()
            size = file.size
            end = size
            tail = file.read(max(0, size - FRAME_SIZE), FRAME_SIZE)
            if tail.endswith(b"\0"):
                start = self.start(self.next_base if self.next_base is not None else self.base_offset)
                for item in self.walk(start, size):
                    end = item.end
                end = end if size - end <= FRAME_SIZE else size
            self._end = end
        return self._end

    @property
    def stands_in(self) -> bool:
        """Whether it is a swap file that stands in for segments of which some are still there behind it."""
        return self.log_name.endswith(".swap") and self.next_base is not None

    def _stand_in_end(self) -> int:
        """Where the next segment's offsets begin: the rest of a swap file is there as well."""
        assert self.next_base is not None
        file = self.log()
        size = file.size
        start = self.start(self.next_base)
        for item in batch_runs(file, start.position, Bounds(size, start.first_offset, None)):
            if item.last_offset >= self.next_base:
                row = (
                    int(np.searchsorted(item.rows["last_offset"], self.next_base)) if isinstance(item, BatchRun) else 0
                )
                return int(item.rows["position"][row]) if isinstance(item, BatchRun) else item.position
        return size

    def start(self, offset: int, trace: Trace = no_trace) -> Start:
        """Where to scan from for `offset`: the last index entry at or before it that the log confirms."""
        index = self.offset_index
        entry = index.lookup(offset)
        step = 1
        while entry.slot >= 0:
            confirmed = self._confirmed(entry.position, entry.offset) if entry.offset <= offset else None
            trace(
                f"offset index {self.name_of('index')}: slot {entry.slot} of {index.entries}: "
                f"offset {entry.offset} -> position {entry.position}"
                + ("" if confirmed else ", which the log contradicts")
            )
            if confirmed is not None:
                return Start(entry.position, confirmed.base_offset)
            if step > 1 << _HINTS_TRIED:
                break
            entry = index.entry(max(-1, entry.slot - step))
            step *= 2
        trace(
            f"offset index {self.name_of('index')}: "
            + (f"no entry at or before {offset}" if index.entries else "missing or empty")
            + ": from position 0"
        )
        return Start(0, self.base_offset)

    def _confirmed(self, position: int, offset: int) -> Batch | None:
        """The batch at `position`, if an index entry for `offset` may point at it: it ends with that offset, or one
        that follows does, as older brokers index a whole append. Its base offset, outside the CRC, is then true too."""
        file = self.log()
        header = parse_batch(file.read(position, LARGEST_HEADER), 0, position) if position > 0 else None
        if header is None or not self.base_offset <= header.base_offset <= header.last_offset <= offset:
            return None
        sound = whole_batch(file, header, file.size)  # if not, it is part of damage that may begin before it
        if sound and (header.last_offset == offset or self._leads_to(file, header, offset)):
            return header
        return None

    def _leads_to(self, file: DataFile, header: Batch, offset: int) -> bool:
        """Whether a batch behind the one of `header` ends with `offset`, all valid up to there."""
        bounds = Bounds(file.size, header.base_offset, self.next_base)
        for item in batch_runs(file, header.position, bounds):
            if isinstance(item, Damage):
                return False
            if item.last_offset >= offset:
                lasts = item.rows["last_offset"]
                return int(lasts[np.searchsorted(lasts, offset)]) == offset
        return False

    def name_of(self, kind: str) -> str:
        return self.files[kind].name if kind in self.files else segment_file(self.base_offset, kind)

    def read(self, position: int, size: int) -> bytes:
        """Bytes of this generation of the log."""
        file = self.log()
        data = file.read(position, size)
        self.check(file)
        return data

    def walk(self, start: Start, end: int) -> Iterator[BatchRun | Damage]:
        """What stands from `start` to the position `end`, all of this generation of the log."""
        file = self.log()
        next_base = self.next_base
        if next_base is None and self._seal is not None:
            next_base = self._seal.last_offset + 1  # the log's end is known: what is invalid before it is damage
        for item in batch_runs(file, start.position, Bounds(end, start.first_offset, next_base)):
            self.check(file)
            yield item
        self.check(file)

    def glance(
        self, sought: int, end: int, offset: int = ANY, timestamp: int = ANY, need: int = NEED_ALL
    ) -> Glimpse | None:
        """The first batch that is wanted, see `Glances`; None where only the careful path can tell."""
        glances = self._glances
        if glances is None or glances.end != end:
            glances = self._glances = self._glances_up_to(end)
        log = self._file("log")
        try:
            index = self._file("index") if "index" in self.files else None
            times = self._time_file(glances) if timestamp != ANY else None
        except _UNREADABLE:
            return None
        found = glances.glance(log, index, times, sought, offset, timestamp, need)
        if found is not None and found.changed:
            if found.proven:  # that was before the log changed: only all of the batch, read anew, tells now
                return self.glance(sought, end, offset, timestamp, need=NEED_ALL)
            self.check(log)
        return found

    def _glances_up_to(self, end: int) -> Glances:
        listed = self.files["log"]
        seen = (self._sealed or (-1, -1)) if self.next_base is None else (listed.size, listed.mtime_ns)
        entries = self.offset_index.most_entries
        return Glances(self._generation, self.base_offset, self.next_base, end, seen, entries)

    def _time_file(self, glances: Glances) -> DataFile | None:
        if not glances.knows_times:
            glances.tell_times(self.time_index.most_entries)
        return self._file("timeindex") if "timeindex" in self.files else None

    def find(self, offset: int, end: int, trace: Trace = no_trace) -> Batch | Damage | None:
        """The first batch whose last offset is at or after `offset`, or the damage that owns it; None behind the last.

        Kafka calls it translateOffset.
        """
        if trace is no_trace and (glimpse := self.glance(offset, end, offset, need=NEED_HEADER)) is not None:
            return glimpse.batch
        start = self.start(offset, trace)
        scanned = 0
        for item in self.walk(start, end):
            if item.last_offset >= offset:
                if isinstance(item, Damage):
                    trace(f"log {self.log_name}: the bytes at {item.position} are no valid batch and own {offset}")
                    return item
                row = int(np.searchsorted(item.rows["last_offset"], offset))
                found = batch_at(item.rows, row)
                scanned += found.end - item.position
                if trace is not no_trace:
                    trace(
                        f"log {self.log_name}: scanned {scanned} bytes from position {start.position} to the batch "
                        f"{span(self.log(), found)} at position {found.position}"
                    )
                return found
            scanned += item.end - item.position
        trace(f"log {self.log_name}: scanned {scanned} bytes from position {start.position}: none at or after {offset}")
        return None

    def largest_timestamp(self, end: int) -> int:
        """The largest timestamp of the segment's valid batches up to `end`, -1 without any; remembered."""
        known = self._largest
        if known is None or known[0] != end:
            known = self._largest = end, largest_timestamp(self, end)
        return known[1]

    def hinted_largest(self) -> int:
        """What the time index alone says is the largest timestamp; -1 where it says nothing. Reads no log.

        What a closed segment says is remembered.
        """
        if self._hinted is not None:
            return self._hinted
        if self.next_base is None:
            return self.time_index.last().timestamp
        hinted = self._last_time()
        if hinted >= 0:
            self._hinted = hinted
        return hinted

    def _last_time(self) -> int:
        """The last time index entry's timestamp. A listing asks all segments, once: the file does not stay open."""
        name = self.files.get("timeindex")
        if name is None:
            return -1
        try:
            file = self._root_of(name).open_now(f"{self._partition}/{name.name}")
            index = TimeIndex(file.read, file.size, self.base_offset)
            return index.last().timestamp if file.inode == name.inode else -1
        except _UNREADABLE:
            return -1

    def hinted_between(self, start: int, end: int) -> int:
        """What the time index alone says is the largest timestamp in [start, end); -1 where it says nothing."""
        entry = self.time_index.lookup_offset(end - 1)
        return entry.timestamp if entry.offset >= start else -1


def is_at_its_place(file: DataFile, batch: Batch) -> bool:
    """Whether the batch's header still stands in the file where it stood."""
    return parse_batch(file.read(batch.position, LARGEST_HEADER), 0, batch.position) == batch
