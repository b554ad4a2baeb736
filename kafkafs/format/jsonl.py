"""Records, and headers of batches, as JSON lines (docs/queries.md): columns in, bytes out, by a kernel and without an
object a record.

The lines come in pieces of at most a few megabytes, so that a range needs the same memory however long it is; a line
that is too large for one piece (a value of a hundred megabytes, a million headers) comes in several, cut between two
characters, after whole triples of base64, or between headers. Keys, values and header names that are no valid UTF-8
appear in base64, so that a line always has the original bytes.
"""

import functools
import json
from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np

from kafkafs.format import kernels
from kafkafs.format.batch import Batches
from kafkafs.format.memory import Array, Buffers
from kafkafs.format.native.layout import CREATE_TIME, LOG_APPEND_TIME
from kafkafs.format.records import Records, Rows
from kafkafs.format.strings import compact_json

_ROOMS = Buffers(2 << 20, keep=4)
"""Each for some pieces of output, one behind the other."""

LITTLE = 64 << 10
"""Bytes of a room that are not worth another piece."""

_FEW = 64
"""Records whose lines may have a smaller buffer."""

_TYPES = {CREATE_TIME: '"CreateTime"', LOG_APPEND_TIME: '"LogAppendTime"'}

_ONE = 4 << 10
"""Bytes that most lines find room in: tried first for one record alone."""


_NO_ROOM: Array = np.empty(0, np.uint8)


@functools.lru_cache(maxsize=64)
def padded_prefix(topic: str, partition: int, first: str = "") -> tuple[bytes, Array]:
    """How each line of a partition begins, and that with room behind: the kernel copies 16 bytes at a time.

    `first`: members that come before all others, each with a comma behind it.
    """
    prefix = f'{{{first}"topic":"{topic}","partition":{partition},"offset":'.encode()
    return prefix, np.frombuffer(prefix + bytes(16), np.uint8)


def line_head(prefix: bytes, row: np.void) -> bytes:
    """The line of a record up to `"key`, of which its partition's `prefix` comes first."""
    kind = _TYPES.get(int(row["timestamp_type"]), "null")
    return prefix + f'{row["offset"]},"timestamp":{row["timestamp"]},"timestampType":{kind},"key'.encode()


class LineMaker(Protocol):
    """Makes the lines of one partition's records: `JsonLines` as they are, `decoding.DecodedLines` by their schemas."""

    def pieces(self, records: Records, room: Array | None = None) -> Iterator[memoryview]:
        """The lines of all those records, in order. A piece ends with a line, unless that line is very long.

        The first ones are written into `room`, as far as they find room there.
        """


class JsonLines:
    """The lines of one partition's records."""

    def __init__(self, topic: str, partition: int, first: str = "") -> None:
        """`first`: see `padded_prefix`."""
        self._prefix, self._padded = padded_prefix(topic, partition, first)
        self._left = _NO_ROOM  # the unused part of the room that was written last

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
                row = records.rows[number]
                key = long_field(records, int(row["key_at"]), int(row["key_size"]))
                value = long_field(records, int(row["value_at"]), int(row["value_size"]))
                yield from long_line(line_head(self._prefix, row), records, number, key, value)
                number += 1

    def _room(self, rows: Rows, number: int, total: int) -> Array:
        """Return the buffer of the next piece: the rest of the same room, or a small buffer if only few records are
        left."""
        if len(self._left) >= LITTLE:
            return self._left
        if total - number > _FEW:
            return _ROOMS.take()
        bound = kernels.lines_bound(rows, number, total, len(self._prefix))
        return _ROOMS.take() if bound >= _ROOMS.size else np.empty(bound + 1, np.uint8)


_PIECE = 3 << 17
"""Bytes of input in one piece, a multiple of three for base64: at most six times that in output."""

_ROOM = 6 * _PIECE + 64


def long_line(
    head: bytes, records: Records, number: int, key: Iterable[memoryview], value: Iterable[memoryview]
) -> Iterator[memoryview]:
    """The line of record `number`: `head`, up to the name of its key, and the rest of its fields behind their names."""
    yield memoryview(head)
    yield from key
    yield memoryview(b',"value')
    yield from value
    yield memoryview(b',"headers":[')
    yield from long_headers(records, number)
    yield memoryview(b"]}\n")


def long_field(records: Records, at: int, size: int) -> Iterator[memoryview]:
    """The rest of a field behind its name."""
    if size < 0:
        yield memoryview(b'":null')
    elif kernels.is_text(records.data, at, size):
        yield memoryview(b'":"')
        yield from _text(records, at, at + size)
        yield memoryview(b'"')
    else:
        yield memoryview(b'Base64":"')
        for piece in range(0, size, _PIECE):
            room = np.empty(_ROOM, np.uint8)
            made = kernels.base64_piece(records.data, at + piece, min(_PIECE, size - piece), room)
            yield room.data[:made]
        yield memoryview(b'"')


def _text(records: Records, at: int, end: int) -> Iterator[memoryview]:
    while at < end:
        stop = min(at + _PIECE, end)
        while stop < end and records.data[stop] & 0xC0 == 0x80:
            stop -= 1
        room = np.empty(_ROOM, np.uint8)
        made = kernels.text_piece(records.data, at, stop - at, room)
        yield room.data[:made]
        at = stop


def long_headers(records: Records, number: int) -> Iterator[memoryview]:
    """As many headers in a piece as surely fit; one that is too large alone, field by field."""
    row = records.rows[number]
    at, count, index = int(row["headers_at"]), int(row["header_count"]), 0
    end = at + int(row["headers_size"])
    while index < count:
        room = np.empty(_ROOM, np.uint8)
        made, at, index = kernels.json_headers(records.data, at, end, index, count, room)
        yield room.data[:made]
        if index < count:
            yield memoryview(b',{"key' if index else b'{"key')
            (name_at, name_size), (value_at, value_size) = records.header_at(at)
            yield from long_field(records, name_at, name_size)
            yield memoryview(b',"value')
            yield from long_field(records, value_at, value_size)
            yield memoryview(b"}")
            at, index = value_at + max(value_size, 0), index + 1


FIELDS = (
    "segment", "position", "size", "magic", "baseOffset", "lastOffset", "count", "partitionLeaderEpoch", "crc", "valid",
    "codec", "timestampType", "baseTimestamp", "maxTimestamp", "isTransactional", "isControl", "deleteHorizonMs",
    "producerId", "producerEpoch", "baseSequence", "lastSequence",
)  # fmt: skip
"""The fields of a line, in their order."""

_BATCHES_ROOM = 1 << 20
"""Bytes of output in one piece, at most."""

_LINE = 1024
"""Bytes that a line takes at most, besides its segment's name."""


def batch_lines(segment: str, batches: Batches) -> Iterator[memoryview]:
    """A line for each row, in pieces of whole lines. `segment` is the file's name; UNCHECKED validity is null.

    For v0 and v1 messages, fields that only v2 has are null. For compressed ones, `baseOffset` and `count` are null
    too, because they need unpacking.
    """
    prefix = f'{{"segment":{json.dumps(segment, ensure_ascii=False)},"position":'.encode("utf-8", "surrogateescape")
    padded, number = prefix + bytes(16), 0
    batches = np.ascontiguousarray(batches)
    while number < len(batches):
        room = np.empty(min(_BATCHES_ROOM, (len(batches) - number + 1) * (_LINE + len(prefix))), np.uint8)
        made, number = kernels.batch_lines(batches, number, len(batches), padded, len(prefix), room)
        yield room.data[:made]


def unreadable_line(segment: str, position: int, size: int) -> bytes:
    """The line of bytes in which no header can be read: their place, and that they are not valid."""
    known = {"segment": segment, "position": position, "size": size, "valid": False}
    line = {field: known.get(field) for field in FIELDS}
    return compact_json(line).encode("utf-8", "surrogateescape") + b"\n"
