"""The indexes of one segment, opened at their first lookup. They save reading; nothing that they say is true for it.
Source: LazyIndex.

`segment_search` holds an entry against the log before it counts. Only answers that may be wrong come from the index
alone: how a listing divides the log by time, and which modification time a range shows.
"""

from collections.abc import Callable
from weakref import ref

from kafkafs.errors import UNREADABLE, CorruptData, Denied, DiskError, Lost, Vanished
from kafkafs.format.batch import SMALLEST
from kafkafs.format.index import IndexPages, OffsetIndex, TimeIndex
from kafkafs.format.transaction_index import ABORTED_SIZE, AbortedTransaction, parse_transaction_index
from kafkafs.log.segment_files import Files

_PASSING = (Vanished, DiskError, Denied)  # may be otherwise the next time


class SegmentIndexes:
    """Fields are written by any thread, without a lock, each at once: two threads that open an index together make two
    that say the same, and the later one stays. `forget` may drop them at any time, so a user of one takes it once.
    """

    __slots__ = (
        "__weakref__", "_files", "_is_closed", "_largest", "_offset_index", "_time_index", "known_largest",
        "proven_largest",
    )  # fmt: skip

    def __init__(self, files: Files, is_closed: bool) -> None:
        self._files = files
        self._is_closed = is_closed
        self._offset_index: OffsetIndex | None = None
        self._time_index: TimeIndex | None = None
        self._largest: int | None = None  # a closed segment's, from its last time index entry
        self.known_largest: tuple[int, int] | None = None
        """Position of the log's end, and the largest timestamp up to there: `time_search` notes them."""
        self.proven_largest: int | None = None
        """The largest timestamp of a closed segment, once `closing_entries` has found it without the log."""

    @property
    def offset_index(self) -> OffsetIndex:
        """An empty one if the file is missing."""
        index = self._offset_index
        if index is None:
            read, size, pages = self._index("index")
            index = OffsetIndex(read, size or 0, self._files.base_offset, self._files.log_size, pages)
            self._offset_index = None if size is None else index
        return index

    @property
    def time_index(self) -> TimeIndex:
        """An empty one if the file is missing."""
        index = self._time_index
        if index is None:
            read, size, pages = self._index("timeindex")
            index = TimeIndex(read, size or 0, self._files.base_offset, self._files.log_size, pages)
            self._time_index = None if size is None else index
        return index

    def aborted(self) -> tuple[AbortedTransaction, ...] | None:
        """The transaction index; None if the segment has none. CorruptData if it cannot be true."""
        if "txnindex" not in self._files.listed:
            return None
        file = self._files.open("txnindex")
        size, log_size = file.size, self._files.log_size()
        if size // ABORTED_SIZE > log_size // SMALLEST[2]:
            raise CorruptData(f"it has {size} bytes: more entries than there can be markers in {log_size} bytes of log")
        return parse_transaction_index(file.read(0, size), self._files.base_offset)

    def forget(self) -> None:
        """Look at the indexes again: the broker appends to those of the last segment."""
        self._offset_index = self._time_index = self.known_largest = self.proven_largest = None

    def _index(self, kind: str) -> tuple[Callable[[int, int], bytes], int | None, IndexPages | None]:
        """How to read an index file, its length, and where to remember its pages.

        The file is requested again each time, so that few stay open. A file that is gone or cannot be read reads as
        empty: an index is a hint. If the error may pass, such as an error of the disk or a file's mode, there is no
        length, and nothing that was made of the index is remembered.
        """
        if kind not in self._files.listed:
            return (lambda _position, _size: b""), 0, None

        files, owner = self._files, ref(self)  # held, it would be a circle: open files would wait for the collector

        def read(position: int, size: int) -> bytes:
            """The bytes at a position of the current file; none if they cannot be read."""
            try:
                return files.open(kind).read(position, size)
            except UNREADABLE as error:
                indexes = owner()
                if indexes is not None and isinstance(error, _PASSING):
                    indexes.forget()
                return b""

        try:
            file = files.open(kind)
            return read, file.size, file.hints.index_pages  # the size of now: a broker that rolls cuts it first
        except UNREADABLE as error:
            return read, None if isinstance(error, _PASSING) else 0, None

    def indexed_largest(self) -> int:
        """Return the segment's largest timestamp by its time index, or -1 if the index does not tell."""
        if self._largest is not None:
            return self._largest
        if not self._is_closed:
            return self.time_index.last().timestamp
        largest = self._files.largest if self._files.largest is not None else self._last_time()
        if largest >= 0:
            self._largest = largest
        return largest

    def shown_largest(self) -> int:
        """The largest timestamp as `indexed_largest` has it, only to be shown: -1 also if a tier has lost it. A reader
        of that part gets the error."""
        try:
            return self.indexed_largest()
        except Lost:
            return -1

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
        """Return the largest timestamp of the offsets [start, end) by the time index, or -1 if the index does not
        tell."""
        entry = self.time_index.lookup_offset(end - 1)
        return entry.timestamp if entry.offset >= start else -1
