"""The records of an uncompressed v2 batch, taken apart byte by byte: for what a table's sums are held against."""

import struct
from typing import NamedTuple


class SlowRecord(NamedTuple):
    """Its whole size, with its length; its key, its value, and the bytes of names and values of its headers."""

    size: int
    key: bytes | None
    value: bytes | None
    headers: int


def varint(data, at):
    """A zigzag number and the place behind it."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at


def field(data, at):
    """Bytes with their length in front, None for null, and the place behind them."""
    size, at = varint(data, at)
    return (None, at) if size < 0 else (bytes(data[at : at + size]), at + size)


def slow_records(data):
    """All records of the batches that stand back to back in `data`."""
    found, at = [], 0
    while at < len(data):
        size, count = struct.unpack_from(">i", data, at + 8)[0], struct.unpack_from(">i", data, at + 57)[0]
        place = at + 61
        for _ in range(count):
            begin = place
            length, place = varint(data, place)
            end = place + length
            _, place = varint(data, place + 1)
            _, place = varint(data, place)
            key, place = field(data, place)
            value, place = field(data, place)
            headers, place = varint(data, place)
            total = 0
            for _ in range(headers):
                name, place = field(data, place)
                text, place = field(data, place)
                total += len(name) + len(text or b"")
            assert place == end
            found.append(SlowRecord(end - begin, key, value, total))
        at += 12 + size
    return found


def slow_superseded(records):
    """The bytes of those that a later one with the same key replaces."""
    last = {record.key: number for number, record in enumerate(records) if record.key is not None}
    return sum(
        record.size for number, record in enumerate(records) if record.key is not None and last[record.key] != number
    )
