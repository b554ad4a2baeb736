"""What the keys of all partitions take in memory together, and which lets go of its own when it is too much."""

import threading
from collections import OrderedDict
from typing import Protocol
from weakref import ReferenceType, ref

BUDGET = 64 << 20
"""Bytes. Eight a key that was found by a scan, so these are eight million keys; key indexes take next to nothing."""


class KeyHolder(Protocol):
    """What can let go of keys and find them again."""

    def forget(self) -> bool:
        """Let go of all, unless they are being looked for now; whether it did."""


class KeyMemory:
    """What holds how much, in the order in which it asked last."""

    def __init__(self, budget: int = BUDGET) -> None:
        self._budget = budget
        self._lock = threading.Lock()
        self._held: OrderedDict[ReferenceType[KeyHolder], int] = OrderedDict()

    def keep(self, holder: KeyHolder, size: int) -> bool:
        """Whether there is room for the `size` bytes that `holder` has now; others let go of theirs for it."""
        mine = ref(holder)
        with self._lock:
            self._held = OrderedDict((each, held) for each, held in self._held.items() if each() is not None)
            self._held[mine] = size
            self._held.move_to_end(mine)
            for each in list(self._held):
                other = each()
                if sum(self._held.values()) <= self._budget or each == mine:
                    break
                if other is not None and other.forget():
                    self._held.pop(each)
            return sum(self._held.values()) <= self._budget
