"""The usual case of a lookup, in a few microseconds: a healthy log whose index tells the truth.

From the place that an index names, one kernel steps from header to header to the batch that is wanted and checks what
`stretches` would check: order, bounds, checksums, the header behind. Where anything is unusual it is unsure, and the
careful path decides. One batch is stepped over without its checksum, the one that the index names: the next one is
sound and follows at its end, so the careful path comes to the same answer whether that first one is damaged or not.
"""

import threading
from array import array
from dataclasses import dataclass

from kafkafs.format import native
from kafkafs.format.batch import Batch, parse_batch
from kafkafs.format.batches import walk
from kafkafs.format.native.layout import (
    GLANCE_AT,
    GLANCE_FOUND,
    GLANCE_GOT,
    GLANCE_NEEDED,
    GLANCE_POSITION,
    GLANCE_UNSURE,
)
from kafkafs.log.files import DataFile
from kafkafs.log.stretches import Bounds, Stretch

ANY = -(2**63)
_NO_LIMIT = 2**63 - 1
_AT, _GOT, _NEEDED, _POSITION = (place // 8 for place in (GLANCE_AT, GLANCE_GOT, GLANCE_NEEDED, GLANCE_POSITION))
_FIRST_LOOK = 4096
_ROOM = (1 << 20) + 4096
"""The largest batch that is looked at here: what a broker takes unless it is told otherwise."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The first batch whose last offset is at or after `offset` and whose largest timestamp is at or after `timestamp`.

    `landmark`: a batch that must be passed on the way, as its offset and largest timestamp, or the index is wrong.
    """

    offset: int = ANY
    timestamp: int = ANY
    landmark: tuple[int, int] | None = None


class Glimpse:
    """A sound batch, where it was read: good until the thread's next glance."""

    __slots__ = ("_data", "_position")

    def __init__(self, data: memoryview, position: int) -> None:
        self._data = data
        self._position = position

    def batch(self) -> Batch:
        """Its header and place."""
        batch = parse_batch(self._data, 0, self._position)
        assert batch is not None
        return batch

    def stretch(self) -> Stretch:
        """The whole batch, to keep."""
        data = bytes(self._data)
        rows = walk(data, self._position, verify=False).rows[:1]
        return Stretch(data[: int(rows["size"][0])], self._position, rows)


class _Room(threading.local):
    """A thread's own buffer, and where it lies."""

    def __init__(self) -> None:
        self.view = memoryview(bytearray(_ROOM))
        self.address = native.address(self.view)


_room = _Room()


def glance(file: DataFile, position: int, entry_offset: int | None, bounds: Bounds, wanted: Wanted) -> Glimpse | None:
    """The batch wanted, at or behind `position`; None where only the careful path can tell.

    `entry_offset` is that of the index entry which names `position`; None where no entry does (the segment's start).
    The file may change meanwhile: the caller checks that behind.
    """
    if not 0 <= position < bounds.end:
        return None
    kernel, room = native.kernel("glance"), _room
    landmark = wanted.landmark or (_NO_LIMIT, 0)
    state = array("q", (
        position, 0, bounds.end, bounds.first_offset - 1, _NO_LIMIT if bounds.next_base is None else bounds.next_base,
        wanted.offset, wanted.timestamp, *landmark, _NO_LIMIT if entry_offset is None else entry_offset,
        1, entry_offset is None, 0, 0,
    ))  # fmt: skip
    where, size = state.buffer_info()[0], _FIRST_LOOK
    while size <= _ROOM:
        size = min(size, bounds.end - position)
        if file.read_into(room.view[:size], position) < size:
            return None
        state[_GOT] = size
        code = kernel(room.address, where)
        if code == GLANCE_FOUND:
            at = state[_AT]
            return Glimpse(room.view[at:size], position + at)
        if code == GLANCE_UNSURE:
            return None
        position, size = state[_POSITION], state[_NEEDED]
    return None
