"""Findings that many lookups share and that may be forgotten: pages of indexes (`index`), sound batches (`disk.hints`).

A mount's options hold them, and the command line makes the options. So nothing compiled is imported here: a build reads
the command line's words before it has compiled anything.
"""

from collections.abc import Hashable
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

MOST_PAGES = 1 << 11
"""Pages of indexes: sixteen megabytes at most, with their numbers. Both indexes of a thousand small segments have
room."""


class BoundedDict(dict[Key, Value]):
    """Never more than `most` values: if one more comes, all others are forgotten. Any thread may ask and add, without a
    lock, and a look costs no more than in any dict."""

    def __init__(self, most: int) -> None:
        self._most = most

    def remember(self, key: Key, value: Value) -> None:
        """Add a value."""
        if len(self) >= self._most:
            self.clear()
        self[key] = value
