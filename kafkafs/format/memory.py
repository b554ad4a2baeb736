"""The memory that large batches may take together: who reads one asks for it here, and gives it back by letting go.

A batch may unpack to `max_batch`, 256 MiB, and a mount has many readers. There they share `limit` bytes; without a
limit, as in a command that reads one batch after the other, all get what they ask for. Who gets none has `Crowded` at
once, lets go of whatever he holds and asks again later: nobody waits here for somebody who waits too.
"""

import threading
import weakref
from collections.abc import Callable

import numpy as np

from kafkafs.errors import Crowded
from kafkafs.format.buffers import Array

LARGE = 16 << 20
"""Bytes. What is smaller is not counted: of that a pool of threads makes a few at a time, whoever asks."""


class MemoryBudget:
    """Lends memory. Any thread may ask; it comes back when the last array or memoryview over it is gone."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.ask_back: Callable[[], None] = lambda: None
        """Has those let go of theirs who do not need it at the moment."""
        self._lock = threading.Lock()
        self._lent: dict[int, int] = {}  # bytes, by array

    @property
    def taken(self) -> int:
        """Bytes that are lent."""
        return sum(self._lent.values())

    def take(self, size: int) -> Array:
        """`size` bytes of whatever content; Crowded."""
        if size < LARGE:
            return np.empty(size, np.uint8)
        with self._lock:
            if self.has(size):
                array: Array = np.empty(size, np.uint8)
                self._lent[id(array)] = size
                weakref.finalize(array, self._lent.pop, id(array))  # at any moment, so without the lock
                return array
        raise Crowded("too many large batches are read at the same time; try again", lambda: self.has(size))

    def has(self, size: int) -> bool:
        """Whether there is room. One that is larger than the limit has to be alone."""
        if self._fits(size):
            return True
        self.ask_back()
        return self._fits(size)

    def _fits(self, size: int) -> bool:
        taken = self.taken
        return self.limit is None or not taken or taken + size <= self.limit


MEMORY = MemoryBudget()
"""That of this process."""
