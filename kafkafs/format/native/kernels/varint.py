"""Kafka's variable-length integers (ByteUtils): zig-zag, then seven bits a byte, low ones first.

Each answers (value, address behind it), the address 0 where the integer is cut or longer than it may be.
"""

from kafkafs.format.native.kernels.machine import called, inlined, load_u8, shift_right


@called
def _long_varint(at: int, end: int, most: int) -> tuple[int, int]:
    raw, shift = 0, 0
    while at < end and shift < most:
        byte = load_u8(at)
        at += 1
        raw |= (byte & 127) << shift
        if byte < 128:
            return raw, at
        shift += 7
    return 0, 0


@inlined
def varint(at: int, end: int) -> tuple[int, int]:
    """32 bits in at most five bytes."""
    if at >= end:
        return 0, 0
    raw = load_u8(at)
    at += 1
    if raw >= 128:
        raw, at = _long_varint(at - 1, end, 35)
        raw &= 0xFFFFFFFF
    return raw >> 1 ^ -(raw & 1), at


@inlined
def varlong(at: int, end: int) -> tuple[int, int]:
    """64 bits in at most ten bytes."""
    if at >= end:
        return 0, 0
    raw = load_u8(at)
    at += 1
    if raw >= 128:
        raw, at = _long_varint(at - 1, end, 70)
    return shift_right(raw, 1) ^ -(raw & 1), at
