"""What the quick lookup's kernel works with: a table of numbers for each state of a segment, and a thread's buffers.

From the place that the indexes name, the kernel (`disk.native.kernels.quick_lookup`, with its invariants) steps from
header to header to the batch that is wanted, and checks what `batch_runs` would check: order, bounds, checksums, the
header behind. Where anything is unusual it is unsure.
"""

import os
import threading
from array import array

import numpy as np

from kafkafs.disk.blocking import is_non_blocking, may_block
from kafkafs.disk.data_file import DataFile
from kafkafs.disk.native.layout import (
    ANY,
    CHANGED,
    LOOKUP_SLOTS,
    ONE_RECORD,
    RECORD_INDEX_BITS,
    RECORD_INDEX_ROW,
    SLOT,
    UNSURE,
    VERIFIED_BITS,
)
from kafkafs.format import native
from kafkafs.format.batch import Batch, parse_batch
from kafkafs.format.batches import walk
from kafkafs.format.columns import Records
from kafkafs.format.native.layout import BATCH_ROW, RECORD, RECORD_ROW
from kafkafs.format.offset_index import OffsetIndex
from kafkafs.format.time_index import TimeIndex
from kafkafs.log.batch_runs import BatchRun

_NO_LIMIT = 2**63 - 1
_ROOM = (1 << 20) + 4096
"""The largest batch that is looked at here: what a broker takes unless it is told otherwise."""

_COLD = 64 << 10
"""The largest that may have to come from the disk: longer reads take care of the page cache."""


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
        self.proven = state[SLOT.proven]
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
        found = native.kernel("quick_record")(
            state_at, first_offset, timestamp, room.batch_at, room.record_at, room.out_at
        )
        if found != ONE_RECORD:
            return None
        start, size = room.out
        return Records(np.frombuffer(self._bytes(start, size), np.uint8), np.frombuffer(bytes(room.record), RECORD, 1))

    def _bytes(self, start: int, size: int) -> bytes:
        start += self._state[SLOT.at]
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
_blank = array("q", bytes(8 * LOOKUP_SLOTS))
_blank[SLOT.offset_last] = _blank[SLOT.time_first] = _blank[SLOT.time_last] = ANY
_verified = array("q", bytes(8 << VERIFIED_BITS))  # these two of all threads: see their kernels
_record_index = array("q", bytes(RECORD_INDEX_ROW << RECORD_INDEX_BITS))
_blank[SLOT.verified], _ = _verified.buffer_info()
_blank[SLOT.record_index], _ = _record_index.buffer_info()


class QuickTable:
    """What the kernel has to know of one segment in one state, made once.

    Any thread writes what a lookup has learned of the indexes, without a lock: each number at once, always the same.
    """

    __slots__ = ("_generation", "_offset_index", "_table", "_time_index", "log_end")

    def __init__(
        self,
        generation: int,
        base_offset: int,
        next_base: int | None,
        seen: tuple[int, int],
        log_end: int,
        index: OffsetIndex,
    ) -> None:
        """`generation`: what its batches are known by. `seen`: the log's size and time of change in that state."""
        self.log_end = log_end
        self._generation = generation
        self._offset_index = index
        self._time_index: TimeIndex | None = None
        self._table = table = _blank[:]
        table[SLOT.offset_entries], table[SLOT.base], table[SLOT.end] = index.most_entries, base_offset, log_end
        table[SLOT.next_base] = _NO_LIMIT if next_base is None else next_base
        table[SLOT.seen_size], table[SLOT.seen_time] = seen
        table[SLOT.generation] = generation

    def is_of(self, generation: int, log_end: int, index: OffsetIndex) -> bool:
        """Whether that state is this one, and what it knows of the index is of the one that was opened last."""
        return self._generation == generation and self.log_end == log_end and self._offset_index is index

    def set_time_index(self, index: TimeIndex) -> None:
        """What the kernel has to know of the time index, before the first lookup of a timestamp."""
        if self._time_index is not index:
            self._table[SLOT.time_entries] = index.most_entries
            self._table[SLOT.time_first] = self._table[SLOT.time_last] = ANY
            self._time_index = index

    def find(
        self,
        log: DataFile,
        offset_file: DataFile | None,
        time_file: DataFile | None,
        start_offset: int,
        offset: int,
        timestamp: int,
        need: int,
    ) -> QuickBatch | None:
        """The first batch, not before `start_offset`, whose last offset is at or after `offset` and whose largest
        timestamp is at or after `timestamp` (or ANY). A timestamp is looked up in the time index first.

        `need` is what is read of a batch that was found sound before: all of it, its header, or up to about the record.
        None where only the careful way can tell. A thread that must not wait gets WouldBlock for a page on disk: with
        the careful way it would ask for the same pages once more while they come, and the kernel take that for the
        beginning of a long read.
        """
        room, table = _room, self._table
        state = table[:]
        state[SLOT.log] = log.descriptor
        state[SLOT.offset_index] = offset_file.descriptor if offset_file is not None else -1
        state[SLOT.time_index] = time_file.descriptor if time_file is not None else -1
        state[SLOT.flags], state[SLOT.room_size] = (os.RWF_NOWAIT, _ROOM) if is_non_blocking() else (0, _COLD)
        state[SLOT.room] = room.address
        state[SLOT.start_offset] = start_offset
        state[SLOT.offset] = offset
        state[SLOT.timestamp] = timestamp
        state[SLOT.need] = need
        answer = native.kernel("quick_lookup")(state.buffer_info()[0])
        if answer == UNSURE:
            if state[SLOT.short]:
                may_block()
            return None
        if table[SLOT.offset_last] == ANY:
            table[SLOT.offset_last] = state[SLOT.offset_last]
        if time_file is not None and table[SLOT.time_last] == ANY:
            table[SLOT.time_first], table[SLOT.time_last] = state[SLOT.time_first], state[SLOT.time_last]
        batch = parse_batch(room.view, state[SLOT.at], state[SLOT.position])
        return None if batch is None else QuickBatch(state, batch, answer == CHANGED)
