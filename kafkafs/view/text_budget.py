"""What half-read streams hold together, and who lets go of his part when it is too much.

A stream in the midst of its text holds megabytes: what it made ahead, a batch, its records. A thousand of them that
nobody reads at the moment would hold gigabytes. So whoever makes text says what he holds, and where that is more than
`BUDGET` in all, those that made some longest ago let go of theirs: they make it again when they are read on. Those who
have made none for a moment also let go where somebody else needs the memory for a large batch (see `format.memory`).
"""

import threading
import time
from collections import OrderedDict
from typing import Protocol

from kafkafs.format.memory import MEMORY

BUDGET = 128 << 20
"""Bytes. A few dozen streams of large batches, or hundreds of small ones."""

IDLE_S = 0.5
"""Who has made nothing for so long is not being read."""


class TextHolder(Protocol):
    """Who can let go of what he holds and make it again."""

    def release(self) -> bool:
        """Let go, unless somebody reads it now; whether it did. Answered at once."""


class TextBudget:
    """Who holds how much, in the order in which they said so last."""

    def __init__(self, budget: int = BUDGET) -> None:
        self._budget = budget
        self._lock = threading.Lock()
        self._held: OrderedDict[TextHolder, tuple[int, float]] = OrderedDict()  # bytes, and when that was said
        self._total = 0

    @property
    def has_spare(self) -> bool:
        """Whether there is room for what nobody has asked for yet."""
        return 2 * self._total < self._budget

    def hold(self, holder: TextHolder, size: int) -> None:
        """It holds `size` bytes now, and is the last that should rest; 0 for who holds nothing any more."""
        with self._lock:
            before, _ = self._held.pop(holder, (0, 0.0))
            self._total += size - before
            if size:
                self._held[holder] = size, time.monotonic()
            others = list(self._held) if self._total > self._budget else []
        for other in others:
            if self._total <= self._budget or other is holder:
                break
            self._ask_to_release(other)

    def release_idle(self) -> None:
        """Has all those let go that have made nothing for a moment."""
        until = time.monotonic() - IDLE_S
        with self._lock:
            idle = [holder for holder, (_, since) in self._held.items() if since <= until]
        for holder in idle:
            self._ask_to_release(holder)

    def _ask_to_release(self, holder: TextHolder) -> None:
        if holder.release():
            self.hold(holder, 0)


TEXT_BUDGET = TextBudget()
"""That of this process."""


def share_room(limit: int) -> None:
    """From now on large batches have `limit` bytes together."""
    MEMORY.limit, MEMORY.ask_back = limit, TEXT_BUDGET.release_idle
