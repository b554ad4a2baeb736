"""The time index: before which offset no record is newer than a timestamp. Source: TimeIndex.

    int64  timestamp [ms]: the largest so far in the segment
    int32  relative offset of the record or batch that has it

An entry (T, o) promises that every record of the segment with a timestamp above T has an offset above o. One is tried
whenever an offset index entry is written and when the segment is closed; it is kept only where T has grown. So the last
entry of a closed segment is its largest timestamp, and that of a growing segment is behind. The time before any is -1:
where the first record has the time 0 and no later one is newer, one entry of zeros is all of the file.
"""

import struct
from typing import NamedTuple

import numpy as np

from kafkafs.format.abstract_index import AbstractIndex, Pages, Probe

_ENTRY = struct.Struct(">qi")
_TIMESTAMP, _OFFSET = 0, 1


class TimestampOffset(NamedTuple):
    """An entry, its offset made absolute. `slot` and `timestamp` are -1 where no entry applies."""

    slot: int
    timestamp: int
    offset: int


class TimeIndex(AbstractIndex):
    """See the module. Lookups answer with an entry, which the caller checks against the log."""

    entry_size = _ENTRY.size
    columns = "timestamp", "offset"
    dtype = np.dtype([("timestamp", ">i8"), ("offset", ">i4")])

    def lookup(self, timestamp: int, probes: list[Probe] | None = None) -> TimestampOffset:
        """The last entry at or before `timestamp`; (-1, base offset) where there is none. `probes` hears each look."""
        pages = Pages(self._read, self.entry_size)
        return self._at(self._floor_slot(timestamp, _TIMESTAMP, pages, probes), pages)

    def lookup_offset(self, offset: int) -> TimestampOffset:
        """The last entry whose offset is at or before `offset`; (-1, base offset) where there is none."""
        pages = Pages(self._read, self.entry_size)
        return self._at(self._floor_slot(offset - self.base_offset, _OFFSET, pages), pages)

    def entry(self, slot: int) -> TimestampOffset:
        """The entry in `slot`; for -1 the start of the segment."""
        return self._at(slot, Pages(self._read, self.entry_size))

    def last(self) -> TimestampOffset:
        """The last entry before the padding: for a closed segment its largest timestamp."""
        return self.entry(self.entries - 1)

    def _find_padding(self) -> int:
        return 1 if self.slots == 1 else super()._find_padding()  # what is preallocated has room for more than one

    def _at(self, slot: int, pages: Pages) -> TimestampOffset:
        if slot < 0:
            return TimestampOffset(-1, -1, self.base_offset)
        timestamp, relative = _ENTRY.unpack_from(*pages.entry(slot))
        return TimestampOffset(slot, timestamp, self.base_offset + relative)

    def _fields(self, data: bytes, at: int) -> tuple[int, int]:
        fields: tuple[int, int] = _ENTRY.unpack_from(data, at)
        return fields

    def is_sane(self) -> bool:
        """Whether the file can be what Kafka writes: whole entries, timestamps rising, offsets not falling."""
        if self.entries > self.possible_entries:
            return False
        live = self.load()
        if self.length % self.entry_size or not len(live):
            return self.length % self.entry_size == 0
        timestamps, offsets = live["timestamp"], live["offset"]
        return (
            bool(timestamps[0] >= 0 and offsets[0] >= 0)
            and bool((timestamps[1:] > timestamps[:-1]).all())
            and bool((offsets[1:] >= offsets[:-1]).all())
        )
