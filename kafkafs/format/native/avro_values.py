"""Avro's values as text, if the text is not a copy: dates and times, decimals, doubles.

Dates and times are of ISO 8601, in the proleptic Gregorian calendar. A fraction of a second has as many digits as the
logical type's unit. Years beyond 0 to 9999 have a sign and six digits or more. A decimal, a big-endian integer in two's
complement and a scale, has digits, a point and no exponent.

Doubles are the shortest decimal that reads back as the same double, spelt as Python's `repr` does. The method is
Schubfach (Raffaello Giulietti, "The Schubfach way to render doubles"): the interval of decimals that round to the
double is scaled by a power of ten of 128 bits, and the shortest decimal in it is one of four candidates.
"""

from kafkafs.format.native.primitives import *
from kafkafs.format.native.text import put_number

_DAY = 86_400
_ERA, _DAYS_OF_ERA = 400, 146_097  # the calendar repeats itself
_TO_MARCH_0 = 719_468  # days from 0000-03-01 to 1970-01-01


@inlined
def _put_digits(out: Span, to: Int, value: Int, digits: Int) -> Int:
    """Exactly so many digits."""
    place: Int = digits - 1
    while place >= 0:
        store_8(out, to + place, 48 + value % 10)
        value //= 10
        place -= 1
    return to + digits


@native
def put_date(out: Span, to: Int, days: Int) -> Int:
    """The day that is `days` after 1970-01-01. Years begin in March here, so that leap days come last."""
    days += _TO_MARCH_0
    era = floor_divide(days, _DAYS_OF_ERA)
    day: Int = days - era * _DAYS_OF_ERA
    year: Int = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month: Int = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5
    month = month + 3 if month < 10 else month - 9
    year += era * _ERA + (1 if month <= 2 else 0)
    if year < 0 or year > 9999:
        to = put(out, to, b"-") if year < 0 else put(out, to, b"+")
        year = abs(year)
        to = _put_digits(out, to, year, 6) if year < 1_000_000 else put_number(out, to, year)
    else:
        to = _put_digits(out, to, year, 4)
    to = _put_digits(out, put(out, to, b"-"), month, 2)
    return _put_digits(out, put(out, to, b"-"), day + 1, 2)


@native
def put_time(out: Span, to: Int, value: Int, digits: Int, unit: Int) -> Int:
    """The time of day, `value` units after midnight, of which a second has `unit` = 10**digits."""
    seconds = value // unit
    to = put(out, _put_digits(out, to, seconds // 3600, 2), b":")
    to = put(out, _put_digits(out, to, seconds // 60 % 60, 2), b":")
    to = put(out, _put_digits(out, to, seconds % 60, 2), b".")
    return _put_digits(out, to, value - seconds * unit, digits)


@native
def put_timestamp(out: Span, to: Int, value: Int, digits: Int, unit: Int) -> Int:
    """The moment, `value` units after 1970-01-01T00:00:00."""
    day = floor_divide(value, unit * _DAY)
    to = put(out, put_date(out, to, day), b"T")
    return put_time(out, to, value - day * unit * _DAY, digits, unit)


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


_LEAST, _MOST = -292, 324  # the powers of ten that are kept
_HIDDEN, _FRACTION = 1 << 52, (1 << 52) - 1
_BIAS = 1075  # the bias of the exponent, with the 52 bits of the fraction
_ONE = 1


def _powers() -> bytes:
    """10**k for k in [_LEAST, _MOST], rounded up to 128 bits whose first is set: high half, low half."""
    powers = bytearray()
    for k in range(_LEAST, _MOST + 1):
        if k >= 0:
            power = 10**k
            shift = 128 - power.bit_length()
            value = power << shift if shift >= 0 else -(-power >> -shift)
        else:
            power = 10**-k
            bits = power.bit_length() + 127
            value = -(-(1 << bits) // power)
        powers += (value >> 64).to_bytes(8, "little") + (value & (1 << 64) - 1).to_bytes(8, "little")
    return bytes(powers)


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
