"""What many hold in memory together, and which of them lets go when it is too much.

Each says what it holds: a half-read stream its text and its batch, a partition where its keys are. A thousand of them
that nobody asks at the moment would hold gigabytes. So where it is more than the budget in all, those that said so
longest ago let go of theirs: they make it again when they are asked.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol
from weakref import ReferenceType, ref

IDLE_S = 0.5
"""Whoever has said nothing for so long is not at work."""


class Holder(Protocol):
    """What can let go of what it holds and make it again."""

    def release(self) -> bool:
        """Let go of all, unless it is at work with it; whether it did. Answered at once."""


class Budget:
    """Who holds how much, in the order in which they said so last. Any thread may say; none is kept alive by it."""

    def __init__(self, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        """`limit` in bytes."""
        self._limit = limit
        self._clock = clock
        self._lock = threading.Lock()
        self._held: OrderedDict[ReferenceType[Holder], tuple[int, float]] = OrderedDict()  # bytes, and since when
        self._total = 0

    @property
    def has_spare(self) -> bool:
        """Whether there is room for what was not asked for yet."""
        return 2 * self._total < self._limit

    def hold(self, holder: Holder, size: int) -> bool:
        """It holds `size` bytes now, 0 where it holds nothing any more, and is the last that should let go. Whether
        there is room for that, once others have let go of theirs."""
        mine = ref(holder)
        self._note(mine, size)
        with self._lock:
            others = list(self._held) if self._total > self._limit else []
        for other in others:
            if self._total <= self._limit or other == mine:
                break
            self._ask_to_release(other)
        return self._total <= self._limit

    def _note(self, holder: ReferenceType[Holder], size: int) -> None:
        with self._lock:
            before, _ = self._held.pop(holder, (0, 0.0))
            self._total += size - before
            if size:
                self._held[holder] = size, self._clock()

    def release_idle(self) -> None:
        """Has all those let go that have said nothing for a moment."""
        until = self._clock() - IDLE_S
        with self._lock:
            idle = [holder for holder, (_, since) in self._held.items() if since <= until]
        for holder in idle:
            self._ask_to_release(holder)

    def _ask_to_release(self, known: ReferenceType[Holder]) -> None:
        holder = known()  # what is gone holds nothing
        if holder is None or holder.release():
            self._note(known, 0)
