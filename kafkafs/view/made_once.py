"""A value that is made when it is first asked for, once, whichever thread that is.

`functools.cached_property` does not do for threads: in Python 3.11 all objects of a class share its lock, so that one
tree waits for another; from 3.12 on it has none, and two threads that ask at once make two.
"""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from kafkafs.disk.blocking import acquired

Value = TypeVar("Value")


class MadeOnce(Generic[Value]):
    """See the module. Where making it fails, the next that asks tries again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: list[Value] = []

    def get(self, make: Callable[[], Value]) -> Value:
        """The value, of `make` if there is none yet. Where another thread makes it, one that must not wait gets
        WouldBlock."""
        if not self._made:
            with acquired(self._lock):
                if not self._made:
                    self._made.append(make())
        return self._made[0]
