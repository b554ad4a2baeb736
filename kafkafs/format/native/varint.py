"""Kafka's variable-length integers (ByteUtils): zig-zag, then seven bits a byte, low ones first.

Each answers (value, place behind it), the place -1 where the integer is cut or longer than it may be.
"""

from kafkafs.format.native.primitives import *

_LOW = 0xFFFFFFFF


@native
def _long_varint(data: Span, at: Int, end: Int, most: Int) -> tuple[Int, Int]:
    raw: Int = 0
    shift: Int = 0
    while at < end and shift < most:
        byte = load_u8(data, at)
        at += 1
        raw |= (byte & 127) << shift
        if byte < 128:
            return raw, at
        shift += 7
    return 0, -1


@inlined
def varint(data: Span, at: Int, end: Int) -> tuple[Int, Int]:
    """32 bits in at most five bytes."""
    if at >= end:
        return 0, -1
    raw = load_u8(data, at)
    at += 1
    if raw >= 128:
        raw, at = _long_varint(data, at - 1, end, 35)
        raw &= _LOW
    return raw >> 1 ^ -(raw & 1), at


@inlined
def varlong(data: Span, at: Int, end: Int) -> tuple[Int, Int]:
    """64 bits in at most ten bytes."""
    if at >= end:
        return 0, -1
    raw = load_u8(data, at)
    at += 1
    if raw >= 128:
        raw, at = _long_varint(data, at - 1, end, 70)
    return shift_right(raw, 1) ^ -(raw & 1), at
