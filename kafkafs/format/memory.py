"""The memory that large batches may take together: a reader asks for it here, and gives it back by letting go.

A batch may unpack to `max_batch`, 256 MiB, and a mount has many readers. They share one `MemoryBudget`. A command that
reads one batch after the other needs none: it has `UNLIMITED`. A reader that gets nothing gets `BatchMemoryFull` at
once, releases what it holds and asks again later. No reader waits here for another reader that waits.

`Buffers` are of a few megabytes each and are used again once nothing holds them. From the system each of their pages
would come zeroed, one fault a page, which costs as much as decoding does. A buffer comes back when the last array or
memoryview over it is gone: none has to be handed back, and none shows another holder's bytes.
"""

import mmap
import threading
import weakref
from collections import deque
from collections.abc import Callable

import numpy as np

from kafkafs.errors import BatchMemoryFull

Bytes = bytes | bytearray | memoryview
"""Bytes that were read from a file, or unpacked."""

Array = np.ndarray[tuple[int], np.dtype[np.uint8]]


def pages(size: int) -> mmap.mmap:
    """Memory in whole pages: copying into them takes half as long. MemoryError where the system has none to give."""
    try:
        return mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # not shared with forked processes
    except OSError as error:
        raise MemoryError(f"no {size} bytes to read into: {error.strerror}") from error


class Buffers:
    """Hands out buffers of one size and keeps a few that are free; any thread may ask."""

    def __init__(self, size: int, keep: int) -> None:
        self.size = size
        self._free: deque[mmap.mmap] = deque(maxlen=keep)
        self._lent: dict[int, weakref.ref[Array]] = {}

    def take(self) -> Array:
        """`size` bytes of whatever content."""
        try:
            memory = self._free.pop()
        except IndexError:
            memory = pages(self.size)
        array: Array = np.frombuffer(memory, np.uint8)
        key = id(array)

        def back(_: object) -> None:
            """Nothing holds the array any more: its memory is for the next one that asks."""
            del self._lent[key]
            self._free.append(memory)

        self._lent[key] = weakref.ref(array, back)
        return array


LARGE = 16 << 20
"""Bytes. Smaller buffers are not counted, because a pool of threads makes only a few of them at a time."""


class Memory:
    """Lends as much as is asked for."""

    def take(self, size: int) -> Array:
        """`size` bytes of whatever content, shape (size,)."""
        return np.empty(size, np.uint8)


UNLIMITED = Memory()
"""For readers that nothing else runs beside."""


class MemoryBudget(Memory):
    """Lends `limit` bytes. Any thread may ask; they come back when the last array or memoryview over them is gone."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._reclaim: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self._lent: dict[int, int] = {}  # bytes, by array

    def reclaim_with(self, release: Callable[[], None]) -> None:
        """Calls `release` when memory runs short: it frees what is held and not needed at the moment."""
        self._reclaim.append(release)

    @property
    def taken(self) -> int:
        """Bytes that are lent."""
        return sum(self._lent.values())

    def take(self, size: int) -> Array:
        """`size` bytes of whatever content, shape (size,); BatchMemoryFull."""
        if size < LARGE:
            return np.empty(size, np.uint8)
        with self._lock:
            if self.has(size):
                array: Array = np.empty(size, np.uint8)
                self._lent[id(array)] = size
                weakref.finalize(array, self._lent.pop, id(array))  # at any moment, so without the lock
                return array
        raise BatchMemoryFull("too many large batches are read at the same time; try again", lambda: self.has(size))

    def has(self, size: int) -> bool:
        """True if there is memory for it. A request larger than the limit has to be alone."""
        if self._fits(size):
            return True
        for release in self._reclaim:
            release()
        return self._fits(size)

    def _fits(self, size: int) -> bool:
        taken = self.taken
        return not taken or taken + size <= self.limit
