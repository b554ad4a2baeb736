"""Large buffers that are used again once nothing holds them.

Decoding makes megabytes a millisecond. From the system each of their pages would come zeroed, one fault a page, which
costs as much as decoding does; so a few buffers stay. A buffer comes back when the last array or memoryview over it is
gone: none has to be handed back, and none shows another holder's bytes.
"""

import mmap
import weakref
from collections import deque

import numpy as np

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
