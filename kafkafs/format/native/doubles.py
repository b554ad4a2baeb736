"""Doubles as the shortest decimal that reads back as the same double, spelt as Python's `repr` does.

The method is Schubfach (Raffaello Giulietti, "The Schubfach way to render doubles"): the interval of decimals that
round to the double is scaled by a power of ten of 128 bits, and the shortest decimal in it is one of four candidates.
"""

from kafkafs.format.native.machine import ALL, Int, Span, inlined, load_i64, load_u8, native, put, round_to_odd, store_8
from kafkafs.format.native.numbers import put_number

_LEAST, _MOST = -292, 324  # powers of ten in the table
_HIDDEN, _FRACTION = 1 << 52, (1 << 52) - 1
_BIAS = 1075  # of the exponent, with the 52 bits of the fraction
_ONE = 1


def _powers() -> bytes:
    """10**k for k in [_LEAST, _MOST], rounded up to 128 bits whose first is set: high half, low half."""
    table = bytearray()
    for k in range(_LEAST, _MOST + 1):
        if k >= 0:
            power = 10**k
            shift = 128 - power.bit_length()
            value = power << shift if shift >= 0 else -(-power >> -shift)
        else:
            power = 10**-k
            bits = power.bit_length() + 127
            value = -(-(1 << bits) // power)
        table += (value >> 64).to_bytes(8, "little") + (value & (1 << 64) - 1).to_bytes(8, "little")
    return bytes(table)


_POWERS_OF_TEN = _powers()


@native
def _scaled(fraction: Int, exponent: Int) -> tuple[Int, Int]:
    """The shortest decimal (digits, power of ten) of fraction * 2**exponent as the fields of a double hold it."""
    c: Int = fraction
    q: Int = 1 - _BIAS
    if exponent:
        c = _HIDDEN | fraction
        q = exponent - _BIAS
        if -53 < q <= 0 and c & (_ONE << -q) - 1 == 0:
            return c >> -q, 0
    odd = c & 1
    closer: Int = 1 if fraction == 0 and exponent > 1 else 0
    k = (q * 1262611 - (524031 if closer else 0)) >> 22
    h = q + (-k * 1741647 >> 19) + 1
    entry = (-k - _LEAST) * 16
    high, low = load_i64(_POWERS_OF_TEN, entry) & ALL, load_i64(_POWERS_OF_TEN, entry + 8) & ALL
    lower = round_to_odd(high, low, (4 * c - 2 + closer) << h) + odd
    middle = round_to_odd(high, low, (4 * c) << h)
    upper = round_to_odd(high, low, (4 * c + 2) << h) - odd
    s = middle >> 2
    if s >= 10:
        tens = s // 10
        if (lower <= 40 * tens) != (40 * tens + 40 <= upper):
            return tens + (1 if 40 * tens + 40 <= upper else 0), k + 1
    if (lower <= 4 * s) != (4 * s + 4 <= upper):
        return s + (1 if 4 * s + 4 <= upper else 0), k
    half = 4 * s + 2
    return s + (1 if middle > half or (middle == half and s & 1) else 0), k


@inlined
def _put_zeros(out: Span, to: Int, count: Int) -> Int:
    for _ in range(count):
        store_8(out, to, 48)
        to += 1
    return to


@inlined
def _put_exponent(out: Span, to: Int, exponent: Int) -> Int:
    """`e+16`, `e-05`: a sign, and two digits or three."""
    to = put(out, to, b"e-") if exponent < 0 else put(out, to, b"e+")
    exponent = abs(exponent)
    if exponent < 10:
        to = put(out, to, b"0")
    return put_number(out, to, exponent)


@inlined
def _insert_point(out: Span, to: Int, digits: Int, whole: Int) -> Int:
    """A point behind the first `whole` of the digits that stand at `to`: the place behind all."""
    index: Int = digits
    while index > whole:
        store_8(out, to + index, load_u8(out, to + index - 1))
        index -= 1
    store_8(out, to + whole, 46)
    return to + digits + 1


@native
def put_double(out: Span, to: Int, bits: Int) -> Int:
    """Writes the double of these bits as a JSON number (what is none, as a string): the place behind it.

    At most 26 bytes, and 8 behind them are overwritten.
    """
    exponent, fraction = bits >> 52 & 2047, bits & _FRACTION
    if exponent == 2047:
        if fraction:
            return put(out, to, b'"NaN"')
        return put(out, to, b'"-Infinity"') if bits < 0 else put(out, to, b'"Infinity"')
    if bits < 0:
        to = put(out, to, b"-")
    if exponent == 0 and fraction == 0:
        return put(out, to, b"0.0")
    digits, power = _scaled(fraction, exponent)
    while digits % 10 == 0:
        digits //= 10
        power += 1
    behind = put_number(out, to, digits)
    count = behind - to
    point = count + power  # digits before the point
    if point <= -4 or point > 16:
        behind = _insert_point(out, to, count, 1) if count > 1 else behind
        return _put_exponent(out, behind, point - 1)
    if point <= 0:
        to = _put_zeros(out, put(out, to, b"0."), -point)
        return put_number(out, to, digits)
    if power >= 0:
        return put(out, _put_zeros(out, behind, power), b".0")
    return _insert_point(out, to, count, point)
