"""The usual case of a lookup, in a few microseconds: a healthy log whose indexes tell the truth.

From the place that the indexes name, one kernel steps from header to header to the batch that is wanted and checks what
`stretches` would check: order, bounds, checksums, the header behind. Where anything is unusual it is unsure, and the
careful path decides. One batch is stepped over without its checksum, the one that the index names: the next one is
sound and follows at its end, so the careful path comes to the same answer whether that first one is damaged or not.
"""

import os
import threading
from array import array
from typing import NamedTuple

import numpy as np

from kafkafs.format import native
from kafkafs.format.batch import HEADER_V2, Batch, parse_batch
from kafkafs.format.batches import walk
from kafkafs.format.columns import Records
from kafkafs.format.native.layout import (
    BATCH_ROW,
    GLANCE_ANY,
    GLANCE_AT,
    GLANCE_FOUND,
    GLANCE_POSITION,
    GLANCE_PROVEN,
    KNOWN_SLOTS_BITS,
    KNOWN_TIMES,
    NEED_ALL,
    NEED_HEADER,
    NEED_RECORD,
    RECORD,
    SEEK_FOUND,
)
from kafkafs.log.files import DataFile
from kafkafs.log.patience import is_impatient
from kafkafs.log.stretches import Bounds, Stretch

__all__ = ["ANY", "NEED_ALL", "NEED_HEADER", "NEED_RECORD", "Files", "Glimpse", "Wanted", "glance"]

ANY = GLANCE_ANY
_NO_LIMIT = 2**63 - 1
_AT, _POSITION, _PROVEN = GLANCE_AT // 8, GLANCE_POSITION // 8, GLANCE_PROVEN // 8
_ROOM = (1 << 20) + 4096
"""The largest batch that is looked at here: what a broker takes unless it is told otherwise."""

_COLD = 64 << 10
"""The largest that may have to come from the disk: longer reads take care of the page cache."""


class Wanted(NamedTuple):
    """The first batch whose last offset is at or after `offset` and whose largest timestamp is at or after `timestamp`.

    A timestamp is looked up in the time index first. `need` is what is read of a batch that was found sound before: all
    of it, its header, or up to about the record.
    """

    offset: int = ANY
    timestamp: int = ANY
    need: int = NEED_ALL


class Files(NamedTuple):
    """A segment's open files, and the number by which its batches are known. An index without a file has no entries."""

    generation: int
    log: DataFile
    offsets: DataFile | None
    offset_entries: int
    times: DataFile | None = None
    time_entries: int = 0


class Glimpse:
    """A sound batch, where it was read: good until the thread's next glance.

    `proven`: how many of its bytes were read, if it was found sound before; else 0.
    """

    __slots__ = ("_at", "_data", "_generation", "batch", "proven")

    def __init__(self, data: memoryview, at: int, batch: Batch, proven: int, generation: int) -> None:
        """`at` is the address of `data`."""
        self._data = data
        self._at = at
        self._generation = generation
        self.batch = batch
        self.proven = proven

    def stretch(self) -> Stretch:
        """The whole batch, to keep. Not for one that is proven."""
        data = bytes(self._data[: self.batch.size])
        return Stretch(data, self.batch.position, walk(data, self.batch.position, verify=False).rows)

    def record(self, first_offset: int, timestamp: int) -> Records | None:
        """The batch's first record with neither a smaller offset nor timestamp, to keep.

        None where there is none, and where a look at one record takes more: it is packed, or something is odd, or it
        lies behind what was read of a proven batch.
        """
        batch, room = self.batch, _room
        if batch.magic < 2 or batch.codec or batch.is_control:
            return None
        native.kernel("walk")(self._at, 0, batch.size, 0, False, room.batch_at, 1, room.out_at)
        if native.kernel("seek_record")(
            room.batch_at, self._at, HEADER_V2.size, self.proven or batch.size, self.proven,
            first_offset, timestamp, room.record_at, room.out_at,
        ) != SEEK_FOUND:  # fmt: skip
            return None
        start, size, largest = room.out
        if largest == batch.max_timestamp and not self.proven:
            native.kernel("learn")(_known_at, self._generation, batch.position, KNOWN_TIMES)
        return Records(np.frombuffer(bytes(self._data[start : start + size]), np.uint8), room.record[:1].copy())


class _Room(threading.local):
    """A thread's own buffers, and where they lie."""

    def __init__(self) -> None:
        self.view = memoryview(bytearray(_ROOM))
        self.address = native.address(self.view)
        self.batch = bytearray(BATCH_ROW)
        self.record = np.empty(2, RECORD)
        self.out = array("q", (0, 0, 0))
        self.batch_at, self.record_at = native.address(self.batch), native.address(self.record)
        self.out_at, _ = self.out.buffer_info()


_room = _Room()
_known = array("q", bytes(8 << KNOWN_SLOTS_BITS))  # of all threads: a slot is written at once
_known_at, _ = _known.buffer_info()


def glance(files: Files, sought: int, bounds: Bounds, wanted: Wanted) -> Glimpse | None:
    """The batch wanted, which lies not before the offset `sought`.

    None where only the careful path can tell, or where a page is not in memory and this thread must not wait. The file
    may change meanwhile: the caller checks that behind.
    """
    room = _room
    generation, log, offsets, offset_entries, times, time_entries = files
    flags, size = (os.RWF_NOWAIT, _ROOM) if is_impatient() else (0, _COLD)
    next_base = _NO_LIMIT if bounds.next_base is None else bounds.next_base
    state = array("q", (
        log.descriptor, offsets.descriptor if offsets else -1, offset_entries if offsets else 0,
        times.descriptor if times else -1, time_entries if times else 0, flags, room.address, size,
        sought, bounds.first_offset, next_base, bounds.end, wanted.offset, wanted.timestamp,
        wanted.need, _known_at, generation, 0, 0, 0, 0, 0,
    ))  # fmt: skip
    if native.kernel("glance")(state.buffer_info()[0]) != GLANCE_FOUND:
        return None
    at = state[_AT]
    data = room.view[at:]
    batch = parse_batch(data, 0, state[_POSITION])
    return None if batch is None else Glimpse(data, room.address + at, batch, state[_PROVEN], generation)
