"""Points in time as people write them, in `by-time/` and in options: text in, epoch milliseconds out.

    1632390207806                    epoch milliseconds, leading zeros allowed
    @1632390207.8061                 epoch seconds; finer than a millisecond rounds up
    2021-09-23T09:43:27.806Z         ISO 8601: a date or a date-time, in the extended form
    20210923T114327+0200             or the basic one; UTC unless it says otherwise
    now  -90s  -15m  -1h  -2d        from now back; before 1970 it is 1970
    end-15m                          from the newest record of a partition back, where one is meant

A window `T..+10m` ends that long after T, and `T-5m..+10m` begins before it: see `parse_window`.

A basic date alone (`20210923`) is an integer like any other, so it is milliseconds. Dates are taken in all forms of
ISO 8601: 2021-09-23, 2021-266, 2021-W38-4, and for their first day 2021-09 and 2021-W38. Only ASCII digits count.
A date before 1970 is `BEFORE_1970`: no point, and in a range the log start.
"""

import re
from datetime import date, datetime, timedelta
from typing import NamedTuple

MAX_INT64 = 2**63 - 1
BEFORE_1970 = -1

_DIGITS = re.compile(r"[0-9]+")
_DOUBTFUL = re.compile(r"[1-9][0-9]{7,10}")  # no padded name of a listing
IN_DOUBT_BELOW = 10**11
"""Milliseconds: no later time is in `doubt`."""

OTHER_UNITS = {
    "seconds": (10**9, 4 * 10**9),
    "microseconds": (10**15, 4 * 10**15),
    "nanoseconds": (10**18, 4 * 10**18),
}
"""Units that producers write in place of milliseconds -> the range from 2001 to 2096 in that unit. As milliseconds,
these ranges are some weeks of 1970, the years 33658 to 128722, and years behind 31,000,000."""

_SECONDS = re.compile(r"@([0-9]+)(?:\.([0-9]+))?")
_AGO = re.compile(r"-([0-9]+)([smhd])")
_LESS = re.compile(r"(.+)(-[0-9]+[smhd])")
_AGO_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}

_ISO_ZONE = r"(?P<zone>[Zz]|(?P<sign>[+-])(?P<zone_hour>[01][0-9]|2[0-3])(?::?(?P<zone_minute>[0-5][0-9]))?)?"
_ISO_EXTENDED = re.compile(
    r"(?P<date>[0-9]{4}-(?:[0-9]{2}(?:-[0-9]{2})?|[0-9]{3}|W[0-9]{2}(?:-[1-7])?))"
    r"(?:[Tt ](?P<hour>[01][0-9]|2[0-3])"
    r"(?::(?P<minute>[0-5][0-9])(?::(?P<second>[0-5][0-9])(?:[.,](?P<fraction>[0-9]+))?)?)?" + _ISO_ZONE + ")?"
)
_ISO_BASIC = re.compile(
    r"(?P<date>[0-9]{4}(?:[0-9]{4}|[0-9]{3}|W[0-9]{2}[1-7]?))"
    r"(?:[Tt](?P<hour>[01][0-9]|2[0-3])"
    r"(?:(?P<minute>[0-5][0-9])(?:(?P<second>[0-5][0-9])(?:[.,](?P<fraction>[0-9]+))?)?)?" + _ISO_ZONE + ")?"
)
_MONTH_LENGTH, _ORDINAL = len("2021-09"), re.compile(r"([0-9]{4})-?([0-9]{3})")
_EPOCH_DAY = date(1970, 1, 1).toordinal()


class FromEnd(NamedTuple):
    """A point `ago_ms` milliseconds back from the largest timestamp of the partition."""

    ago_ms: int

    def before(self, newest_ms: int) -> int:
        """The epoch milliseconds that it names there; 0 if no record has a time."""
        return max(0, newest_ms - self.ago_ms)


Time = int | FromEnd
"""Epoch milliseconds; or what counts back from the log's own newest."""


def parse_time(text: str, now_ms: int) -> Time | None:
    """The time that `text` names, of a partition; for the rest see `parse_time_ms`."""
    found = _parse_exact(text, now_ms)
    return None if found is None else _known(found)


def parse_time_ms(text: str, now_ms: int) -> int | None:
    """The epoch milliseconds that `text` names, in [0, 2^63), or BEFORE_1970; None if it names no time."""
    found = parse_time(text, now_ms)
    return None if isinstance(found, FromEnd) else found


def parse_window(first: str, last: str, now_ms: int) -> tuple[Time, Time] | None:
    """The window from `first` to `last`, which is a length such as `+10m`: it counts from the time in `first`, so that
    `T-5m` and `+10m` are the quarter of an hour around T. None if either is something else."""
    found, length_ms = _parse_named(first, now_ms), parse_ago_ms(f"-{last[1:]}") if last.startswith("+") else None
    if found is None or length_ms is None:
        return None
    named, begin = found
    return _known(begin), _known(_later(named, length_ms))


def _parse_named(text: str, now_ms: int) -> tuple[Time, Time] | None:
    """T, and where a window begins that names it: at T, or as long before it as `T-5m` says. Negative before 1970."""
    whole = _parse_exact(text, now_ms)
    if whole is not None:
        return whole, whole
    match = _LESS.fullmatch(text)
    named = _parse_exact(match[1], now_ms) if match else None
    ago_ms = parse_ago_ms(match[2]) if match else None
    return None if named is None or ago_ms is None else (named, _later(named, -ago_ms))


def _later(time: Time, by_ms: int) -> Time:
    return FromEnd(time.ago_ms - by_ms) if isinstance(time, FromEnd) else min(time + by_ms, MAX_INT64)


def _known(time: Time) -> Time:
    return BEFORE_1970 if isinstance(time, int) and time < 0 else time


def _parse_exact(text: str, now_ms: int) -> Time | None:
    """A time by itself, negative before 1970."""
    if _DIGITS.fullmatch(text):
        return parse_int64(text)
    if text == "now":
        return now_ms
    if text.startswith("@"):
        return _parse_epoch_seconds(text)
    if text.startswith("-"):
        return _parse_ago(text, now_ms)
    if text.startswith("end-"):
        ago_ms = parse_ago_ms(text.removeprefix("end"))
        return None if ago_ms is None else FromEnd(ago_ms)
    return _parse_iso(text)


def doubt(text: str) -> str | None:
    """Why a bare number may not be what was meant, in a sentence: seconds since 1970 (`date +%s`) or a basic date, both
    of which are in the first weeks of 1970 as milliseconds. None for what is no such number."""
    if not _DOUBTFUL.fullmatch(text):
        return None
    if (day := _epoch_day(text) if len(text) == len("20210923") else None) is not None:
        return f"{text} ms is in 1970; for a date write {date.fromordinal(day + _EPOCH_DAY).isoformat()}"
    if len(text) < len("100000000"):
        return None
    meant = date.fromordinal(_EPOCH_DAY + int(text) // 86_400_000)
    return f"{text} ms is {meant.isoformat()}; for seconds write @{text}"


def probable_unit(timestamp: int) -> str | None:
    """The unit in which a record's timestamp was probably written; None if milliseconds are as probable."""
    found = (unit for unit, (first, end) in OTHER_UNITS.items() if first <= timestamp < end)
    return next(found, None)


def parse_int64(digits: str) -> int | None:
    """The value of ASCII decimal `digits`, or None if it needs more than a signed 64-bit integer."""
    significant = digits.lstrip("0") or "0"
    if len(significant) > len(str(MAX_INT64)):  # int() refuses thousands of digits with an exception
        return None
    value = int(significant)
    return value if value <= MAX_INT64 else None


def _parse_epoch_seconds(text: str) -> int | None:
    match = _SECONDS.fullmatch(text)
    seconds = parse_int64(match[1]) if match else None
    return None if match is None or seconds is None else _milliseconds(seconds, match[2])


def parse_ago_ms(text: str) -> int | None:
    """How many milliseconds back a text like `-15m` counts; None if it is none, or more than 2^63."""
    match = _AGO.fullmatch(text)
    count = parse_int64(match[1]) if match else None
    if match is None or count is None:
        return None
    ago_ms = count * _AGO_UNIT_MS[match[2]]
    return ago_ms if ago_ms <= MAX_INT64 else None


def _parse_ago(text: str, now_ms: int) -> int | None:
    ago_ms = parse_ago_ms(text)
    return None if ago_ms is None else max(0, now_ms - ago_ms)


def _parse_iso(text: str) -> int | None:
    match = _ISO_EXTENDED.fullmatch(text) or _ISO_BASIC.fullmatch(text)
    day = _epoch_day(match["date"]) if match else None
    if match is None or day is None:
        return None
    local_s = day * 86_400 + _clock_seconds(match["hour"], match["minute"]) + int(match["second"] or 0)
    east_s = _clock_seconds(match["zone_hour"], match["zone_minute"])
    seconds = local_s + east_s if match["sign"] == "-" else local_s - east_s
    milliseconds = _milliseconds(seconds, match["fraction"])
    return milliseconds if seconds >= 0 or milliseconds is None else min(milliseconds, BEFORE_1970)


def _epoch_day(text: str) -> int | None:
    """Days from 1970-01-01 to the (first) day that an ISO 8601 date names, or None if there is no such day."""
    ordinal = _ORDINAL.fullmatch(text)
    try:
        if ordinal:  # the one form of a day that `fromisoformat` leaves out
            year, day_of_year = int(ordinal[1]), int(ordinal[2])
            day = date(year, 1, 1) + timedelta(days=day_of_year - 1)
            return day.toordinal() - _EPOCH_DAY if day.year == year else None
        is_month = len(text) == _MONTH_LENGTH and text[5] != "W" and text[4] == "-"
        return date.fromisoformat(text + "-01" if is_month else text).toordinal() - _EPOCH_DAY
    except (ValueError, OverflowError):
        return None


def _clock_seconds(hours: str | None, minutes: str | None) -> int:
    return int(hours or 0) * 3_600 + int(minutes or 0) * 60


def _milliseconds(seconds: int, fraction: str | None) -> int | None:
    """`seconds` and the decimal digits after its point in whole milliseconds, rounded up."""
    whole, rest = (fraction or "")[:3].ljust(3, "0"), (fraction or "")[3:]
    milliseconds = seconds * 1_000 + int(whole) + (rest.strip("0") != "")
    return milliseconds if milliseconds <= MAX_INT64 else None


def time_text(time: Time) -> str:
    """A time for a message: the date and the milliseconds of a timestamp, or the words that count back from the end."""
    return f"end-{time.ago_ms // 1000}s" if isinstance(time, FromEnd) else f"{utc_text(time)} ({time})"


def utc_text(timestamp_ms: int) -> str:
    """The time of a timestamp, as `by-time/` takes it. "no date" if no calendar has it."""
    try:
        return f"{(datetime(1970, 1, 1) + timedelta(milliseconds=timestamp_ms)).isoformat(timespec='milliseconds')}Z"
    except OverflowError:
        return "no date"
