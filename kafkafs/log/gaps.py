"""Offsets that are missing inside a segment from a tier: a tiered log is not compacted, so they are lost.

A broker notes size and end of what it uploads, in the metadata topic or in a manifest, and a shorter object is noticed
when it is opened. If nothing notes them, the log itself has to tell: its batches follow one another without a hole, up
to the start of the next segment. A topic that was compacted before it was tiered can have sound holes. An entry of the
offset index proves them: if the batch behind the hole is where the entry says, no bytes are missing before it.
"""

from collections.abc import Callable, Iterator

import numpy as np

from kafkafs.disk.data_file import DataFile
from kafkafs.errors import Lost
from kafkafs.format.batch import LARGEST_HEADER, Batches, is_wrapped, parse_batch
from kafkafs.format.index import OffsetIndex
from kafkafs.format.tables import Flags, Numbers
from kafkafs.log.batch_runs import BatchRun, Damage


class Holes:
    """Looks for holes in one walk through a segment's log."""

    def __init__(
        self, name: str, file: DataFile, index: OffsetIndex, needed: int, passed: Callable[[Lost], None] | None = None
    ) -> None:
        """`name` is what the segment's log is called in an error. Holes below the offset `needed` do not matter.
        `passed` hears of the others, and the walk goes on behind them."""
        self._name = name
        self._needed = needed
        self._passed = passed
        self._file = file
        self._index = index
        self._proven: int | None = None

    def check(self, items: Iterator[BatchRun | Damage], first: int, stop: int | None) -> Iterator[BatchRun | Damage]:
        """Yield the items of a walk that begins at the offset `first`. Raise Lost behind the items in front of a hole.

        `stop` is the offset up to which the log has to go; None if it is unknown.
        """
        reach = first - 1
        for item in items:
            if isinstance(item, Damage):
                reach = max(reach, item.last_offset)
                yield item
                continue
            behind, holes = _holes(item.rows, reach)
            for row in np.flatnonzero(holes & (item.rows["base_offset"] > self._needed)).tolist():
                if int(item.rows["position"][row]) > self._proven_up_to():
                    missing = int(behind[row - 1]) if row else reach
                    if row and self._passed is None:
                        yield item._replace(rows=item.rows[:row])
                    self._lost(missing + 1, int(item.rows["base_offset"][row]))
            reach = int(behind[-1])
            yield item
        if stop is not None and reach + 1 < stop:
            self._lost(reach + 1, stop)

    def _lost(self, first: int, stop: int) -> None:
        lost = Lost(f"{self._name} lacks the offsets {first} to {stop - 1}: it was cut")
        if self._passed is None:
            raise lost
        self._passed(lost)

    def _proven_up_to(self) -> int:
        """The position of the last index entry, if the log has its batch there; else -1."""
        if self._proven is None:
            entry = self._index.entry(self._index.entries - 1)
            header = None
            if entry.slot >= 0 and entry.position > 0:
                header = parse_batch(self._file.read(entry.position, LARGEST_HEADER), 0, entry.position)
            is_there = header is not None and header.last_offset == entry.offset
            self._proven = entry.position if is_there else -1
        return self._proven


def _holes(rows: Batches, reach: int) -> tuple[Numbers, Flags]:
    """Up to which offset each batch and those before it go, and whether offsets are missing in front of it. `reach` is
    that offset before the first one. Compressed messages of old formats do not tell their first offset."""
    held = np.maximum(rows["last_offset"], rows["base_offset"] + rows["count"] - 1)
    behind = np.maximum(np.maximum.accumulate(held), reach)
    before = np.concatenate(([reach], behind[:-1]))
    return behind, (rows["base_offset"] > before + 1) & ~is_wrapped(rows)
