"""Large batches that were found sound while a lookup passed them: the next one that does reads their headers only.

One set for the process, of keys that are no other's: a segment's generation, which is another one as soon as its log
has changed, and a position. Nothing is lost when all are forgotten but time. (Without it a point in batches of 850 KB
takes twice as long.)
"""

from typing import NamedTuple

_MOST = 1 << 14
"""Keys: a megabyte of them."""

_known: set[int] = set()


class SoundBatches(NamedTuple):
    """Those of one segment in one state. Any thread may ask and add: what is known of a key is always the same."""

    generation: int

    def has(self, position: int) -> bool:
        """Whether the batch at that position was found sound, and has not been forgotten."""
        return self.generation << 32 | position in _known

    def add(self, position: int) -> None:
        """Remember it, and forget all others where they are too many."""
        if len(_known) >= _MOST:
            _known.clear()
        _known.add(self.generation << 32 | position)
