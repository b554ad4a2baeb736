"""Records as JSON lines (docs/queries.md): columns in, bytes out, by one kernel and without an object a record.

The lines come in pieces of at most a few megabytes, so that a range needs the same memory however long it is; a line
that is too large for one piece comes in several. Keys, values and header names that are no valid UTF-8 appear in
base64, so that a line always tells the original bytes.
"""

import functools
from collections.abc import Iterator
from typing import Protocol

import numpy as np

from kafkafs.format import kernels
from kafkafs.format.long_line import long_line
from kafkafs.format.memory import Array, Buffers
from kafkafs.format.native.layout import CREATE_TIME, LOG_APPEND_TIME
from kafkafs.format.records import Records, Rows

_ROOMS = Buffers(2 << 20, keep=4)
"""Each for some pieces of output, one behind the other."""

_LITTLE = 64 << 10
"""Bytes of a room that are not worth another piece."""

_FEW = 64
"""Records whose lines may have a smaller buffer."""

_TYPES = {CREATE_TIME: '"CreateTime"', LOG_APPEND_TIME: '"LogAppendTime"'}


_ONE = 4 << 10
"""Bytes that most lines find room in: tried first for one record alone."""


@functools.lru_cache(maxsize=64)
def padded_prefix(topic: str, partition: int) -> tuple[bytes, Array]:
    """How each line of a partition begins, and that with room behind: the kernel copies 16 bytes at a time."""
    prefix = f'{{"topic":"{topic}","partition":{partition},"offset":'.encode()
    return prefix, np.frombuffer(prefix + bytes(16), np.uint8)


def line_head(prefix: bytes, row: np.void) -> bytes:
    """The line of a record up to `"key`, of which its partition's `prefix` comes first."""
    kind = _TYPES.get(int(row["timestamp_type"]), "null")
    return prefix + f'{row["offset"]},"timestamp":{row["timestamp"]},"timestampType":{kind},"key'.encode()


class LineMaker(Protocol):
    """Makes the lines of one partition's records: `JsonLines` as they are, `decoded_lines` by their schemas."""

    def pieces(self, records: Records, room: Array | None = None) -> Iterator[memoryview]:
        """The lines of all those records, in order. A piece ends with a line, unless that line is very long.

        The first ones are written into `room`, as far as they find room there.
        """


class JsonLines:
    """The lines of one partition's records."""

    def __init__(self, topic: str, partition: int) -> None:
        self._prefix, self._padded = padded_prefix(topic, partition)
        self._left: Array = np.empty(0, np.uint8)  # of the room that was written last

    def pieces(self, records: Records, room: Array | None = None) -> Iterator[memoryview]:
        """See `LineMaker`."""
        if room is not None:
            self._left = room
        number, total, tried = 0, len(records), False
        table = np.ascontiguousarray(records.rows)  # it may be every other row of another
        while number < total:
            room = np.empty(_ONE, np.uint8) if total == 1 and not tried else self._room(table, number, total)
            made, number = kernels.json_lines(table, number, total, records.data, self._padded, len(self._prefix), room)
            tried = True
            self._left = room[made:] if made else self._left[:0]
            if made:
                yield room.data[:made]
            elif len(room) >= _ROOMS.size:
                yield from long_line(line_head(self._prefix, records.rows[number]), records, number)
                number += 1

    def _room(self, rows: Rows, number: int, total: int) -> Array:
        """Where the next piece goes: on in the same room, or into a small buffer where only few records are left."""
        if len(self._left) >= _LITTLE:
            return self._left
        if total - number > _FEW:
            return _ROOMS.take()
        bound = kernels.lines_bound(rows, number, total, len(self._prefix))
        return _ROOMS.take() if bound >= _ROOMS.size else np.empty(bound + 1, np.uint8)
