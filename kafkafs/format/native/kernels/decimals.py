"""Avro's decimals: a big-endian integer in two's complement and a scale, as digits with a point and no exponent."""

from kafkafs.format.native.kernels.machine import (
    called,
    inlined,
    load_i64,
    load_u8,
    put,
    store_8,
    store_64,
)

DECIMAL_BYTES = 512  # at most: more than a thousand digits; the work grows with the square
DECIMAL_SCALE = 2048  # at most
_LIMB = 10**9


@inlined
def _load_magnitude(at: int, size: int, limbs: int) -> tuple[int, int]:
    """Writes |value| as numbers of 32 bits, the lowest first, 8 bytes each: (how many, whether it is negative)."""
    negative = 1 if size and load_u8(at) & 128 else 0
    flip, carry, count, index = 255 * negative, negative, 0, size
    while index > 0:
        limb = 0
        for byte in range(4):
            if index > 0:
                index -= 1
                value = (load_u8(at + index) ^ flip) + carry
                carry = value >> 8
                limb |= (value & 255) << 8 * byte
        store_64(limbs + 8 * count, limb)
        count += 1
    return count, negative


@inlined
def _divided(limbs: int, count: int) -> int:
    """Divides the number by 10**9 in place: the remainder."""
    rest = 0
    for place in range(count - 1, -1, -1):
        value = rest << 32 | load_i64(limbs + 8 * place)
        quotient = value // _LIMB
        store_64(limbs + 8 * place, quotient)
        rest = value - quotient * _LIMB
    return rest


@called
def put_decimal(to: int, at: int, size: int, scale: int, scratch: int) -> int:
    """Writes the decimal whose unscaled value are `size` <= DECIMAL_BYTES bytes at `at`: the address behind it.

    `scratch`: 8 * DECIMAL_BYTES bytes. A negative scale appends zeros. Room: 3 bytes for each of `size`, and |scale|.
    """
    count, negative = _load_magnitude(at, size, scratch)
    digits, behind = scratch + 4 * DECIMAL_BYTES, 0  # the lowest digit first
    while count > 0:
        rest = _divided(scratch, count)
        while count > 0 and load_i64(scratch + 8 * (count - 1)) == 0:
            count -= 1
        for _ in range(9):
            store_8(digits + behind, 48 + rest % 10)
            rest //= 10
            behind += 1
    while behind > 0 and load_u8(digits + behind - 1) == 48:
        behind -= 1
    if negative:
        to = put(to, "-")
    if behind <= scale or behind == 0:
        to = put(to, "0")
    for place in range(max(behind, scale if scale > 0 else 0) - 1, -1, -1):
        if place == scale - 1:
            to = put(to, ".")
        store_8(to, load_u8(digits + place) if place < behind else 48)
        to += 1
    if behind == 0:
        return to
    for _ in range(-scale):
        store_8(to, 48)
        to += 1
    return to
