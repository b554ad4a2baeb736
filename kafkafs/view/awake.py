"""What half-read streams hold together, and who lets go of his part when it is too much.

A stream in the midst of its text holds megabytes: what it made ahead, a batch, its records. A thousand of them that
nobody reads at the moment would hold gigabytes. So whoever makes text says what he holds, and where that is more than
`BUDGET` in all, those that made some longest ago let go of theirs: they make it again when they are read on. Those who
have made none for a moment also let go where somebody else needs the memory for a large batch (see `room`).
"""

import threading
import time
from collections import OrderedDict
from typing import Protocol

from kafkafs.format.room import ROOM

BUDGET = 128 << 20
"""Bytes. A few dozen streams of large batches, or hundreds of small ones."""

IDLE_S = 0.5
"""Who has made nothing for so long is not being read."""


class Sleeper(Protocol):
    """Who can let go of what he holds and make it again."""

    def rest(self) -> bool:
        """Let go, unless somebody reads it now; whether it did. Answered at once."""


class Awake:
    """Who holds how much, in the order in which they said so last."""

    def __init__(self, budget: int = BUDGET) -> None:
        self._budget = budget
        self._lock = threading.Lock()
        self._held: OrderedDict[Sleeper, tuple[int, float]] = OrderedDict()  # bytes, and when that was said
        self._total = 0

    @property
    def has_plenty(self) -> bool:
        """Whether there is room for what nobody has asked for yet."""
        return 2 * self._total < self._budget

    def hold(self, sleeper: Sleeper, size: int) -> None:
        """It holds `size` bytes now, and is the last that should rest; 0 for who holds nothing any more."""
        with self._lock:
            before, _ = self._held.pop(sleeper, (0, 0.0))
            self._total += size - before
            if size:
                self._held[sleeper] = size, time.monotonic()
            others = list(self._held) if self._total > self._budget else []
        for other in others:
            if self._total <= self._budget or other is sleeper:
                break
            self._ask_to_rest(other)

    def rest_idle(self) -> None:
        """Has all those let go that have made nothing for a moment."""
        until = time.monotonic() - IDLE_S
        with self._lock:
            idle = [sleeper for sleeper, (_, since) in self._held.items() if since <= until]
        for sleeper in idle:
            self._ask_to_rest(sleeper)

    def _ask_to_rest(self, sleeper: Sleeper) -> None:
        if sleeper.rest():
            self.hold(sleeper, 0)


AWAKE = Awake()
"""That of this process."""


def share_room(limit: int) -> None:
    """From now on large batches have `limit` bytes together."""
    ROOM.limit, ROOM.ask_back = limit, AWAKE.rest_idle
