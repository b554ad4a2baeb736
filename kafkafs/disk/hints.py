"""Findings that save the readers of one tree a look at the disk. They change no answer.

A mount or a command makes one `Hints` with its options (`DiskOptions`), and all its files lead there. Any thread may
ask and add. If all hints are forgotten, only time is lost.
"""

from kafkafs.disk.page_cache import PageCache
from kafkafs.format.index_pages import IndexPages

MOST_SOUND = 1 << 14
"""Keys of sound batches: a megabyte of them."""


class BoundedSet(set[int]):
    """Numbers, never more than `most`: if one more comes, all others are forgotten."""

    def __init__(self, most: int) -> None:
        self._most = most

    def remember(self, number: int) -> None:
        """Add a number."""
        if len(self) >= self._most:
            self.clear()
        self.add(number)


class Hints:
    """See the module."""

    def __init__(self, page_cache: PageCache | None = None, index_pages: IndexPages | None = None) -> None:
        self.page_cache = page_cache or PageCache()
        self.index_pages = IndexPages() if index_pages is None else index_pages
        self.sound_batches = BoundedSet(MOST_SOUND)  # see `log.large_batches`
