"""The pages of indexes that lookups remember (`index`). Many indexes share them.

A mount's options hold them, and the command line makes the options. So nothing compiled is imported here: a build reads
the command line's words before it has compiled anything.
"""

from itertools import count
from typing import NamedTuple


class IndexPage(NamedTuple):
    """The entries that begin in a page: the slot of the first one, their bytes, and one of the two numbers of each."""

    first: int
    data: bytes
    numbers: memoryview


NO_PAGE = IndexPage(0, b"", memoryview(b""))


MOST_PAGES = 1 << 11
"""Sixteen megabytes at most, with their numbers: both indexes of a thousand small segments have room."""


class IndexPages(dict[tuple[int, int, int], IndexPage]):
    """Pages that lookups ended in, by the index's number, the page's, and the column. Many indexes share one, and any
    thread may ask and add. (Without them a point takes 5 % longer by offset, 10 % by time.)"""

    def __init__(self, most: int = MOST_PAGES) -> None:
        self._most = most
        self.index_numbers = count()

    def remember(self, key: tuple[int, int, int], page: IndexPage) -> None:
        """Add a page. Forget all others if they are too many."""
        if len(self) >= self._most:
            self.clear()
        self[key] = page
