"""`kafkafs.view.grammar` against the grammar itself: names built from it are read back, all others are refused."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format.times import MAX_INT64, FromEnd
from kafkafs.log.places import Anchor, AtOffset, AtTime, BeforeTime, BetweenOffsets, BetweenTimes
from kafkafs.view.grammar import Query, Suffix, offset_range_name, parse_offset_name, parse_time_name, time_range_name

NOW_MS = 1_632_390_207_806
END = AtOffset(Anchor.FROM_END, 0)
POINT_SUFFIXES = {"", ".jsonl", ".key", ".value", ".batches.jsonl", ".explain"}
RANGE_SUFFIXES = {"", ".jsonl", ".batches.jsonl"}
OPEN_RANGE_SUFFIXES = RANGE_SUFFIXES | {".follow.jsonl"}
ALL_SUFFIXES = POINT_SUFFIXES | OPEN_RANGE_SUFFIXES

int64s = st.integers(0, MAX_INT64)
zeros = st.integers(0, 22).map("0".__mul__)
offset_points = st.one_of(
    st.tuples(zeros, int64s).map(lambda t: (t[0] + str(t[1]), AtOffset(Anchor.ABSOLUTE, t[1]))),
    int64s.map(lambda n: (f"-{n}", AtOffset(Anchor.FROM_END, n))),
    st.just(("earliest", AtOffset(Anchor.EARLIEST))),
    st.just(("latest", AtOffset(Anchor.LATEST))),
)
offset_ends = offset_points | st.just(("end", END))
time_points = st.one_of(
    st.tuples(zeros, int64s).map(lambda t: (t[0] + str(t[1]), t[1])),
    st.integers(0, 10**12).map(lambda ms: (f"@{ms // 1000}.{ms % 1000:03}", ms)),
    st.integers(0, 10**9).map(lambda s: (f"-{s}s", NOW_MS - 1000 * s)),
    st.just(("2021-09-23T09:43:27.806Z", NOW_MS)),
    st.just(("now", NOW_MS)),
)


@given(offset_points, st.sampled_from(sorted(ALL_SUFFIXES)))
def test_an_offset_point_takes_the_suffixes_of_a_point(point: tuple[str, AtOffset], suffix: str) -> None:
    """A point with `.follow.jsonl` would promise to wait for one record that is there."""
    expected = Query(point[1], Suffix(suffix)) if suffix in POINT_SUFFIXES else None
    assert parse_offset_name(point[0] + suffix) == expected


@given(offset_ends, st.none() | offset_ends, st.sampled_from(sorted(ALL_SUFFIXES)))
def test_an_offset_range_takes_the_suffixes_of_a_range(
    start: tuple[str, AtOffset], stop: tuple[str, AtOffset] | None, suffix: str
) -> None:
    """`end..` is empty and grows: what `tail -n 0 -f` is for a file."""
    name = start[0] + ".." + (stop[0] if stop else "") + suffix
    allowed = RANGE_SUFFIXES if stop else OPEN_RANGE_SUFFIXES
    target = BetweenOffsets(start[1], stop[1] if stop else None)
    assert parse_offset_name(name) == (Query(target, Suffix(suffix)) if suffix in allowed else None)


@given(time_points, st.sampled_from(sorted(ALL_SUFFIXES)))
def test_a_time_point_takes_the_suffixes_of_a_point(point: tuple[str, int], suffix: str) -> None:
    """`@1632390207.806.jsonl` has a dot of its own."""
    expected = Query(AtTime(point[1]), Suffix(suffix)) if suffix in POINT_SUFFIXES else None
    assert parse_time_name(point[0] + suffix, NOW_MS) == expected


@given(time_points, st.none() | time_points, st.sampled_from(sorted(ALL_SUFFIXES)))
def test_a_time_range_takes_the_suffixes_of_a_range(
    start: tuple[str, int], stop: tuple[str, int] | None, suffix: str
) -> None:
    """A range may be cut between two times that have dots themselves."""
    name = start[0] + ".." + (stop[0] if stop else "") + suffix
    allowed = RANGE_SUFFIXES if stop else OPEN_RANGE_SUFFIXES
    target = BetweenTimes(start[1], stop[1] if stop else None, from_now=start[0] == "now")
    assert parse_time_name(name, NOW_MS) == (Query(target, Suffix(suffix)) if suffix in allowed else None)


@given(int64s, st.none() | int64s)
def test_a_listed_name_is_a_query_for_what_it_lists(start: int, stop: int | None) -> None:
    """`cat by-offset/*` opens what `readdir` named."""
    absolute = AtOffset(Anchor.ABSOLUTE, start)
    until = None if stop is None else AtOffset(Anchor.ABSOLUTE, stop)
    assert parse_offset_name(offset_range_name(start, stop)) == Query(BetweenOffsets(absolute, until), Suffix.RAW)
    assert parse_time_name(time_range_name(start, stop), NOW_MS) == Query(BetweenTimes(start, stop), Suffix.RAW)


@given(st.lists(st.integers(0, 10**13 - 1), unique=True))
def test_listed_names_sort_as_their_numbers_do(numbers: list[int]) -> None:
    """A shell glob sorts by text, and `cat by-offset/*` must be in log order."""
    assert sorted(numbers, key=lambda n: offset_range_name(n, None)) == sorted(numbers)
    assert sorted(numbers, key=lambda n: time_range_name(n, n + 1)) == sorted(numbers)


def test_listed_names_have_the_documented_width() -> None:
    """The forms of design.md, section 2."""
    assert offset_range_name(23147, 23480) == "00000000000000023147..00000000000000023480"
    assert offset_range_name(23147, None) == "00000000000000023147.."
    assert time_range_name(0, 1632390208072) == "0000000000000..1632390208072"
    assert time_range_name(1632390208072, None) == "1632390208072.."


def test_three_dots_are_an_open_range_and_a_suffix() -> None:
    """The example of design.md, section 3."""
    open_range = BetweenOffsets(AtOffset(Anchor.ABSOLUTE, 100), None)
    assert parse_offset_name("100...jsonl") == Query(open_range, Suffix.JSONL)
    assert parse_offset_name("100...follow.jsonl") == Query(open_range, Suffix.FOLLOW)
    assert parse_time_name("@100...batches.jsonl", NOW_MS) == Query(BetweenTimes(100_000, None), Suffix.BATCHES)


NO_OFFSETS = """
. .. ... ..100 100. .100 100... 100....jsonl 100...200 100..200..300 100..follow.jsonl
end end.jsonl end.explain now -1h @5 2021-09-23 +5 --5 - 1_0
9223372036854775808 -9223372036854775808 0..9223372036854775808
5.json 5.JSONL 5.jsonl.jsonl 5.key.jsonl 5.jsonl.key 5. 5.txt 5.follow 5.batches 5jsonl
.jsonl ..jsonl ...jsonl .follow.jsonl 5..6.follow.jsonl 5...key 5..6.value 5...explain
Earliest earliest..Latest latest-1 earliest+5
"""
NOT_ASCII = ["\u0663", "\uff11..\uff12", "5\udcff", "\udcff..", "5..\udcff.jsonl"]


@pytest.mark.parametrize(
    "name", ["", "- 5", "5 ", "5\n", "5\x00", "9" * 250, "9" * 6000, *NO_OFFSETS.split(), *NOT_ASCII]
)
def test_what_is_no_offset_name_is_none(name: str) -> None:
    """Each of these is "No such file or directory"; a near miss must not lead somewhere else."""
    assert parse_offset_name(name) is None


NO_TIMES = """
.. ..now now. -1 -5.. end 0..end ..latest latest..earliest.. @1...@2 @1. 1..2..3 -1h-.. @-5..@5
5-1h +1h..+2h 5-1h..9 5..9-1h latest..+1h before-5..+1h 5..+1h.follow.jsonl 5..+1h.key ..+1h
now.follow.jsonl -1h..now.follow.jsonl now...key now.json @5.jsonlx
"""


@pytest.mark.parametrize("name", ["", *NO_TIMES.split()])
def test_what_is_no_time_name_is_none(name: str) -> None:
    """Offsets and times have separate directories and separate words."""
    assert parse_time_name(name, NOW_MS) is None


def naive_offset(text: str) -> AtOffset | None:
    """The grammar once more, character by character."""
    if text in ("earliest", "latest"):
        return AtOffset(Anchor(text))
    number = text[1:] if text[:1] == "-" else text
    if number == "" or any(character not in "0123456789" for character in number):
        return None
    value = 0
    for digit in number:
        value = 10 * value + "0123456789".index(digit)
    return AtOffset(Anchor.FROM_END if text[0] == "-" else Anchor.ABSOLUTE, value) if value < 2**63 else None


def naive_readings(name: str) -> list[Query[AtOffset | BetweenOffsets]]:
    """Every reading of a name: all suffixes, all places to cut."""
    readings: list[Query[AtOffset | BetweenOffsets]] = []
    for suffix in Suffix:
        stem = name[: len(name) - len(suffix.value)]
        if stem + suffix.value != name:
            continue
        point = naive_offset(stem)
        if point and suffix.value in POINT_SUFFIXES:
            readings.append(Query(point, suffix))
        for at in range(len(stem) - 1):
            ends = [END if text == "end" else naive_offset(text) for text in (stem[:at], stem[at + 2 :])]
            is_open = at + 2 == len(stem)
            allowed = suffix.value in (OPEN_RANGE_SUFFIXES if is_open else RANGE_SUFFIXES)
            if stem[at : at + 2] == ".." and allowed and ends[0] and (is_open or ends[1]):
                readings.append(Query(BetweenOffsets(ends[0], ends[1]), suffix))
    return readings


TOKENS = ["0", "42", "-", ".", "..", "earliest", "latest", "end", ".jsonl", ".follow", ".batches", ".key", ".explain"]
names_of_tokens = st.lists(st.sampled_from(TOKENS), max_size=7).map("".join)


@given(names_of_tokens | st.text(max_size=12))
def test_a_name_has_one_reading_at_most_and_it_is_found(name: str) -> None:
    """A naive model tries every suffix and cut; with two readings the order of the code would decide."""
    readings = naive_readings(name)
    assert len(readings) <= 1
    assert parse_offset_name(name) == (readings[0] if readings else None)


def test_short_names_agree_with_the_model_without_exception() -> None:
    """All names of up to three tokens, none left to chance."""
    for tokens in product(TOKENS, repeat=3):
        name = "".join(tokens)
        assert parse_offset_name(name) == next(iter(naive_readings(name)), None), name


@given(st.text(st.characters(), max_size=40), st.binary(max_size=40))
def test_no_name_raises(text: str, raw: bytes) -> None:
    """The kernel hands over whatever bytes a user typed, decoded with surrogates."""
    for name in (text, raw.decode("utf-8", "surrogateescape")):
        for query in (parse_offset_name(name), parse_time_name(name, NOW_MS)):
            assert query is None or isinstance(query, Query)


def test_a_range_from_before_1970_begins_with_the_log():
    """Regression: `by-time/1960-01-01..` did not exist, and `0..` did."""
    assert parse_time_name("1960-01-01...jsonl", NOW_MS) == Query(BetweenTimes(0, None), Suffix.JSONL)
    assert parse_time_name("1960-01-01..1965-01-01", NOW_MS) == Query(BetweenTimes(0, 0), Suffix.RAW)
    assert parse_time_name("1960-01-01", NOW_MS) is None
    assert parse_time_name("1960-01-01.jsonl", NOW_MS) is None


@given(time_points, st.sampled_from(sorted(ALL_SUFFIXES)))
def test_the_record_before_a_time_takes_the_suffixes_of_a_point(point: tuple[str, int], suffix: str) -> None:
    expected = Query(BeforeTime(point[1]), Suffix(suffix)) if suffix in POINT_SUFFIXES else None
    assert parse_time_name(f"before-{point[0]}{suffix}", NOW_MS) == expected


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("earliest", Query(AtOffset(Anchor.EARLIEST), Suffix.RAW)),
        ("latest.jsonl", Query(AtOffset(Anchor.LATEST), Suffix.JSONL)),
        ("end-15m", Query(AtTime(FromEnd(900_000)), Suffix.RAW)),
        ("end-0s.explain", Query(AtTime(FromEnd(0)), Suffix.EXPLAIN)),
        ("before-end-15m.value", Query(BeforeTime(FromEnd(900_000)), Suffix.VALUE)),
        ("before--15m", Query(BeforeTime(NOW_MS - 900_000), Suffix.RAW)),
        ("end-15m...jsonl", Query(BetweenTimes(FromEnd(900_000), None), Suffix.JSONL)),
        ("end-15m..end-5m", Query(BetweenTimes(FromEnd(900_000), FromEnd(300_000)), Suffix.RAW)),
        ("earliest..latest", Query(BetweenTimes(AtOffset(Anchor.EARLIEST), AtOffset(Anchor.LATEST)), Suffix.RAW)),
        ("before-5...follow.jsonl", Query(BetweenTimes(BeforeTime(5), None), Suffix.FOLLOW)),
    ],
)
def test_times_that_the_log_tells(name: str, query: object) -> None:
    """On a dead disk only they mean something; they stay symbols until a log is asked."""
    assert parse_time_name(name, NOW_MS) == query


@pytest.mark.parametrize(
    "name",
    ["before-", "before-before-5", "before-earliest", "before-latest", "before-1960-01-01", "before", "end", "end-",
     "end-15", "end-m", "end--15m", "end-15m.follow.jsonl", "before-5.follow.jsonl", "end-99999999999999999999d",
     "end-1w", "earliest-5m", "latest.follow.jsonl"],
)  # fmt: skip
def test_what_is_no_time_that_a_log_tells(name: str) -> None:
    assert parse_time_name(name, NOW_MS) is None


def test_a_window_ends_some_time_after_the_time_in_it():
    """`T-5m..+10m` is the quarter of an hour around T. A range that begins with `now` begins with the next record."""
    for name, begin, stop in (("5000..+1s", 5000, 6000), ("600000-5m..+10m", 300_000, 1_200_000),
                              ("1970-01-01T01:00+01:00..+1m", 0, 60_000), ("0-5m..+1m", 0, 60_000),
                              ("-1h..+1h", NOW_MS - 3_600_000, NOW_MS), ("1969-12-31..+1h", 0, 0),
                              ("end-5m..+1m", FromEnd(300_000), FromEnd(240_000)),
                              ("end-5m-1h..+10m", FromEnd(3_900_000), FromEnd(-300_000))):  # fmt: skip
        for suffix in (Suffix.RAW, Suffix.JSONL, Suffix.BATCHES):
            assert parse_time_name(name + suffix.value, NOW_MS) == Query(BetweenTimes(begin, stop), suffix), name
    assert parse_time_name("now..+1m", NOW_MS) == Query(
        BetweenTimes(NOW_MS, NOW_MS + 60_000, from_now=True), Suffix.RAW
    )
