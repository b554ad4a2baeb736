"""The offset index: where in the log to start looking for an offset. Source: OffsetIndex.

    int32  relative offset, from the segment's base: the last offset of a batch
    int32  position of that batch in the log; before Kafka 3.9.1 and 4.0.1 of the first batch of the same append

Sparse: about one entry per `index.interval.bytes` of log, and never one for the first batch.
"""

import struct
from typing import NamedTuple

import numpy as np

from kafkafs.format.abstract_index import AbstractIndex, Pages, Probe

_ENTRY = struct.Struct(">ii")
_OFFSET = 0


class OffsetPosition(NamedTuple):
    """An entry, its offset made absolute. `slot` is -1 where none applies: the scan starts at the segment's start."""

    slot: int
    offset: int
    position: int


class OffsetIndex(AbstractIndex):
    """See the module. Lookups answer with an entry, which the caller checks against the log."""

    entry_size = _ENTRY.size
    columns = "offset", "position"
    dtype = np.dtype([("offset", ">i4"), ("position", ">i4")])

    def lookup(self, offset: int, probes: list[Probe] | None = None) -> OffsetPosition:
        """The last entry at or before `offset`; (base offset, 0) where there is none. `probes` hears of each look."""
        pages = Pages(self._read, self.entry_size)
        return self._at(self._floor_slot(offset - self.base_offset, _OFFSET, pages, probes), pages)

    def entry(self, slot: int) -> OffsetPosition:
        """The entry in `slot`; for -1 the start of the segment."""
        return self._at(slot, Pages(self._read, self.entry_size))

    def _at(self, slot: int, pages: Pages) -> OffsetPosition:
        if slot < 0:
            return OffsetPosition(-1, self.base_offset, 0)
        relative, position = _ENTRY.unpack_from(*pages.entry(slot))
        return OffsetPosition(slot, self.base_offset + relative, position)

    def _fields(self, data: bytes, at: int) -> tuple[int, int]:
        fields: tuple[int, int] = _ENTRY.unpack_from(data, at)
        return fields

    def is_sane(self) -> bool:
        """Whether the file can be what Kafka writes: whole entries, offsets and positions strictly increasing."""
        if self.length % self.entry_size or self.entries > self.possible_entries:
            return False
        live = self.load().view(">i4").reshape(-1, 2)
        return not len(live) or (bool((live[0] >= 0).all()) and bool((live[1:] > live[:-1]).all()))
