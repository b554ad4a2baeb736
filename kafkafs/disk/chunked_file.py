"""A file that is elsewhere in chunks, fetched whole and kept for a while: an object of a remote tier.

The missing chunks of a read are fetched together, up to `TOGETHER` bytes or two chunks. Behind a reader that goes
straight on as many bytes are fetched before it asks, if they are a quarter of what the cache holds at most. If they
come too late all the same, several requests are made at a time.

It never changes: an object that was written is replaced by none, and would be another file. The form of a chunk
(compressed, encrypted) is not known here: `chunk` gives its bytes in clear.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from zlib import crc32

import numpy as np

from kafkafs.disk.access import Access, access_of
from kafkafs.disk.blocking import is_non_blocking, may_block
from kafkafs.disk.chunk_cache import ChunkCache
from kafkafs.disk.data_file import DataFile, DiskOptions
from kafkafs.disk.straight_file import AskedRange, StraightFile
from kafkafs.errors import DiskError, NotFound, Vanished
from kafkafs.format.memory import Bytes

FetchChunks = Callable[[int, int], Sequence[Bytes]]
"""The bytes in clear of the chunks from that number on, so many. DiskError if they cannot be had, NotFound if
their object is gone, WouldBlock never."""

TOGETHER = 8 << 20

_SHARES = 4
"""A part of the cache that one request may fill ahead of a reader; all together may fill half of it."""

_DEEPEST = 4

STRAIGHT = 1 << 20
"""A reader that has read so many bytes one behind the other will go on: a point has not."""


@dataclass(frozen=True, slots=True)
class ReadsAhead:
    """Requests that nobody waits for."""

    begin: Callable[[int], bool]
    """Asks for so many chunks, from the first one on, if that takes no waiting. `chunks` receives as many."""
    stream: Callable[[int, int], AskedRange | None]
    """Asks for bytes at a position."""


class ChunkedFile(DataFile):
    """`size` bytes, in chunks of `chunk_size`; the last one is shorter.

    Threads write `_read_to`, `_straight`, `_passed_to` and `_fetched_to` without a lock: the last value counts, and a
    wrong one costs a fetch.
    """

    def __init__(
        self, name: str, about: os.stat_result, chunk_size: int, chunks: FetchChunks, cache: ChunkCache,
        options: DiskOptions, ahead: "ReadsAhead | None" = None,
    ) -> None:  # fmt: skip
        """`name` is the object's, `about` has its size; both tell its chunks from those of others, and of one that had
        the name before."""
        super().__init__(name, inode_of(name), options)
        self._object = name, about.st_size, about.st_mtime_ns, about.st_dev, about.st_ino
        self._stat = about
        self._size = about.st_size
        self._chunk_size = chunk_size
        self._chunks = chunks
        self._cache = cache
        self._read_to = self._straight = self._passed_to = 0
        self._fetched_to = 0  # the chunk up to which it was fetched ahead
        self._depth = 1  # requests ahead of a reader
        self._ahead = ahead
        self._begun = 0  # chunks from the first one on that were asked for, and that nobody has received

    def stat(self) -> os.stat_result:
        """See `DataFile`: the attributes that were given to the constructor."""
        return self._stat

    def access(self, about: os.stat_result) -> Access:
        """See `DataFile`: objects have no access control list."""
        return access_of(about, None)

    def read(self, position: int, size: int, *, passing: bool = False) -> bytes:  # noqa: ARG002 (leaves no pages)
        """See `DataFile`."""
        parts = self._going_on(position, size)
        return bytes(parts[0]) if len(parts) == 1 else b"".join(parts)

    def read_long(self, position: int, size: int) -> memoryview:
        """See `DataFile`: a view of the chunks, if one fetch has brought them."""
        return _joined(self._going_on(position, size))

    def read_into(
        self,
        buffer: memoryview,
        position: int,
        *,
        passing: bool = False,
        straight: bool = False,  # noqa: ARG002
    ) -> int:
        """See `DataFile`. It leaves no pages. Behind a read that is `passing`, nothing is fetched ahead."""
        at = 0
        for part in (self._parts if passing else self._going_on)(position, len(buffer)):
            buffer[at : at + len(part)] = part
            at += len(part)
        return at

    def next_data(self, position: int) -> int:
        """See `DataFile`: there are no holes."""
        return position

    def fetch(self, position: int, size: int) -> None:
        """See `DataFile`. A damaged index may name a place that no file has."""
        if position >= 0:
            self._parts(position, min(size, TOGETHER))

    def fetch_soon(self) -> None:
        """See `DataFile`: of a larger file the first `TOGETHER` bytes."""
        count = max(1, -(-min(TOGETHER, self._size) // self._chunk_size))
        if self._size and not self._cache.has((self._object, 0)):
            size = min(count * self._chunk_size, self._size)
            if self._begun or (self._ahead is not None and self._ahead.begin(count)):
                self._begun = count
                self._fetched_to = max(self._fetched_to, count)
            elif self._ahead is not None and self._size > TOGETHER:
                return  # its reader goes `straight`, and keeps nothing here
            elif self._cache.fetch_ahead((self._object, 0), partial(self._fetched, 0, count), size):
                self._fetched_to = max(self._fetched_to, count)

    def straight(self, position: int, end: int, *, is_whole: bool = False) -> DataFile:
        """See `DataFile`. A small object is fetched whole, and kept."""
        end = min(end, self._size)
        if self._ahead is None or is_non_blocking() or self._size <= TOGETHER or end - position <= STRAIGHT:
            return self
        behind = position
        while behind < end and (
            self._cache.has((self._object, behind // self._chunk_size)) or (behind == position and not is_whole)
        ):  # a point ends in the first chunk
            behind += self._chunk_size - behind % self._chunk_size
        return StraightFile(self, self._options, (position, behind, end), self._ahead.stream, is_whole)

    def forget(self, position: int, size: int) -> bool:
        """See `DataFile`: chunks may have arrived damaged."""
        first, last = position // self._chunk_size, max(position, position + size - 1) // self._chunk_size
        dropped = False
        for number in range(first, min(last, first + TOGETHER // self._chunk_size) + 1):
            if self._cache.has((self._object, number)):
                self._cache.forget((self._object, number))
                dropped = True
        return dropped

    def _going_on(self, position: int, size: int) -> list[memoryview]:
        """As `_parts`; where the reader goes on from where it was, what is behind is fetched ahead."""
        end, was_at = min(position + size, self._size), self._read_to
        self._straight = self._straight + end - was_at if position <= was_at <= end else 0
        self._read_to = end
        parts = self._parts(position, size)
        if self._straight >= STRAIGHT:  # and what is before `position` is not read again
            for number in range(self._passed_to, position // self._chunk_size):
                self._cache.passed((self._object, number))
            self._fetch_behind((end - 1) // self._chunk_size)
        self._passed_to = position // self._chunk_size
        return parts

    def _fetch_behind(self, last: int) -> None:
        """Fetches ahead behind that chunk, unless enough was: as many requests at a time as keep the reader busy."""
        count = max(1, TOGETHER // self._chunk_size)
        end, size = -(-self._size // self._chunk_size), count * self._chunk_size
        most = min(self._depth, 2 * self._cache.limit // (_SHARES * size)) or int(_SHARES * size <= self._cache.limit)
        for _ in range(most):
            first = max(last + 1, self._fetched_to if self._fetched_to <= last + 1 + most * count else 0)
            is_near = first - last - 1 <= (most - 1) * count + count // 2
            wanted = self._missing(first, min(count, end - first))
            if wanted <= 0 or not is_near or self._cache.has((self._object, first)):
                return
            fetch = partial(self._fetched, first, wanted)
            if not self._cache.fetch_ahead((self._object, first), fetch, wanted * self._chunk_size):
                return
            self._fetched_to = first + wanted

    def _parts(self, position: int, size: int) -> list[memoryview]:
        """Return the bytes of [position, position + size) out of the chunks."""
        end = min(position + size, self._size)
        last = (end - 1) // self._chunk_size
        parts = []
        while position < end:
            number, skipped = divmod(position, self._chunk_size)
            part = self._cached(number, last)[skipped : skipped + end - position]
            parts.append(part)
            position += len(part)
        return parts

    def _cached(self, number: int, last: int) -> memoryview:
        """A chunk. If the chunk has to be fetched, the missing chunks behind it up to `last` are fetched too."""
        piece = self._cache.known((self._object, number))
        if piece is None:
            may_block()
            if number < self._fetched_to and self._straight >= STRAIGHT:  # it comes too late
                self._depth = min(self._depth + 1, _DEEPEST)
            most = min(max(2 * self._chunk_size, TOGETHER), self._cache.limit) // self._chunk_size
            count = self._missing(number, min(last - number + 1, max(1, most)))
            if number == 0 and self._begun:
                count, self._begun = self._begun, 0
            size = min(count * self._chunk_size, self._size - number * self._chunk_size)
            piece = self._cache.get((self._object, number), lambda: self._fetched(number, count), size)
        return memoryview(piece)

    def _missing(self, first: int, most: int) -> int:
        """How many chunks to fetch from `first` on: up to one that is here."""
        return next((each for each in range(1, most) if self._cache.has((self._object, first + each))), most)

    def _fetched(self, first: int, count: int) -> Bytes:
        """The first of so many chunks; the others are in the cache by then."""
        try:
            pieces = self._chunks(first, count)
        except NotFound as error:  # NotFound would mean that there is no such record
            raise Vanished(f"{self.name!r} disappeared: {error}") from error
        for number, piece in enumerate(pieces, first):
            expected = min(self._chunk_size, self._size - number * self._chunk_size)
            if len(piece) != expected:
                found = f"chunk {number} of {self.name!r} has {len(piece)} bytes"
                raise DiskError(f"{found}, and {expected} were announced")
        for number, piece in enumerate(pieces[1:], first + 1):
            self._cache.keep((self._object, number), piece)
        return pieces[0]


def _joined(parts: list[memoryview]) -> memoryview:
    """The parts as one: without a copy, where they are one behind the other in memory."""
    if len(parts) == 1:
        return parts[0]
    if parts and all(each.obj is parts[0].obj for each in parts):
        arrays = [np.frombuffer(each, np.uint8) for each in parts]
        places = [each.__array_interface__["data"][0] for each in arrays]
        if all(place + len(part) == behind for place, part, behind in zip(places, parts, places[1:], strict=False)):
            whole = memoryview(parts[0].obj).cast("B")
            first = places[0] - np.frombuffer(whole, np.uint8).__array_interface__["data"][0]
            return whole[first : first + sum(map(len, parts))]
    return memoryview(b"".join(parts))


def inode_of(name: str) -> int:
    """A number for an object, by its name."""
    data = name.encode("utf-8", "surrogateescape")
    return (crc32(data) << 32 | crc32(data[::-1])) >> 1
