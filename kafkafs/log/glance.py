"""The usual case of a lookup, in a few microseconds: a healthy log whose index tells the truth.

From the place that the index names, one kernel steps from header to header to the batch that is wanted and checks what
`stretches` would check: order, bounds, checksums, the header behind. Where anything is unusual it is unsure, and the
careful path decides. One batch is stepped over without its checksum, the one that the index names: the next one is
sound and follows at its end, so the careful path comes to the same answer whether that first one is damaged or not.
"""

import os
import threading
from array import array
from typing import NamedTuple

from kafkafs.format import native
from kafkafs.format.batch import Batch, parse_batch
from kafkafs.format.batches import walk
from kafkafs.format.native.layout import GLANCE_AT, GLANCE_FOUND, GLANCE_POSITION
from kafkafs.log.files import DataFile
from kafkafs.log.patience import is_impatient
from kafkafs.log.stretches import Bounds, Stretch

ANY = -(2**63)
_NO_LIMIT = 2**63 - 1
_AT, _POSITION = GLANCE_AT // 8, GLANCE_POSITION // 8
_ROOM = (1 << 20) + 4096
"""The largest batch that is looked at here: what a broker takes unless it is told otherwise."""

_COLD = 64 << 10
"""The largest that may have to come from the disk: longer reads take care of the page cache."""


class Wanted(NamedTuple):
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
        data = bytes(self._data[: self.batch().size])
        return Stretch(data, self._position, walk(data, self._position, verify=False).rows)


class _Room(threading.local):
    """A thread's own buffer, and where it lies."""

    def __init__(self) -> None:
        self.view = memoryview(bytearray(_ROOM))
        self.address = native.address(self.view)


_room = _Room()


def glance(log: DataFile, index: DataFile | None, entries: int, sought: int, bounds: Bounds, wanted: Wanted
) -> Glimpse | None:  # fmt: skip
    """The batch wanted, at or behind the one that the index has for the offset `sought`.

    None where only the careful path can tell, or where a page is not in memory and this thread must not wait. The file
    may change meanwhile: the caller checks that behind.
    """
    room = _room
    flags, size = (os.RWF_NOWAIT, _ROOM) if is_impatient() else (0, _COLD)
    next_base = _NO_LIMIT if bounds.next_base is None else bounds.next_base
    state = array("q", (
        log.descriptor, index.descriptor if index else -1, flags, room.address, size,
        entries if index else 0, sought, bounds.first_offset, next_base, bounds.end,
        wanted.offset, wanted.timestamp, *(wanted.landmark or (_NO_LIMIT, 0)), 0, 0, 0, 0,
    ))  # fmt: skip
    if native.kernel("glance")(state.buffer_info()[0]) != GLANCE_FOUND:
        return None
    return Glimpse(room.view[state[_AT] :], state[_POSITION])
