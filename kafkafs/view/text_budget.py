"""What half-read streams of one tree hold together, and which of them lets go when it is too much.

A stream in the midst of its text holds megabytes: what it made before it was asked for, a batch, its records. A
thousand of them that are not read at the moment would hold gigabytes. So each says what it holds, and where that is
more than `BUDGET` in all, those that made some longest ago let go of theirs: they make it again when they are read on.
Those that have made none for a moment also let go where a reader needs the memory for a large batch (see
`format.memory`).

Text is made in turns, too: by fewer threads than there are processors, so that one is left to lookups.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

BUDGET = 128 << 20
"""Bytes. A few dozen streams of large batches, or hundreds of small ones."""

IDLE_S = 0.5
"""A stream that has made nothing for so long is not being read."""

_TURN_S = 0.05
"""Seconds that a piece of text should take at most."""


class TextHolder(Protocol):
    """What can let go of what it holds and make it again."""

    def release(self) -> bool:
        """Let go, unless it is being read; whether it did. Answered at once."""


class TextBudget:
    """Which streams hold how much, in the order in which they said so last."""

    def __init__(self, clock: Callable[[], float], budget: int = BUDGET) -> None:
        self._clock = clock
        self._budget = budget
        self._lock = threading.Lock()
        self._turns = threading.Semaphore(max(1, (os.cpu_count() or 1) - 1))
        self._held: OrderedDict[TextHolder, tuple[int, float]] = OrderedDict()  # bytes, and when that was said
        self._total = 0

    @property
    def has_spare(self) -> bool:
        """Whether there is room for what was not asked for yet."""
        return 2 * self._total < self._budget

    def hold(self, holder: TextHolder, size: int) -> None:
        """It holds `size` bytes now, and is the last that should let go; 0 where it holds nothing any more."""
        self._note(holder, size)
        with self._lock:
            others = list(self._held) if self._total > self._budget else []
        for other in others:
            if self._total <= self._budget or other is holder:
                break
            self._ask_to_release(other)

    def _note(self, holder: TextHolder, size: int) -> None:
        with self._lock:
            before, _ = self._held.pop(holder, (0, 0.0))
            self._total += size - before
            if size:
                self._held[holder] = size, self._clock()

    def release_idle(self) -> None:
        """Has all those let go that have made nothing for a moment."""
        until = self._clock() - IDLE_S
        with self._lock:
            idle = [holder for holder, (_, since) in self._held.items() if since <= until]
        for holder in idle:
            self._ask_to_release(holder)

    def _ask_to_release(self, holder: TextHolder) -> None:
        if holder.release():
            self._note(holder, 0)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """A context for making one piece of text.

        A thread that has waited for longer than a piece should take goes on nevertheless: those before it may wait for
        a disk that hangs.
        """
        taken = self._turns.acquire(timeout=_TURN_S)
        try:
            yield
        finally:
            if taken:
                self._turns.release()
