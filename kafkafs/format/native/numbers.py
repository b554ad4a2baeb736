"""Integers as decimal digits, eight at a time."""

from kafkafs.format.native.machine import Int, Span, divide, inlined, shift_right, store_8, store_64, trailing_zeros

_ASCII_ZEROS = 0x3030303030303030
_FOURS, _PAIRS = 0x0000007F0000007F, 0x000F000F000F000F
_LAST = 1 << 56
_TEN_TO_8 = 10**8


@inlined
def _eight_digits(value: Int) -> Int:
    """The decimal digits of a number below 10**8, one a byte, the highest in the lowest byte.

    Halved three times: fours of digits side by side, then pairs, then single ones. A quotient by 100 or 10 is a
    product with its reciprocal, exact in this range.
    """
    high = divide(value, 10000)
    fours = high | (value - high * 10000) << 32
    hundreds = shift_right(fours * 10486, 20) & _FOURS
    pairs = hundreds | (fours - hundreds * 100) << 16
    tens = shift_right(pairs * 103, 10) & _PAIRS
    return tens | (pairs - tens * 10) << 8


@inlined
def _put_leading(out: Span, to: Int, value: Int) -> Int:
    """A number below 10**8 without zeros in front."""
    digits = _eight_digits(value)
    skipped = trailing_zeros(digits | _LAST) >> 3  # whole bytes; the last digit always stays
    store_64(out, to, shift_right(digits + _ASCII_ZEROS, skipped * 8))
    return to + 8 - skipped


@inlined
def _put_eight(out: Span, to: Int, value: Int) -> Int:
    store_64(out, to, _eight_digits(value) + _ASCII_ZEROS)
    return to + 8


@inlined
def put_number(out: Span, to: Int, value: Int) -> Int:
    """Writes an int64 in decimal: the place behind it. Up to 7 bytes behind that are overwritten."""
    if value < 0:
        store_8(out, to, 45)
        to += 1
        value = -value  # the smallest one stays as it is, and is right as an unsigned number
    if value >= 0 and value < _TEN_TO_8:
        return _put_leading(out, to, value)
    high = divide(value, _TEN_TO_8)
    low = value - high * _TEN_TO_8
    if high < _TEN_TO_8:
        to = _put_leading(out, to, high)
    else:
        top = divide(high, _TEN_TO_8)
        to = _put_leading(out, to, top)
        to = _put_eight(out, to, high - top * _TEN_TO_8)
    return _put_eight(out, to, low)
