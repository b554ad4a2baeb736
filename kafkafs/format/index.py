"""A segment's indexes of offsets and of times: sorted entries of fixed size, no header, no checksum.

Whole entries count; a remainder at the end does not. The file of a segment that still grows is preallocated, so zeros
follow its entries, and after a truncation old entries may be between the two. An index is therefore a hint: what
it says is checked against the log where it is used. Source: AbstractIndex.

Lookups read pages, not the file. Most go to the end of the log, and the broker keeps the end of its index in the page
cache; so the last two pages (at most the 8,192 bytes that Kafka calls the warm section) are searched first and alone,
and only what is below them is searched page by page, which takes a logarithmic number of reads. Pages that lookups
ended in are remembered for later ones.
"""

import struct
from bisect import bisect_right
from collections.abc import Callable
from itertools import count
from typing import ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from kafkafs.format.batch import SMALLEST
from kafkafs.format.bounded import MOST_PAGES, BoundedDict
from kafkafs.format.tables import Flags, Numbers

LARGEST_LOG = (1 << 31) - 1
"""The bytes of a segment's log at most: positions are such numbers."""

PAGE = 4096
WARM_PAGES = 2

Read = Callable[[int, int], bytes]
"""(position, size) -> bytes of the file; shorter only at its end."""


class Probe(NamedTuple):
    """One look of a binary search: the slot, the two numbers there as they are stored, and whether the search went on
    from there, since what is looked for does not stand before it."""

    slot: int
    fields: tuple[int, int]
    is_reached: bool


def rises(values: Numbers, before: int) -> Flags:
    """A mask of the values that are larger than the value in front of them, which is `before` for the first. (Between
    -1 and the largest time there is no difference in 64 bits.)"""
    found = np.empty(len(values), np.bool_)
    found[:1] = values[:1] > before
    np.greater(values[1:], values[:-1], out=found[1:])
    return found


class IndexPage(NamedTuple):
    """The entries that begin in a page: the slot of the first one, their bytes, and one of the two numbers of each."""

    first: int
    data: bytes
    numbers: memoryview


NO_PAGE = IndexPage(0, b"", memoryview(b""))

IndexPages = BoundedDict[tuple[int, int, int], IndexPage]
"""Pages that lookups ended in, by the index's number, the page's, and the column. (Without them a point takes 5 %
longer by offset, 10 % by time.)"""

_numbers = count()
Entry = TypeVar("Entry")


class AbstractIndex(Generic[Entry]):
    """An index of `length` bytes, read through `read`. `base_offset` is the one its relative offsets start from."""

    fields: ClassVar[struct.Struct]
    entry_size: ClassVar[int]
    columns: ClassVar[tuple[str, str]]
    dtype: ClassVar[np.dtype[np.void]]

    def __init__(
        self,
        read: Read,
        length: int,
        base_offset: int,
        log_size: Callable[[], int] = lambda: LARGEST_LOG,
        pages: IndexPages | None = None,
    ) -> None:
        """`log_size`: of the log as it is when it is asked, which limits how many entries there can be. `pages`: those
        that are shared with other indexes."""
        self._read = read
        self._log_size = log_size
        self.base_offset = base_offset
        self.length = length
        self.slots = length // self.entry_size
        self._entries: int | None = None
        self._firsts: dict[int, tuple[int, int]] = {}
        self._pages = IndexPages(MOST_PAGES) if pages is None else pages
        self._number = next(_numbers)

    @property
    def entries(self) -> int:
        """How many entries are before the padding."""
        if self._entries is None:
            self._entries = self._find_padding()
        return self._entries

    @property
    def is_padded(self) -> bool:
        """True if zeros follow the last entry, as a preallocated file has them."""
        return self.entries < self.slots

    @property
    def possible_entries(self) -> int:
        """How many entries the log has batches for: no more are read at once, whatever the file's size is."""
        return self._log_size() // SMALLEST[0] + 1

    def load(self) -> np.ndarray[tuple[int], np.dtype[np.void]]:
        """All entries before the padding, as many as are possible: in file order, relative offsets as stored."""
        return self._first(min(self.entries, self.possible_entries))

    def _first(self, count: int) -> np.ndarray[tuple[int], np.dtype[np.void]]:
        data = self._read(0, count * self.entry_size)
        return np.frombuffer(data, self.dtype, len(data) // self.entry_size)

    def is_sound(self) -> bool:
        """True if the file can be Kafka's: whole entries, no more than are possible, in order."""
        if self.length % self.entry_size:
            return False
        entries = self.entries
        return entries == 0 or (entries <= self.possible_entries and self._is_in_order(self._first(entries)))

    def _is_in_order(self, rows: np.ndarray[tuple[int], np.dtype[np.void]]) -> bool:
        """True if these entries ascend as Kafka's do. No entries ascend too, because the file may have been cut
        meanwhile."""
        raise NotImplementedError

    def read_slots(self, count: int) -> bytes:
        """The first `count` slots of the file, padding and all, fewer if it ends: for checks."""
        return self._read(0, min(count, self.slots) * self.entry_size)

    def entry(self, slot: int, page: IndexPage = NO_PAGE) -> Entry:
        """The entry in `slot`, by the page if it is in there; for -1 the start of the segment."""
        raise NotImplementedError

    def _stored(self, slot: int, page: IndexPage = NO_PAGE) -> tuple[int, int]:
        """The two numbers of a slot as the file, or a page of it, has them; zeros where it was cut meanwhile."""
        size, in_page = self.entry_size, slot - page.first
        if 0 <= in_page < len(page.numbers):
            data, at = page.data, in_page * size
        else:
            data, at = self._read(slot * size, size).ljust(size, b"\0"), 0
        found: tuple[int, int] = self.fields.unpack_from(data, at)
        return found

    def _floor(self, target: int, column: int, probes: list[Probe] | None = None) -> Entry:
        """The last entry whose number in `column` is at most `target`; that of slot -1 if there is none. `probes`
        hears of each look."""
        entries = self.entries
        if not entries:
            return self.entry(-1)
        number = self._page_of(target, column, (entries * self.entry_size - 1) // PAGE, probes)
        page = self._pages.get((self._number, number, column)) or self._read_page(number, column)
        if probes is not None:
            self._trace_search(np.frombuffer(page.data, self.dtype), page.first, target, column, probes)
        return self.entry(page.first - 1 + bisect_right(page.numbers, target), page)

    def _read_page(self, number: int, column: int) -> IndexPage:
        """A page of the index, remembered if it is whole; zeros if the file was cut meanwhile or cannot be read."""
        first, stop = self._slots_of(number)
        size = (stop - first) * self.entry_size
        read = self._read(first * self.entry_size, size)
        data = read.ljust(size, b"\0")
        page = IndexPage(first, data, np.frombuffer(data, self.dtype)[self.columns[column]].astype(np.int64).data)
        if len(read) == size:
            self._pages.remember((self._number, number, column), page)
        return page

    @property
    def first_warm_slot(self) -> int:
        """Return the start of the warm section: the last pages that have entries, at most 8,192 bytes. A search looks
        there first."""
        last_page = (self.entries * self.entry_size - 1) // PAGE
        return self._first_slot(max(0, last_page - WARM_PAGES + 1))

    def _page_of(self, target: int, column: int, last_page: int, probes: list[Probe] | None) -> int:
        """The last page that begins at or before the target: the warm ones are looked at first, from behind. The first
        one, where none does."""
        low = 0
        page = high = last_page
        coldest = last_page - WARM_PAGES
        while low < high:
            stored = self._firsts.get(page) or self._first_in(page)
            if probes is not None:
                probes.append(Probe(self._slots_of(page)[0], stored, stored[column] <= target))
            if stored[column] <= target:
                low = page
            else:
                high = page - 1
            page = high if high > coldest else (low + high + 1) // 2
        return low

    def _trace_search(self, rows: np.ndarray, first: int, target: int, column: int, probes: list[Probe]) -> None:
        """The looks that `bisect_right` takes within a page, which is a binary search like Kafka's."""
        low, high = 0, len(rows)
        while low < high:
            middle = (low + high) // 2
            one, other = (int(rows[name][middle]) for name in self.columns)
            is_reached = (one, other)[column] <= target
            probes.append(Probe(first + middle, (one, other), is_reached))
            low, high = (middle + 1, high) if is_reached else (low, middle)

    def _first_slot(self, page: int) -> int:
        """The first slot that begins in a page, or behind it."""
        return -(-page * PAGE // self.entry_size)

    def _slots_of(self, page: int) -> tuple[int, int]:
        """The slots that begin in a page, [first, stop); the last one, where none does."""
        entries = self.entries
        return min(self._first_slot(page), entries - 1), min(self._first_slot(page + 1), entries)

    def _first_in(self, page: int) -> tuple[int, int]:
        """The numbers of a page's first entry, remembered: later lookups read the one page that they end in."""
        slot = self._slots_of(page)[0]
        stored = self._stored(slot)
        if slot == 0 or any(stored):  # else it could not be read
            self._firsts[page] = stored
        return stored

    def _find_padding(self) -> int:
        """The slot where zeros begin. The zero test need not be monotone (stale entries): any such slot will do.

        Most preallocated indexes hold a page of entries or less. So the first page is read as a whole, the search
        strides on behind it, and a page in which zeros begin is read as a whole, too.
        """
        if self.slots == 0 or self._is_filled(self.slots - 1):
            return self.slots
        page = PAGE // self.entry_size
        low, high, stride = 0, self.slots - 1, 2 * page
        filled = self._filled(0, min(page + 1, high))
        if len(filled) > page and filled[page]:
            low = page + 1
            while high - low > page:
                middle = min(low + stride, (low + high) // 2)
                if self._is_filled(middle):
                    low, stride = middle + 1, 2 * stride
                else:
                    high = middle
            filled = self._filled(low, high)
        return low + (len(filled) if filled.all() else int(filled.argmin()))

    def _filled(self, low: int, high: int) -> Flags:
        """A mask of the slots [low, high) that are not zeros; of fewer, where the file was cut meanwhile."""
        data = self._read(low * self.entry_size, (high - low) * self.entry_size)
        one, other = self.columns
        rows = np.frombuffer(data, self.dtype, len(data) // self.entry_size)
        return np.asarray((rows[one] != 0) | (rows[other] != 0))

    def _is_filled(self, slot: int) -> bool:
        return self._stored(slot) != (0, 0)


class OffsetPosition(NamedTuple):
    """An entry, its offset made absolute. `slot` is -1 if none applies: the scan starts at the segment's start.

    The search ends before the position `end`, that of the entry after the next, because the batch at the next entry
    reaches behind it. `end` is 0 if the index ends before that entry.
    """

    slot: int
    offset: int
    position: int
    end: int


class OffsetIndex(AbstractIndex[OffsetPosition]):
    """A place in the log at which to start looking for an offset. Source: OffsetIndex.

        int32  relative offset, from the segment's base: the last offset of a batch
        int32  position of that batch in the log; before Kafka 3.9.1 and 4.0.1 of the first batch of the same append

    Sparse: about one entry per `index.interval.bytes` of log, and never one for the first batch.
    """

    fields = struct.Struct(">ii")
    entry_size = fields.size
    columns = "offset", "position"
    dtype = np.dtype([("offset", ">i4"), ("position", ">i4")])

    def lookup(self, offset: int, probes: list[Probe] | None = None) -> OffsetPosition:
        """The last entry at or before `offset`; (base offset, 0) where there is none. `probes` hears of each look."""
        return self._floor(offset - self.base_offset, 0, probes)

    def entry(self, slot: int, page: IndexPage = NO_PAGE) -> OffsetPosition:
        """See `AbstractIndex`."""
        end = self._stored(slot + 2, page)[1] if slot + 2 < self.entries else 0
        if slot < 0:
            return OffsetPosition(-1, self.base_offset, 0, end)
        relative, position = self._stored(slot, page)
        return OffsetPosition(slot, self.base_offset + relative, position, end)

    def _is_in_order(self, rows: np.ndarray[tuple[int], np.dtype[np.void]]) -> bool:
        """Offsets and positions strictly increasing."""
        live = rows.view(">i4").reshape(-1, 2)
        return not len(live) or (bool((live[0] >= 0).all()) and bool((live[1:] > live[:-1]).all()))


class TimestampOffset(NamedTuple):
    """An entry, its offset made absolute. `slot` and `timestamp` are -1 if no entry applies."""

    slot: int
    timestamp: int
    offset: int


class TimeIndex(AbstractIndex[TimestampOffset]):
    """Entries of a timestamp and an offset: no record before the offset is newer. Source: TimeIndex.

        int64  timestamp [ms]: the largest so far in the segment
        int32  relative offset of the record or batch that has it

    An entry (T, o) promises that every record of the segment with a timestamp above T has an offset above o. One is
    tried whenever an offset index entry is written and when the segment is closed; it is kept only where T has grown.
    So the last entry of a closed segment is its largest timestamp, and that of a growing segment is behind. The time
    before any is -1: where the first record has the time 0 and no later one is newer, one entry of zeros is all of the
    file.
    """

    fields = struct.Struct(">qi")
    entry_size = fields.size
    columns = "timestamp", "offset"
    dtype = np.dtype([("timestamp", ">i8"), ("offset", ">i4")])

    def lookup(self, timestamp: int, probes: list[Probe] | None = None) -> TimestampOffset:
        """The last entry at or before `timestamp`; (-1, base offset) where there is none. `probes` hears each look."""
        return self._floor(timestamp, 0, probes)

    def lookup_offset(self, offset: int) -> TimestampOffset:
        """The last entry whose offset is at or before `offset`; (-1, base offset) where there is none."""
        return self._floor(offset - self.base_offset, 1)

    def last(self) -> TimestampOffset:
        """The last entry before the padding: for a closed segment its largest timestamp."""
        return self.entry(self.entries - 1)

    def _find_padding(self) -> int:
        return 1 if self.slots == 1 else super()._find_padding()  # a preallocated file has room for several

    def entry(self, slot: int, page: IndexPage = NO_PAGE) -> TimestampOffset:
        """See `AbstractIndex`."""
        if slot < 0:
            return TimestampOffset(-1, -1, self.base_offset)
        timestamp, relative = self._stored(slot, page)
        return TimestampOffset(slot, timestamp, self.base_offset + relative)

    def _is_in_order(self, rows: np.ndarray[tuple[int], np.dtype[np.void]]) -> bool:
        """Timestamps rising, offsets not falling."""
        timestamps, offsets = rows["timestamp"], rows["offset"]
        return not len(rows) or (
            bool(timestamps[0] >= 0 and offsets[0] >= 0)
            and bool((timestamps[1:] > timestamps[:-1]).all())
            and bool((offsets[1:] >= offsets[:-1]).all())
        )
