"""What the quick lookup's kernel works with: a table of numbers for each state of a segment, and a thread's buffers.

From the place that the indexes name, the kernel (`kernels.glance`) steps from header to header to the batch that is
wanted and checks what `batch_runs` would check: order, bounds, checksums, the header behind. Where anything is unusual
it is unsure. One batch is stepped over without its checksum, the one that the index names: the next one is sound and
follows at its end, so a careful scan comes to the same answer whether that first one is damaged or not.
"""

import os
import threading
from array import array

import numpy as np

from kafkafs.disk.blocking import is_non_blocking, may_block
from kafkafs.disk.data_file import DataFile
from kafkafs.format import native
from kafkafs.format.batch import Batch, parse_batch
from kafkafs.format.batches import walk
from kafkafs.format.columns import Records
from kafkafs.format.native.layout import (
    BATCH_ROW,
    GLANCE_ANY,
    GLANCE_AT,
    GLANCE_BASE,
    GLANCE_CHANGED,
    GLANCE_END,
    GLANCE_ENTRIES,
    GLANCE_FLAGS,
    GLANCE_GENERATION,
    GLANCE_INDEX,
    GLANCE_KNOWN,
    GLANCE_LAST,
    GLANCE_LOG,
    GLANCE_NEED,
    GLANCE_NEXT_BASE,
    GLANCE_OFFSET,
    GLANCE_POSITION,
    GLANCE_PROVEN,
    GLANCE_ROOM,
    GLANCE_ROOM_SIZE,
    GLANCE_SEEN_SIZE,
    GLANCE_SEEN_TIME,
    GLANCE_SHORT,
    GLANCE_SOUGHT,
    GLANCE_TABLE,
    GLANCE_TIME_ENTRIES,
    GLANCE_TIME_FIRST,
    GLANCE_TIME_LAST,
    GLANCE_TIMES,
    GLANCE_TIMESTAMP,
    GLANCE_UNSURE,
    GLANCE_WAYPOINTS,
    KNOWN_SLOTS_BITS,
    NEED_ALL,
    NEED_HEADER,
    NEED_RECORD,
    RECORD,
    RECORD_ROW,
    SEEK_FOUND,
    WAYPOINT_ROW,
    WAYPOINT_SLOTS_BITS,
)
from kafkafs.format.offset_index import OffsetIndex
from kafkafs.format.time_index import TimeIndex
from kafkafs.log.batch_runs import BatchRun

__all__ = ["ANY", "NEED_ALL", "NEED_HEADER", "NEED_RECORD", "QuickBatch", "QuickTable"]

ANY = GLANCE_ANY
_NO_LIMIT = 2**63 - 1
_ROOM = (1 << 20) + 4096
"""The largest batch that is looked at here: what a broker takes unless it is told otherwise."""

_COLD = 64 << 10
"""The largest that may have to come from the disk: longer reads take care of the page cache."""

# The same places as the kernel's, in numbers instead of bytes.
_LOG, _INDEX, _ENTRIES, _LAST = (at // 8 for at in (GLANCE_LOG, GLANCE_INDEX, GLANCE_ENTRIES, GLANCE_LAST))
_TIMES, _TIME_ENTRIES = GLANCE_TIMES // 8, GLANCE_TIME_ENTRIES // 8
_TIME_FIRST, _TIME_LAST = GLANCE_TIME_FIRST // 8, GLANCE_TIME_LAST // 8
_FLAGS, _ROOM_AT, _ROOM_SIZE = GLANCE_FLAGS // 8, GLANCE_ROOM // 8, GLANCE_ROOM_SIZE // 8
_SOUGHT, _BASE, _NEXT_BASE, _END = (at // 8 for at in (GLANCE_SOUGHT, GLANCE_BASE, GLANCE_NEXT_BASE, GLANCE_END))
_SEEN_SIZE, _SEEN_TIME, _GENERATION = GLANCE_SEEN_SIZE // 8, GLANCE_SEEN_TIME // 8, GLANCE_GENERATION // 8
_OFFSET, _TIMESTAMP, _NEED = GLANCE_OFFSET // 8, GLANCE_TIMESTAMP // 8, GLANCE_NEED // 8
_AT, _POSITION, _PROVEN, _SHORT = (at // 8 for at in (GLANCE_AT, GLANCE_POSITION, GLANCE_PROVEN, GLANCE_SHORT))


class QuickBatch:
    """A sound batch, where it was read: good until the thread's next quick lookup.

    `proven`: how many of its bytes were read, if it was found sound before; else 0. `changed`: the log was not as it
    had been seen when the batch had been read.
    """

    __slots__ = ("_state", "batch", "changed", "proven")

    def __init__(self, state: "array[int]", batch: Batch, changed: bool) -> None:
        """`state` is the table that the kernel has filled."""
        self._state = state
        self.batch = batch
        self.proven = state[_PROVEN]
        self.changed = changed

    def batch_run(self) -> BatchRun:
        """The whole batch, to keep. Not for one that is proven."""
        data = self._bytes(0, self.batch.size)
        return BatchRun(data, self.batch.position, walk(data, self.batch.position, verify=False).rows)

    def record(self, first_offset: int, timestamp: int) -> Records | None:
        """The batch's first record with neither a smaller offset nor timestamp, to keep.

        None where there is none, and where a look at one record takes more: it is packed, or something is odd, or it
        lies behind what was read of a proven batch.
        """
        room, (state_at, _) = _room, self._state.buffer_info()
        found = native.kernel("seek_record")(
            state_at, first_offset, timestamp, room.batch_at, room.record_at, room.out_at
        )
        if found != SEEK_FOUND:
            return None
        start, size = room.out
        return Records(np.frombuffer(self._bytes(start, size), np.uint8), np.frombuffer(bytes(room.record), RECORD, 1))

    def _bytes(self, start: int, size: int) -> bytes:
        start += self._state[_AT]
        return bytes(_room.view[start : start + size])


class _Room(threading.local):
    """A thread's own buffers, and where they lie."""

    def __init__(self) -> None:
        self.view = memoryview(bytearray(_ROOM))
        self.batch, self.record = bytearray(BATCH_ROW), bytearray(2 * RECORD_ROW)
        self.out = array("q", (0, 0))
        self.address, self.batch_at, self.record_at, self.out_at = map(
            native.address, (self.view, self.batch, self.record, self.out)
        )


_room = _Room()
_blank = array("q", bytes(8 * GLANCE_TABLE))
_blank[_LAST] = _blank[_TIME_FIRST] = _blank[_TIME_LAST] = ANY
_known = array("q", bytes(8 << KNOWN_SLOTS_BITS))  # of all threads: a slot is written at once
_waypoints = array("q", bytes(WAYPOINT_ROW << WAYPOINT_SLOTS_BITS))
_blank[GLANCE_KNOWN // 8], _ = _known.buffer_info()
_blank[GLANCE_WAYPOINTS // 8], _ = _waypoints.buffer_info()


class QuickTable:
    """What the kernel has to know of one segment in one state, made once.

    Any thread writes what a lookup has learned of the indexes, without a lock: each number at once, always the same.
    """

    __slots__ = ("_generation", "_offset_index", "_table", "_time_index", "end")

    def __init__(
        self,
        generation: int,
        base_offset: int,
        next_base: int | None,
        seen: tuple[int, int],
        end: int,
        index: OffsetIndex,
    ) -> None:
        """`generation`: what its batches are known by. `seen`: the log's size and time of change in that state.
        `end`: the position at which the log ends."""
        self.end = end
        self._generation = generation
        self._offset_index = index
        self._time_index: TimeIndex | None = None
        self._table = table = _blank[:]
        table[_ENTRIES], table[_BASE], table[_END] = index.most_entries, base_offset, end
        table[_NEXT_BASE] = _NO_LIMIT if next_base is None else next_base
        table[_SEEN_SIZE], table[_SEEN_TIME] = seen
        table[_GENERATION] = generation

    def is_of(self, generation: int, end: int, index: OffsetIndex) -> bool:
        """Whether that state is this one, and what it knows of the index is of the one that was opened last."""
        return self._generation == generation and self.end == end and self._offset_index is index

    def tell_times(self, index: TimeIndex) -> None:
        """What the kernel has to know of the time index, before the first lookup of a timestamp."""
        if self._time_index is not index:
            self._table[_TIME_ENTRIES] = index.most_entries
            self._table[_TIME_FIRST] = self._table[_TIME_LAST] = ANY
            self._time_index = index

    def find(
        self,
        log: DataFile,
        offsets: DataFile | None,
        times: DataFile | None,
        sought: int,
        offset: int,
        timestamp: int,
        need: int,
    ) -> QuickBatch | None:
        """The first batch, not before the offset `sought`, whose last offset is at or after `offset` and whose largest
        timestamp is at or after `timestamp` (or ANY). A timestamp is looked up in the time index first.

        `need` is what is read of a batch that was found sound before: all of it, its header, or up to about the record.
        None where only the careful way can tell. A thread that must not wait gets WouldBlock for a page on disk: with
        the careful way it would ask for the same pages once more while they come, and the kernel take that for the
        beginning of a long read.
        """
        room, table = _room, self._table
        state = table[:]
        state[_LOG] = log.descriptor
        state[_INDEX] = offsets.descriptor if offsets is not None else -1
        state[_TIMES] = times.descriptor if times is not None else -1
        state[_FLAGS], state[_ROOM_SIZE] = (os.RWF_NOWAIT, _ROOM) if is_non_blocking() else (0, _COLD)
        state[_ROOM_AT] = room.address
        state[_SOUGHT] = sought
        state[_OFFSET] = offset
        state[_TIMESTAMP] = timestamp
        state[_NEED] = need
        answer = native.kernel("glance")(state.buffer_info()[0])
        if answer == GLANCE_UNSURE:
            if state[_SHORT]:
                may_block()
            return None
        if table[_LAST] == ANY:
            table[_LAST] = state[_LAST]
        if times is not None and table[_TIME_LAST] == ANY:
            table[_TIME_FIRST], table[_TIME_LAST] = state[_TIME_FIRST], state[_TIME_LAST]
        batch = parse_batch(room.view, state[_AT], state[_POSITION])
        return None if batch is None else QuickBatch(state, batch, answer == GLANCE_CHANGED)
