"""Findings that save the readers of one tree a look at the disk. They change no answer.

A mount or a command makes one `Hints` with its options (`DiskOptions`), and all its files lead there. Any thread may
ask and add. If all hints are forgotten, only time is lost.
"""

from typing import Any

from kafkafs.disk.page_cache import PageCache
from kafkafs.format.bounded import MOST_PAGES, BoundedDict

MOST_SOUND = 1 << 14
"""Keys of sound batches: a megabyte of them."""


class Hints:
    """Findings that save the readers of one tree a look at the disk."""

    def __init__(self, page_cache: PageCache | None = None) -> None:
        self.page_cache = page_cache or PageCache()
        self.index_pages: BoundedDict[tuple[int, int, int], Any] = BoundedDict(MOST_PAGES)  # see `format.index`
        self.sound_batches: BoundedDict[int, None] = BoundedDict(MOST_SOUND)  # see `log.large_batches`
