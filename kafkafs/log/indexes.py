"""A segment's indexes, and what they say by themselves. They save reading; nothing that they say is true for it.

`offset_search` and `time_search` hold an entry against the log before it counts. What is asked here alone is what may
be wrong: how a listing divides the log by time, and which modification time a range shows. Source: LazyIndex.
"""

from collections.abc import Callable
from weakref import ref

from kafkafs.errors import CorruptData, Denied, DiskError, NotFound, Vanished
from kafkafs.format.batch import SMALLEST
from kafkafs.format.index import OffsetIndex, TimeIndex
from kafkafs.format.transaction_index import ENTRY_SIZE, AbortedTransaction, parse_transaction_index
from kafkafs.log.segment_files import Files

_PASSING = (Vanished, DiskError)  # may be otherwise the next time
UNREADABLE = (NotFound, Denied, *_PASSING)
"""What may become of an index when it is opened or read: it then counts as empty."""


class SegmentIndexes:
    """The indexes of one segment, opened at their first lookup.

    Fields are written by any thread, without a lock, each at once: two threads that open an index together make two
    that say the same, and the later one stays. `forget` may drop them at any time, so a user of one takes it once.
    """

    __slots__ = ("__weakref__", "_files", "_is_closed", "_largest", "_offset_index", "_time_index", "known_largest")

    def __init__(self, files: Files, is_closed: bool) -> None:
        self._files = files
        self._is_closed = is_closed
        self._offset_index: OffsetIndex | None = None
        self._time_index: TimeIndex | None = None
        self._largest: int | None = None  # of a closed segment, what the last time index entry says
        self.known_largest: tuple[int, int] | None = None
        """Position of the log's end, and the largest timestamp up to there: `time_search` notes what it has found."""

    @property
    def offset_index(self) -> OffsetIndex:
        """An empty one where the file is missing."""
        index = self._offset_index
        if index is None:
            read, size = self._index("index")
            index = OffsetIndex(read, size or 0, self._files.base_offset, self._files.log_size)
            self._offset_index = None if size is None else index
        return index

    @property
    def time_index(self) -> TimeIndex:
        """An empty one where the file is missing."""
        index = self._time_index
        if index is None:
            read, size = self._index("timeindex")
            index = TimeIndex(read, size or 0, self._files.base_offset, self._files.log_size)
            self._time_index = None if size is None else index
        return index

    def aborted(self) -> tuple[AbortedTransaction, ...] | None:
        """The transaction index; None where the segment has none. CorruptData where it cannot be true."""
        if "txnindex" not in self._files.listed:
            return None
        file = self._files.open("txnindex")
        size, log_size = file.size, self._files.log_size()
        if size // ENTRY_SIZE > log_size // SMALLEST[2]:
            raise CorruptData(f"it has {size} bytes: more entries than there can be markers in {log_size} bytes of log")
        return parse_transaction_index(file.read(0, size), self._files.base_offset)

    def forget(self) -> None:
        """Look at the indexes anew: the broker appends to those of the last segment."""
        self._offset_index = self._time_index = self.known_largest = None

    def _index(self, kind: str) -> tuple[Callable[[int, int], bytes], int | None]:
        """How to read an index file, and its length. The file is asked for anew each time, so that few stay open.

        A file that is gone or cannot be read reads as empty: an index is a hint. Where that may pass, as an error of
        the disk may, there is no length, and nothing that was made of the index is remembered.
        """
        if kind not in self._files.listed:
            return (lambda _position, _size: b""), 0

        files, owner = self._files, ref(self)  # held, it would be a circle: open files would wait for the collector

        def read(position: int, size: int) -> bytes:
            """The bytes at a position of the file as it is now; none where it cannot be read."""
            try:
                return files.open(kind).read(position, size)
            except UNREADABLE as error:
                indexes = owner()
                if indexes is not None and isinstance(error, _PASSING):
                    indexes.forget()
                return b""

        try:
            return read, files.open(kind).size  # of now: a broker that rolls cuts it first
        except UNREADABLE as error:
            return read, None if isinstance(error, _PASSING) else 0

    def indexed_largest(self) -> int:
        """What the time index says is the segment's largest timestamp; -1 where it says nothing."""
        if self._largest is not None:
            return self._largest
        if not self._is_closed:
            return self.time_index.last().timestamp
        largest = self._files.largest if self._files.largest is not None else self._last_time()
        if largest >= 0:
            self._largest = largest
        return largest

    def _last_time(self) -> int:
        """The last time index entry's timestamp. A listing asks all segments, once: the file does not stay open."""
        if "timeindex" not in self._files.listed:
            return -1
        try:
            file = self._files.open_once("timeindex")
            return -1 if file is None else TimeIndex(file.read, file.size, self._files.base_offset).last().timestamp
        except UNREADABLE:
            return -1

    def indexed_between(self, start: int, end: int) -> int:
        """What the time index says is the largest timestamp of the offsets [start, end); -1 where it says nothing."""
        if self._files.object is not None:
            return -1 if self._files.largest is None else self._files.largest  # its index would be a request
        entry = self.time_index.lookup_offset(end - 1)
        return entry.timestamp if entry.offset >= start else -1
