"""`format.times` against `datetime` and exact fractions: what people type must mean what they think it means."""

import math
from datetime import UTC, date, datetime, timedelta, timezone
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format.times import (
    BEFORE_1970,
    MAX_INT64,
    FromEnd,
    doubt,
    parse_int64,
    parse_time,
    parse_time_ms,
    parse_window,
    probable_unit,
    time_text,
)

NOW_MS = 1_632_390_207_806

zones = st.integers(-(23 * 60 + 59), 23 * 60 + 59).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.datetimes(min_value=datetime(1970, 1, 3), max_value=datetime(9999, 12, 29))
digits = st.text("0123456789", min_size=1, max_size=30)


def since_epoch(moment: datetime) -> Fraction:
    """Exact milliseconds since the epoch, the way `datetime` counts."""
    return Fraction((moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1), 1000)


@given(st.integers(0, MAX_INT64), st.integers(0, 30))
def test_an_integer_is_milliseconds_whatever_its_zeros(value: int, zeros: int) -> None:
    """Listings pad with zeros; scripts do not."""
    assert parse_time_ms("0" * zeros + str(value), NOW_MS) == value


@given(st.integers(0, MAX_INT64 // 1000 - 1), digits)
def test_seconds_finer_than_a_millisecond_round_up(seconds: int, fraction: str) -> None:
    """Rounded down, a range would begin with a record from before the time asked for."""
    exact = (seconds + Fraction(int(fraction), 10 ** len(fraction))) * 1000
    assert parse_time_ms(f"@{seconds}.{fraction}", NOW_MS) == math.ceil(exact)


@given(moments, zones, st.booleans(), st.sampled_from(["auto", "minutes", "seconds", "milliseconds", "microseconds"]))
def test_what_isoformat_writes_is_read_as_datetime_reads_it(
    moment: datetime, zone: timezone, extended: bool, timespec: str
) -> None:
    """`date -Is`, Python and most logs write this form."""
    text = moment.replace(tzinfo=zone).isoformat(timespec=timespec)
    expected = math.ceil(since_epoch(datetime.fromisoformat(text)))
    if not extended:
        day, clock = text.split("T")
        text = day.replace("-", "") + "T" + clock.replace(":", "")
    assert parse_time_ms(text, NOW_MS) == expected


@given(
    moments, digits, st.sampled_from([".", ",", "T", "t"]), st.sampled_from(["", "Z", "z", "+00", "-00:00", "+0000"])
)
def test_fractions_of_any_length_round_up(moment: datetime, fraction: str, mark: str, zone: str) -> None:
    """`date -Ins` writes nine digits behind a comma; `datetime` would cut them off after six."""
    whole = moment.replace(microsecond=0, tzinfo=UTC)
    separator, point = (mark, ".") if mark in "Tt" else ("T", mark)
    text = f"{whole:%Y-%m-%d}".zfill(10) + separator + f"{whole:%H:%M:%S}{point}{fraction}{zone}"
    exact = since_epoch(whole) + Fraction(int(fraction), 10 ** len(fraction)) * 1000
    assert parse_time_ms(text, NOW_MS) == math.ceil(exact)


@given(st.dates(min_value=date(1970, 1, 1)))
def test_every_form_of_a_day_is_its_midnight_in_utc(day: date) -> None:
    """Calendar, ordinal and week dates are one day by three names."""
    midnight = (day - date(1970, 1, 1)).days * 86_400_000
    year, week, weekday = day.isocalendar()
    names = [day.isoformat(), f"{day.year}-{day:%j}", f"{day:%Y%m%d}T00", f"{day.year}{day:%j}T0000Z"]
    names += [f"{year}-W{week:02}-{weekday}", f"{year}W{week:02}{weekday}"] if year <= 9999 else []
    assert {parse_time_ms(name, NOW_MS) for name in names} == {midnight}


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("2021-09", "2021-09-01"),
        ("2021-W38", "2021-09-20"),
        ("2021-09-23T09", "2021-09-23T09:00:00.000Z"),
        ("2021-09-23T11:43+02", "2021-09-23T09:43Z"),
        ("2021-09-23 09:43:27.806", "2021-09-23T09:43:27.806Z"),
        ("20210923T094327.806", "2021-09-23T09:43:27.806Z"),
        ("2021-09-23T09:43:27+0200", "2021-09-23T07:43:27"),
        ("1969-12-31T23:30-00:30", "@0"),
    ],
)
def test_shorter_forms_mean_their_first_moment(text: str, same_as: str) -> None:
    """A month or an hour alone is where it begins."""
    assert parse_time_ms(text, NOW_MS) == parse_time_ms(same_as, NOW_MS) is not None


def test_the_worked_example_in_three_spellings() -> None:
    """1632390207806 is the time of the documentation's first command."""
    spellings = ["1632390207806", "@1632390207.806", "2021-09-23T09:43:27.8051", "20210923T114327.806+02", "now", "-0s"]
    assert {parse_time_ms(text, NOW_MS) for text in spellings} == {NOW_MS}


@given(st.integers(0, 40_000), st.sampled_from([("s", 1), ("m", 60), ("h", 3600), ("d", 86_400)]))
def test_ago_counts_back_from_now_and_stops_at_the_epoch(count: int, unit: tuple[str, int]) -> None:
    """`-30000d..now` is a way to say "all of it"; there are no negative times to lead it astray."""
    letter, seconds = unit
    assert parse_time_ms(f"-{count}{letter}", NOW_MS) == max(0, NOW_MS - count * seconds * 1000)


NO_TIMES = """
- @ -1 @-5 @+5 @5. @.5 +5 1_000 0x10 1e3 -5w -1.5h -h --1h -1H NOW now-1h earliest end
9223372036854775808 @9223372036854775.8071 -9223372036854775808s -9223372036854776s
0000-01-01
2021-02-29 2021-13-01 2021-00-10 2021-09-31 2021-366 2021-000 9999-366 2021-W53-1 2021-W00-1 2021-W38-0
2021-9-23 21-09-23 2021/09/23 2021-0923 202109-23 +2021-09-23 2021W38-4T00
2021-09-23Z 2021-09-23T 2021-09-23T24:00 2021-09-23T09:60 2021-09-23T09:43:60 2021-09-23T9:43 2021-09-23T09.5
2021-09-23T09:43:27. 2021-09-23T09:43:27.Z 2021-09-23T0943 20210923T09:43 2021-09-23x09:43
2021-09-23T09:43+24:00 2021-09-23T09:43+01:60 2021-09-23T09:43+1 2021-09-23T09:43+01:00:00 2021-09-23T09:43ZZ
"""
ARABIC_THREE, WIDE_ONE, SUPERSCRIPT_TWO, MINUS_SIGN = "\u0663", "\uff11", "\u00b2", "\u2212"
NOT_ASCII = [ARABIC_THREE, WIDE_ONE, f"@{ARABIC_THREE}", f"-{WIDE_ONE}h", f"202{WIDE_ONE}-09-23", SUPERSCRIPT_TWO]
NOT_ASCII += [f"2021-09-23T09:43{MINUS_SIGN}02:00", "\udcff", "5\udcff"]


@pytest.mark.parametrize("text", ["", "5 ", " 5", "5\n", "now ", "- 1h", "9" * 5000, *NO_TIMES.split(), *NOT_ASCII])
def test_what_is_no_time_is_none(text: str) -> None:
    """A misread time would show the wrong hour of the log without a word."""
    assert parse_time_ms(text, NOW_MS) is None


@pytest.mark.parametrize(
    "text", ["1969-12-31", "1969-12-31T23:59:59.9999", "1970-01-01T00:00+00:01", "1960-W01", "0001-01-01T00:00+23:59"]
)
def test_a_date_before_1970_is_distinguished(text: str) -> None:
    """In a range it is the log start; a point it is not."""
    assert parse_time_ms(text, NOW_MS) == BEFORE_1970


@pytest.mark.parametrize(
    ("text", "word"),
    [("1632390207", "1970-01-19; for seconds write @1632390207"), ("20210923", "for a date write 2021-09-23")],
)
def test_a_number_that_was_meant_otherwise_is_doubted(text: str, word: str) -> None:
    """`$(date +%s)` is answered by the oldest record of the log: who asked must learn why."""
    assert word in (doubt(text) or "")


@pytest.mark.parametrize("text", ["1632390207806", "0", "0001632390207", "@1632390207", "20211323", "123", "now", ""])
def test_what_is_meant_as_it_stands_is_not_doubted(text: str) -> None:
    assert doubt(text) is None


@given(st.one_of(st.text(), st.text("0123456789-:.,TtZzWw@+nowsmhd ", max_size=30)))
def test_any_text_is_a_time_from_1970_on_or_none(text: str) -> None:
    """Names come from strangers; no text may end the mount."""
    time_ms = parse_time_ms(text, NOW_MS)
    assert time_ms is None or time_ms == BEFORE_1970 or 0 <= time_ms <= MAX_INT64


def test_64_bits_end_where_they_end() -> None:
    """Above the largest signed 64-bit integer nothing on disk can be."""
    assert parse_int64(str(MAX_INT64)) == MAX_INT64
    assert parse_int64(str(MAX_INT64 + 1)) is None
    assert parse_int64("0" * 4000 + "7") == 7
    assert parse_time_ms("@9223372036854775.807", NOW_MS) == MAX_INT64


@pytest.mark.parametrize(
    ("unit", "a_second"), [("seconds", 1), (None, 10**3), ("microseconds", 10**6), ("nanoseconds", 10**9)]
)
def test_a_time_in_another_unit_is_recognised(unit: str | None, a_second: int) -> None:
    """From 2001 to 2096; what lies between the units is a time in milliseconds like any other."""
    for moment in (10**9, 1_700_000_000, 4 * 10**9 - 1):
        assert probable_unit(moment * a_second) == unit
    assert probable_unit(10**9 * a_second - 1) is None
    assert probable_unit(4 * 10**9 * a_second) is None


@pytest.mark.parametrize("timestamp", [-1, 0, 5, 10**8, 2**63 - 1, -(2**63)])
def test_other_times_are_milliseconds(timestamp: int) -> None:
    assert probable_unit(timestamp) is None


@given(
    base=st.integers(0, 10**13), before=st.integers(0, 10**6), after=st.integers(0, 10**6), unit=st.sampled_from("smhd")
)
def test_a_window_counts_from_the_time_in_it(base: int, before: int, after: int, unit: str) -> None:
    unit_ms = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}[unit]
    expected = base - before * unit_ms, base + after * unit_ms
    for text in (str(base), f"@{base // 1000}.{base % 1000:03}"):
        begin, end = expected
        named = BEFORE_1970 if begin < 0 else begin
        assert parse_time(f"{text}-{before}{unit}", 0) is None  # only a window begins so
        assert parse_window(f"{text}-{before}{unit}", f"+{after}{unit}", 0) == (named, end)
        assert parse_window(text, f"+{after}{unit}", 0) == (base, end)


def test_windows_of_other_times() -> None:
    """What is before 1970 keeps its distance: a window that reaches into 1970 ends where it ends."""
    assert parse_window("1969-12-31T23:55Z", "+10m", 0) == (BEFORE_1970, 300_000)
    assert parse_window("1969-01-01", "+10m", 0) == (BEFORE_1970, BEFORE_1970)
    assert parse_window("now-5m", "+10m", 600_000) == (300_000, 1_200_000)
    assert parse_window("-5m", "+10m", 600_000) == (300_000, 900_000)
    assert parse_window("end-10m-5m", "+10m", 0) == (FromEnd(900_000), FromEnd(0))
    assert parse_window("2021-09-23T09:43-05-5m", "+1m", 0) == (1632408180000 - 300_000, 1632408180000 + 60_000)
    assert parse_window(str(2**63 - 1), "+1d", 0) == (2**63 - 1, 2**63 - 1)


@pytest.mark.parametrize(("first", "last"), [("5", "10m"), ("5", "+10"), ("5", "+m"), ("5", "-10m"), ("", "+1m"),
                                             ("x", "+1m"), ("5-5m-5m", "+1m"), ("5", "+1m+1m")])  # fmt: skip
def test_what_is_no_window_is_none(first: str, last: str) -> None:
    assert parse_window(first, last, 0) is None


def test_a_time_in_a_message_has_its_date_and_its_number():
    assert time_text(1_632_390_207_806) == "2021-09-23T09:43:27.806Z (1632390207806)"
    assert time_text(FromEnd(90_000)) == "end-90s"
