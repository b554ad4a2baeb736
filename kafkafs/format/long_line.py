"""One line of JSON that is too large for one piece: a value of a hundred megabytes, a million headers.

Its parts are the same as `jsonl`'s kernel writes at once, cut where that is possible: text between two characters,
base64 after whole triples, headers one from the next.
"""

from collections.abc import Iterator

import numpy as np

from kafkafs.format import kernels
from kafkafs.format.records import Records

_PIECE = 3 << 17
"""Bytes of input in one piece, a multiple of three for base64: at most six times that in output."""

_ROOM = 6 * _PIECE + 64


def long_line(head: bytes, records: Records, number: int) -> Iterator[memoryview]:
    """The line of record `number`, which begins with `head`, up to the name of its key."""
    row = records.rows[number]
    yield memoryview(head)
    yield from long_field(records, int(row["key_at"]), int(row["key_size"]))
    yield memoryview(b',"value')
    yield from long_field(records, int(row["value_at"]), int(row["value_size"]))
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
