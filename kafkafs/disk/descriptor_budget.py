"""How many descriptors the open files of one tree take together, however many directories they lie in.

A value beside `memory` in the options: the directories that are opened with it share it. They keep what was asked for
last; where that is too much, the directory that keeps most lets go of the file that it was asked for longest ago. So a
scan of one disk closes no file of another that is asked for a few.
"""

import resource
import threading
from typing import Protocol
from weakref import ReferenceType, ref

KEPT_FILES = 4096
"""Descriptors that are kept at most, the three files of a thousand segments; files that handles hold open come on top.
To open one takes longer than to answer from it."""

_OTHERS = 24
"""Descriptors that a mount of one data directory needs beside those of files: 21 of its own, three to answer from. The
quarter that is left over has those of further ones, and of threads that answer."""


class FileKeeper(Protocol):
    """A directory, as far as the budget asks. It takes its own lock, so it holds none while it asks the budget."""

    @property
    def kept(self) -> int:
        """How many files it keeps."""

    @property
    def open_files(self) -> int:
        """How many files of it are open, those that are kept among them."""

    def evict(self) -> None:
        """Let go of the kept file that was asked for longest ago."""

    def forget_cached(self) -> None:
        """Let go of all that is kept."""


class DescriptorBudget:
    """See the module. `_keepers` is replaced under the lock and read without it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keepers: tuple[ReferenceType[FileKeeper], ...] = ()

    def share_with(self, keeper: FileKeeper) -> None:
        """It takes part from now on, for as long as it lives."""
        with self._lock:
            self._keepers = (*(known for known in self._keepers if known() is not None), ref(keeper))

    def trim(self) -> None:
        """Call when one more file is kept: of what is too much all is let go of."""
        most, keepers = min(KEPT_FILES, _spare() // 4), self._present()
        while sum(keeper.kept for keeper in keepers) > most:
            max(keepers, key=lambda keeper: keeper.kept).evict()

    def may_hold_more(self) -> bool:
        """Whether handles may hold more files open for as long as they live: half of what can be spared at most."""
        return sum(keeper.open_files for keeper in self._present()) < _spare() // 2

    def release(self) -> None:
        """Let go of all that is kept, so that descriptors are free for others."""
        for keeper in self._present():
            keeper.forget_cached()

    def _present(self) -> list[FileKeeper]:
        return [keeper for known in self._keepers if (keeper := known()) is not None]


def _spare() -> int:
    return max(0, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - _OTHERS)
