"""Variable-length integers as Kafka reads and writes them, one at a time. Source: ByteUtils.

Seven bits a byte, low bits first; signed ones are zig-zag besides. A number that is too long is an error. A number that
is longer than necessary is not. Many at once are read by kernels (`native/varint`).
"""

from kafkafs.errors import CorruptData, NumberTooLong

_CONTINUES = 0x80


def varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """A signed 32-bit integer and the position behind it. Raises CorruptData if it is too long or cut."""
    raw, at = unsigned(data, at, 5)
    raw &= 0xFFFFFFFF
    return (raw >> 1) ^ -(raw & 1), at


def varlong(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """A signed 64-bit integer and the position behind it. Raises CorruptData if it is too long or cut."""
    raw, at = unsigned(data, at, 10)
    raw &= 0xFFFFFFFFFFFFFFFF
    return (raw >> 1) ^ -(raw & 1), at


def java_unsigned(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """The number that Java takes for an unsigned 32-bit integer: an int, negative from 2**31 on. Raises as `varint`."""
    raw, at = unsigned(data, at, 5)
    return ((raw + 2**31) & 0xFFFFFFFF) - 2**31, at


def unsigned(data: bytes | memoryview, at: int, longest: int = 5) -> tuple[int, int]:
    """An unsigned integer of up to `longest` bytes, before any zig-zag, and the position behind it."""
    value = 0
    for i in range(longest):
        if at >= len(data):
            raise CorruptData("the data ends inside a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << (7 * i)
        if not byte & _CONTINUES:
            return value, at
    error = NumberTooLong(f"a number is longer than {longest} bytes")
    error.value = value
    raise error


def unsigned_bytes(number: int) -> bytes:
    """Write bytes that `unsigned` reads, as few as possible."""
    out = bytearray()
    while number >= _CONTINUES:
        out.append(number & 0x7F | _CONTINUES)
        number >>= 7
    out.append(number)
    return bytes(out)


def signed_bytes(number: int) -> bytes:
    """Write bytes that `varint` and `varlong` read."""
    return unsigned_bytes(number << 1 if number >= 0 else (-number << 1) - 1)
