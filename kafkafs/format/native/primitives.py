"""The building blocks of kernels: memory with its size, loads and stores at any place in it, sixteen bytes at once.

Compiled, all of this is `primitives.h`, where most words are one instruction. Here it is Python, for kernels that run
uncompiled, under a debugger: each access is checked, and numbers are cut to 64 bits where they are stored.
"""

import struct
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np

from kafkafs.format.native.layout import BATCH, FIELD, RECORD

Function = TypeVar("Function", bound=Callable[..., Any])

Span: TypeAlias = Any
"""Bytes with their number, `nbytes`: a memoryview, or bytes that are constant."""

Int: TypeAlias = int
"""A number of 64 bits."""

Word: TypeAlias = int
"""An `Int` without a sign; sums and products of words are cut by `& ALL`."""

Record: TypeAlias = Any
Batch: TypeAlias = Any
Field: TypeAlias = Any
"""A row of RECORD, BATCH and FIELD, with its columns as attributes."""

ALL = (1 << 64) - 1


def native(function: Function) -> Function:
    """A part of kernels that is a C function: it is large, or its callers take it rarely."""
    return function


def inlined(function: Function) -> Function:
    """A part of kernels that is compiled into each of its callers."""
    return function


def span(buffer: object) -> Span:
    """The bytes of a buffer, to read. Kernels take only what lies in one piece."""
    if isinstance(buffer, np.ndarray):
        if not buffer.flags.c_contiguous:
            raise ValueError("the array is not contiguous")
        return buffer.reshape(-1).view(np.uint8).data if buffer.size else memoryview(b"")
    return memoryview(buffer).cast("B")  # type: ignore[arg-type]


def room(buffer: object) -> Span:
    """The bytes of a buffer, to write."""
    made = span(buffer)
    if made.readonly and made.nbytes:
        raise BufferError("the buffer is read-only")
    return made


def _place(data: Span, at: int, size: int) -> Span:
    if at < 0 or size < 0 or size > len(data) - at:
        raise IndexError(f"a kernel reached for bytes [{at}, +{size}) of {len(data)}")
    return data[at : at + size]


class Row:
    """A row of a table, whose fields are attributes: what is a pointer to a struct when compiled."""

    __slots__ = ("_bytes", "_kind")
    _bytes: Span
    _kind: Any

    def __init__(self, table: Span, index: int, kind: "np.dtype[np.void]") -> None:
        object.__setattr__(self, "_bytes", _place(table, index * kind.itemsize, kind.itemsize))
        object.__setattr__(self, "_kind", kind)

    def __getattr__(self, name: str) -> int:
        field, at = self._kind.fields[name][:2]
        return int.from_bytes(self._bytes[at : at + field.itemsize], "little", signed=field.kind == "i")

    def __setattr__(self, name: str, value: int) -> None:
        field, at = self._kind.fields[name][:2]
        store = _store(field.itemsize)
        store(self._bytes, at, int(value))


def record_at(table: Span, index: int) -> Record:
    """A row of a table of RECORD."""
    return Row(table, index, RECORD)


def batch_at(table: Span, index: int) -> Batch:
    """A row of a table of BATCH."""
    return Row(table, index, BATCH)


def field_at(table: Span, index: int) -> Field:
    """A row of a table of FIELD."""
    return Row(table, index, FIELD)


def _load(form: str) -> Callable[[Span, int], int]:
    packed = struct.Struct(form)

    def load(data: Span, at: int) -> int:
        """The number there, widened by its sign if it has one."""
        (number,) = packed.unpack(_place(data, at, packed.size))
        return int(number)

    return load


def _store(size: int) -> Callable[[Span, int, int], None]:
    def store(data: Span, at: int, value: int) -> None:
        """The lowest bits of a number."""
        _place(data, at, size)[:] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")

    return store


load_u8, load_i8, load_i16, load_i32, load_u32, load_i64 = (_load("<" + kind) for kind in "BbhiIq")
load_i16be, load_i32be, load_u32be, load_i64be = (_load(">" + kind) for kind in "hiIq")
store_8, store_16, store_32, store_64 = (_store(size) for size in (1, 2, 4, 8))


def shift_right(value: int, by: int) -> int:
    """Logical: zeros come in from above."""
    return (value & ALL) >> by


def divide(value: int, by: int) -> int:
    """Without signs."""
    return (value & ALL) // by


def floor_divide(value: int, by: int) -> int:
    """As `//` of Python; that of kernels cuts towards zero, as C does."""
    return value // by


def population(value: int) -> int:
    """How many bits are set."""
    return (value & ALL).bit_count()


def trailing_zeros(value: int) -> int:
    """The number must not be 0."""
    return (value & -value).bit_length() - 1


def leading_zeros(value: int) -> int:
    """The number must not be 0."""
    return 64 - (value & ALL).bit_length()


def round_to_odd(high: int, low: int, factor: int) -> int:
    """A number of 128 bits times one of 64, its top 64 bits, the last one set where bits were lost."""
    product = (high & ALL) * (factor & ALL) + ((low & ALL) * (factor & ALL) >> 64)
    return product >> 64 & ALL | (product & ALL > 1)


def widen_float(bits: int) -> int:
    """The bits of a double with the value of the float whose 32 bits are given."""
    (single,) = struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))
    return _signed(struct.pack("<d", single))


def narrow_double(bits: int) -> int:
    """The 32 bits, with their sign, of the float next to the double whose bits are given."""
    (wide,) = struct.unpack("<d", struct.pack("<Q", bits & ALL))
    with np.errstate(over="ignore"):
        return _signed(np.float32(wide).tobytes())


def double_of(value: int) -> int:
    """The bits of the double next to a whole number."""
    return _signed(struct.pack("<d", float(value)))


def _signed(packed: bytes) -> int:
    return int.from_bytes(packed, "little", signed=True)


def put(out: Span, to: int, text: bytes) -> int:
    """Writes a literal: the place behind it."""
    _place(out, to, len(text))[:] = text
    return to + len(text)


def copy_bytes(out: Span, to: int, data: Span, at: int, count: int) -> None:
    """Copies bytes that do not overlap."""
    _place(out, to, count)[:] = bytes(_place(data, at, count))


def copy_16(out: Span, to: int, data: Span, at: int) -> None:
    """Copies 16 bytes."""
    copy_bytes(out, to, data, at, 16)


def same_bytes(data: Span, at: int, other: Span, other_at: int, count: int) -> bool:
    """True if the bytes in two places are the same."""
    return bytes(_place(data, at, count)) == bytes(_place(other, other_at, count))


def _mask(data: Span, at: int, test: Callable[[int], bool]) -> int:
    return sum(test(byte) << index for index, byte in enumerate(_place(data, at, 16)))


def equal_16(data: Span, at: int, byte: int) -> int:
    """Find a certain byte among 16 bytes: bit i of the answer belongs to byte i."""
    return _mask(data, at, lambda each: each == byte)


def specials(data: Span, at: int) -> int:
    """Find control characters and bytes beyond ASCII among 16 bytes."""
    return _mask(data, at, lambda each: not 0x20 <= each <= 0x7E)


def quoted(data: Span, at: int) -> int:
    """Find the bytes before which JSON puts a backslash, among 16 bytes."""
    return _mask(data, at, lambda each: each in b'"\\')


def escape_8(out: Span, to: int, data: Span, at: int, chosen: int, patterns: Span) -> None:
    """8 bytes with a backslash before each chosen one (bit i for byte i). Writes 16 bytes."""
    both = bytes(_place(data, at, 8)) + b"\\" * 8
    _place(out, to, 16)[:] = bytes(both[place] for place in _place(patterns, chosen * 16, 16))


def crc_step(crc: int, word: int, registers: Span) -> int:
    """The CRC-32C register after eight more bytes; `registers` has for each byte the register after it."""
    state = (crc ^ word) & ALL
    for _ in range(8):
        state = load_u32(registers, (state & 255) * 4) ^ state >> 8
    return state
