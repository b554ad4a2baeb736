"""The readers of single values: numbers, uuids, strings, bytes, and their lengths.

The exceptions of a reader are private to this package. `CorruptMessage` has the text of Kafka's own exception. `CUT`
are Python's exceptions for bytes that end too early, for which Kafka raises a BufferUnderflowException without a text.
A count or a length is believed only as far as bytes follow it. Source: MessageDataGenerator, ByteBufferAccessor,
ByteUtils of 4.3.1.
"""

import base64
import functools
import struct
from collections.abc import Callable, Mapping
from typing import Any

from kafkafs.errors import CorruptData, NumberTooLong
from kafkafs.format.strings import java_string
from kafkafs.format.varints import java_unsigned

Value = None | bool | int | float | str | bytes | tuple["Value", ...] | Mapping[str, "Value"]
Fields = dict[str, Any]
"""Fields by their names, in the schema's order: those that exist in the version, a tagged one that was not written
with its default. The schema gives the type of each `Value`: a uuid is text of 22 characters, an array a tuple, a
structure a mapping."""

Reader = Callable[[bytes, int], tuple[Value, int]]
"""Bytes and a position -> a value and the position behind it."""

CUT = (struct.error, IndexError, CorruptData)

NUMBERS = {
    "bool": "?", "int8": "b", "int16": "h", "uint16": "H", "uint32": "I", "int32": "i", "int64": "q", "float64": "d",
}  # fmt: skip
"""How `struct` calls the types of a fixed size."""

_LONGEST_STRING = 0x7FFF
_MANY_UUIDS = 1 << 14


class CorruptMessage(Exception):
    """The bytes cannot be that message; the text is that of Kafka's exception."""


@functools.lru_cache(_MANY_UUIDS)
def uuid_text(raw: bytes) -> str:
    """The text of 16 bytes: URL-safe base64. Far fewer topics and directories there are than records that name them."""
    return base64.urlsafe_b64encode(raw)[:22].decode("ascii")


def uuid_bytes(text: str) -> bytes:
    """The 16 bytes of a uuid's text."""
    return base64.urlsafe_b64decode(f"{text}==")


def unsigned_varint(data: bytes, at: int) -> tuple[int, int]:
    """An int as Java reads it, which may come out negative, and the position behind it."""
    if data[at] < 0x80:
        return data[at], at + 1
    try:
        return java_unsigned(data, at)
    except NumberTooLong as error:
        reason = "Varint is too long, the most significant bit in the 5th byte is set, converted value: "
        raise CorruptMessage(f"{reason}{error.value & 0xFFFFFFFF:x}") from error


def primitive(kind: str, name: str, is_compact: bool, is_nullable: bool) -> Reader:
    """A reader of one value of a type of Kafka's schemas that is neither an array nor a struct."""
    if kind in NUMBERS:
        return _number(NUMBERS[kind])
    if kind == "uuid":
        return _uuid
    return _string(name, is_compact, is_nullable) if kind == "string" else _bytes(name, is_compact, is_nullable)


def _number(code: str) -> Reader:
    layout = struct.Struct(">" + code)

    def read(data: bytes, at: int) -> tuple[Value, int]:
        """One number; struct.error where the bytes end before."""
        return layout.unpack_from(data, at)[0], at + layout.size

    return read


def _uuid(data: bytes, at: int) -> tuple[Value, int]:
    if at + 16 > len(data):
        raise IndexError(at)
    return uuid_text(data[at : at + 16]), at + 16


def _string(name: str, is_compact: bool, is_nullable: bool) -> Reader:
    read_length = length("string", is_compact)

    def read(data: bytes, at: int) -> tuple[Value, int]:
        """The text, None for a null; CorruptMessage where it is longer than Kafka's strings may be, or the bytes."""
        size, at = read_length(data, at)
        if size < 0:
            return null(name, is_nullable, at)
        if size > _LONGEST_STRING:
            raise CorruptMessage(f"string field {name} had invalid length {size}")
        check(data, at, size)
        return java_string(data[at : at + size]), at + size

    return read


def _bytes(name: str, is_compact: bool, is_nullable: bool) -> Reader:
    read_length = length("bytes", is_compact)

    def read(data: bytes, at: int) -> tuple[Value, int]:
        """The bytes, None for a null; CorruptMessage where they are fewer than stated."""
        size, at = read_length(data, at)
        if size < 0:
            return null(name, is_nullable, at)
        check(data, at, size)
        return data[at : at + size], at + size

    return read


def length(kind: str, is_compact: bool) -> Callable[[bytes, int], tuple[int, int]]:
    """Reads a length, negative for null."""
    if is_compact:
        return _compact_length
    layout = struct.Struct(">h" if kind == "string" else ">i")

    def read(data: bytes, at: int) -> tuple[int, int]:
        """A length of 2 bytes for a string, else of 4; struct.error where the bytes end before."""
        return layout.unpack_from(data, at)[0], at + layout.size

    return read


def _compact_length(data: bytes, at: int) -> tuple[int, int]:
    size = data[at]
    if size < 0x80:
        return size - 1, at + 1
    size, at = unsigned_varint(data, at)
    return (size - 1 if size > -(2**31) else 2**31 - 1), at


def null(name: str, is_nullable: bool, at: int) -> tuple[None, int]:
    """A null, for a field that may be one."""
    if not is_nullable:
        raise CorruptMessage(f"non-nullable field {name} was serialized as null")
    return None, at


def check(data: bytes, at: int, size: int) -> None:
    """Raise CorruptMessage if `size` bytes are not there."""
    if size > len(data) - at:
        raise CorruptMessage(f"Error reading byte array of {size} byte(s): only {len(data) - at} byte(s) available")
    if size < 0:
        raise CorruptMessage(str(size))  # Java's message for an array of a negative size


def several(read_one: Reader) -> Callable[[bytes, int, int], tuple[Value, int]]:
    """Return a reader of `count` values, each as `read_one` reads it: (a tuple of the values, the position behind)."""

    def read(data: bytes, at: int, count: int) -> tuple[Value, int]:
        items = []
        for _ in range(count):
            item, at = read_one(data, at)
            items.append(item)
        return tuple(items), at

    return read


def several_numbers(code: str) -> Callable[[bytes, int, int], tuple[Value, int]]:
    """A reader of several numbers of one size."""
    one = struct.calcsize(">" + code)

    def read(data: bytes, at: int, count: int) -> tuple[Value, int]:
        """All in one call; IndexError where the bytes end before."""
        end = at + count * one
        if end > len(data):
            raise IndexError(end)
        return struct.unpack_from(f">{count}{code}", data, at), end

    return read
