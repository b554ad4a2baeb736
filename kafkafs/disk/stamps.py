"""Stamps of a bucket's folders as they were listed first, in this process or in one that was forked from the same.

A command and its worker processes each list what they need, at moments of their own. A folder that one of them has
listed must be as it was if another lists it, or the answer would be made of two copies.
"""

import mmap
from hashlib import blake2b

_SLOTS = 1 << 17
_IS_KNOWN = 1 << 32


class Stamps:
    """Stamps by folder, numbers of 32 bits. A slot is written at once, so no process waits for another."""

    def __init__(self, near: int = 16) -> None:
        """`near`: slots in which a folder may be. If they are taken, its stamp is known to this process only."""
        self._near = near
        self._slots = memoryview(mmap.mmap(-1, 8 * _SLOTS)).cast("Q")  # pages that are not used cost no memory
        self._own: dict[str, int] = {}

    def get(self, folder: str) -> int | None:
        """The stamp, if there is one."""
        place, tag = self._place(folder)
        found = 0 if place is None else self._slots[place]
        return found % _IS_KNOWN if found & _IS_KNOWN and found >> 33 == tag else self._own.get(folder)

    def settle(self, folder: str, stamp: int) -> bool:
        """Remember a stamp unless there is one. False if that is another one."""
        known = self.get(folder)
        if known is None:
            self._own[folder] = stamp
            self._put(folder, stamp | _IS_KNOWN)
        return known in (None, stamp)

    def forget(self, folder: str) -> None:
        """The folder may be another one from now on."""
        self._own.pop(folder, None)
        if self.get(folder) is not None:
            self._put(folder, 0)

    def _put(self, folder: str, value: int) -> None:
        place, tag = self._place(folder)
        if place is not None:
            self._slots[place] = tag << 33 | value

    def _place(self, folder: str) -> tuple[int | None, int]:
        """The folder's slot, or the first free one near it, and its tag."""
        number = int.from_bytes(blake2b(folder.encode("utf-8", "surrogateescape"), digest_size=8).digest())
        tag, first = number >> 33 | 1, number % _SLOTS
        for at in range(first, first + self._near):
            if self._slots[at % _SLOTS] >> 33 in (0, tag):
                return at % _SLOTS, tag
        return None, tag
