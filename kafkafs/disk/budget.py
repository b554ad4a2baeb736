"""The total of what many hold, memory or descriptors, and the choice of who releases some when the total is too large.

Each holder of memory says how much it holds: a half-read stream its text and its batch, a reader the bytes that were
read ahead, a partition the places of its keys. A thousand of them that nobody asks at the moment would hold gigabytes.
So where it is more than the budget in all, those that said so longest ago let go of theirs: they make it again when
they are asked.
"""

import resource
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
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
        """Close the kept file that was used longest ago."""

    def forget_cached(self) -> None:
        """Close all kept files."""


def _spare() -> int:
    return max(0, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - _OTHERS)


class DescriptorBudget:
    """How many descriptors the open files of one tree take together, however many directories they are in.

    A value beside `memory` in the options: the directories that are opened with it share it. They keep what was asked
    for last; where that is too much, the directory that keeps most lets go of the file that it was asked for longest
    ago. So a scan of one disk closes no file of another that is asked for a few. `_keepers` is replaced under the lock
    and read without it.
    """

    def __init__(self, spare: Callable[[], int] = _spare) -> None:
        """`spare` says how many descriptors are left for files."""
        self._spare = spare
        self._lock = threading.Lock()
        self._keepers: tuple[ReferenceType[FileKeeper], ...] = ()

    def share_with(self, keeper: FileKeeper) -> None:
        """Let `keeper` take part from now on, for as long as it lives."""
        with self._lock:
            self._keepers = (*(known for known in self._keepers if known() is not None), ref(keeper))

    def trim(self) -> None:
        """Close the files over the limit, when one more file is kept."""
        most, keepers = min(KEPT_FILES, self._spare() // 4), self._present()
        while sum(keeper.kept for keeper in keepers) > most:
            max(keepers, key=lambda keeper: keeper.kept).evict()

    def may_hold_more(self, beside: int = 0) -> bool:
        """True if handles may hold more files open for as long as they live: at most half of the descriptors to spare,
        and less if one handle reads from very many others at once."""
        spare, taken = self._spare(), 0
        for keeper in self._present():
            taken += keeper.open_files
        return taken < min(spare // 2, spare - beside)

    def release(self) -> None:
        """Close all kept files, so that descriptors are free for others."""
        for keeper in self._present():
            keeper.forget_cached()

    def _present(self) -> list[FileKeeper]:
        return [keeper for known in self._keepers if (keeper := known()) is not None]


IDLE_S = 0.5
"""A holder without a report for this time is not at work."""


class Holder(Protocol):
    """A holder that can release what it holds and make it again."""

    def release(self) -> bool:
        """Free everything, unless the holder is at work with it. Return true if it was freed. Does not block."""


class Budget:
    """The holders and their amounts, in the order in which they last said so. Any thread may say; none is kept alive by
    it."""

    def __init__(self, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        """`limit` in bytes; `clock` in seconds."""
        self._limit = limit
        self.clock = clock
        self._lock = threading.Lock()
        self._held: OrderedDict[ReferenceType[Holder], tuple[int, float]] = OrderedDict()  # bytes, and since when
        self.total = 0

    @property
    def has_spare(self) -> bool:
        """True if there is room for something that was not asked for yet."""
        return 2 * self.total < self._limit

    def hold(self, holder: Holder, size: int) -> bool:
        """Note that `holder` holds `size` bytes now, 0 if it holds nothing any more. It is the last that has to release
        its bytes. True if there is room for that, once others have released theirs."""
        mine = ref(holder)
        self._note(mine, size)
        with self._lock:
            others = list(self._held) if self.total > self._limit else []
        for other in others:
            if self.total <= self._limit or other == mine:
                break
            self._ask_to_release(other)
        return self.total <= self._limit

    def _note(self, holder: ReferenceType[Holder], size: int) -> None:
        with self._lock:
            before, _ = self._held.pop(holder, (0, 0.0))
            self.total += size - before
            if size:
                self._held[holder] = size, self.clock()

    def release_idle(self) -> None:
        """Has all those let go that have said nothing for a moment."""
        until = self.clock() - IDLE_S
        with self._lock:
            idle = [holder for holder, (_, since) in self._held.items() if since <= until]
        for holder in idle:
            self._ask_to_release(holder)

    def release(self, holder: Holder) -> None:
        """Has it let go: it is not asked any more, as far as anybody knows."""
        self._ask_to_release(ref(holder))

    def _ask_to_release(self, known: ReferenceType[Holder]) -> None:
        holder = known()  # a holder that is gone holds nothing
        if holder is None or holder.release():
            self._note(known, 0)
