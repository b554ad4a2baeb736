"""Dates and times as ISO 8601 text, in the proleptic Gregorian calendar, as Avro's logical types mean them.

A fraction of a second has as many digits as the type's unit. Years beyond 0 to 9999 have a sign and six digits or more.
"""

from kafkafs.format.native.kernels.machine import called, inlined, put, store_8
from kafkafs.format.native.kernels.numbers import put_number

_DAY = 86_400
_ERA, _DAYS_OF_ERA = 400, 146_097  # the calendar repeats itself
_TO_MARCH_0 = 719_468  # days from 0000-03-01 to 1970-01-01


@inlined
def _put_digits(to: int, value: int, digits: int) -> int:
    """Exactly so many digits."""
    for place in range(digits - 1, -1, -1):
        store_8(to + place, 48 + value % 10)
        value //= 10
    return to + digits


@called
def put_date(to: int, days: int) -> int:
    """The day that is `days` after 1970-01-01. Years begin in March here, so that leap days come last."""
    days += _TO_MARCH_0
    era = days // _DAYS_OF_ERA
    day = days - era * _DAYS_OF_ERA
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5
    month = month + 3 if month < 10 else month - 9
    year += era * _ERA + (1 if month <= 2 else 0)
    if year < 0 or year > 9999:
        to = put(to, "-") if year < 0 else put(to, "+")
        year = abs(year)
        to = _put_digits(to, year, 6) if year < 1_000_000 else put_number(to, year)
    else:
        to = _put_digits(to, year, 4)
    return _put_digits(put(_put_digits(put(to, "-"), month, 2), "-"), day + 1, 2)


@called
def put_time(to: int, value: int, digits: int, unit: int) -> int:
    """The time of day, `value` units after midnight, of which a second has `unit` = 10**digits."""
    seconds = value // unit
    to = put(_put_digits(to, seconds // 3600, 2), ":")
    to = put(_put_digits(to, seconds // 60 % 60, 2), ":")
    to = put(_put_digits(to, seconds % 60, 2), ".")
    return _put_digits(to, value - seconds * unit, digits)


@called
def put_timestamp(to: int, value: int, digits: int, unit: int) -> int:
    """The moment, `value` units after 1970-01-01T00:00:00."""
    day = value // (unit * _DAY)
    return put_time(put(put_date(to, day), "T"), value - day * unit * _DAY, digits, unit)
