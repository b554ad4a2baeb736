"""Avro's decimals: a big-endian integer in two's complement and a scale, as digits with a point and no exponent."""

from kafkafs.format.native.machine import Int, Span, inlined, load_i64, load_u8, native, put, store_8, store_64

DECIMAL_BYTES = 512  # at most: more than a thousand digits; the work grows with the square
DECIMAL_SCALE = 2048  # at most
_LIMB = 10**9


@native
def _load_magnitude(data: Span, at: Int, size: Int, scratch: Span, limbs: Int) -> tuple[Int, Int]:
    """Writes |value| as numbers of 32 bits, the lowest first, 8 bytes each: (how many, whether it is negative)."""
    negative: Int = 1 if size and load_u8(data, at) & 128 else 0
    flip: Int = 255 * negative
    carry: Int = negative
    count: Int = 0
    index: Int = size
    while index > 0:
        limb: Int = 0
        for byte in range(4):
            if index > 0:
                index -= 1
                value = (load_u8(data, at + index) ^ flip) + carry
                carry = value >> 8
                limb |= (value & 255) << 8 * byte
        store_64(scratch, limbs + 8 * count, limb)
        count += 1
    return count, negative


@inlined
def _divided(scratch: Span, limbs: Int, count: Int) -> Int:
    """Divides the number by 10**9 in place: the remainder."""
    rest: Int = 0
    place: Int = count - 1
    while place >= 0:
        value = rest << 32 | load_i64(scratch, limbs + 8 * place)
        quotient = value // _LIMB
        store_64(scratch, limbs + 8 * place, quotient)
        rest = value - quotient * _LIMB
        place -= 1
    return rest


@native
def put_decimal(out: Span, to: Int, data: Span, at: Int, size: Int, scale: Int, scratch: Span, limbs: Int) -> Int:
    """Writes the decimal whose unscaled value are `size` <= DECIMAL_BYTES bytes at `at`: the place behind it.

    At `limbs` of the scratch are 8 * DECIMAL_BYTES bytes. A negative scale appends zeros. Room: 3 bytes for each of
    `size`, and |scale|.
    """
    count, negative = _load_magnitude(data, at, size, scratch, limbs)
    digits: Int = limbs + 4 * DECIMAL_BYTES  # the lowest digit first
    behind: Int = 0
    while count > 0:
        rest = _divided(scratch, limbs, count)
        while count > 0 and load_i64(scratch, limbs + 8 * (count - 1)) == 0:
            count -= 1
        for _ in range(9):
            store_8(scratch, digits + behind, 48 + rest % 10)
            rest //= 10
            behind += 1
    while behind > 0 and load_u8(scratch, digits + behind - 1) == 48:
        behind -= 1
    if negative:
        to = put(out, to, b"-")
    if behind <= scale or behind == 0:
        to = put(out, to, b"0")
    place: Int = max(behind, scale) - 1
    while place >= 0:
        if place == scale - 1:
            to = put(out, to, b".")
        store_8(out, to, load_u8(scratch, digits + place) if place < behind else 48)
        to += 1
        place -= 1
    if behind == 0:
        return to
    for _ in range(-scale):
        store_8(out, to, 48)
        to += 1
    return to
