"""Dates and times as ISO 8601 text, in the proleptic Gregorian calendar, as Avro's logical types mean them.

A fraction of a second has as many digits as the type's unit. Years beyond 0 to 9999 have a sign and six digits or more.
"""

from kafkafs.format.native.machine import Int, Span, floor_divide, inlined, native, put, store_8
from kafkafs.format.native.numbers import put_number

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
