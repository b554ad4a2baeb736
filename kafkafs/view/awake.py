"""What half-read streams hold together, and who lets go of his part when it is too much.

A stream in the midst of its text holds megabytes: what it made ahead, a batch, its records. A thousand of them that
nobody reads at the moment would hold gigabytes. So whoever makes text says what he holds, and where that is more than
`BUDGET` in all, those that made some longest ago let go of theirs: they make it again when they are read on.
"""

import threading
from collections import OrderedDict
from typing import Protocol

BUDGET = 128 << 20
"""Bytes. A few dozen streams of large batches, or hundreds of small ones."""


class Sleeper(Protocol):
    """Who can let go of what he holds and make it again."""

    def rest(self) -> bool:
        """Let go, unless somebody reads it now; whether it did. Answered at once."""


class Awake:
    """Who holds how much, in the order in which they said so last."""

    def __init__(self, budget: int = BUDGET) -> None:
        self._budget = budget
        self._lock = threading.Lock()
        self._held: OrderedDict[Sleeper, int] = OrderedDict()
        self._total = 0

    @property
    def has_plenty(self) -> bool:
        """Whether there is room for what nobody has asked for yet."""
        return 2 * self._total < self._budget

    def hold(self, sleeper: Sleeper, size: int) -> None:
        """It holds `size` bytes now, and is the last that should rest; 0 for who holds nothing any more."""
        with self._lock:
            self._total += size - self._held.pop(sleeper, 0)
            if size:
                self._held[sleeper] = size
            others = list(self._held) if self._total > self._budget else []
        for other in others:
            if self._total <= self._budget or other is sleeper:
                break
            if other.rest():
                self.hold(other, 0)
