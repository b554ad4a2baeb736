"""The names under `by-offset/` and `by-time/`: a name in, a frozen query out. The log decides what it leads to.

    name   = point | range , [ suffix ]
    range  = from ".." [ to ]            half-open [from, to); no "to" means "to the end, and grow with it"

    by-offset/   point = digits | "earliest" | "latest" | "-" digits (the log end minus that many)
                 in a range also "end", the log end on disk
    by-time/     point = time | "end-" digits unit | "before-" either of them | "earliest" | "latest"
                 time is whatever `times` reads; "end-15m" counts back from the largest timestamp of the partition
                 in a range `to` can be a length, "+10m" after the time that `from` names
    suffix       "" .jsonl .follow.jsonl .decoded.jsonl .decoded.follow.jsonl .key .value .batches.jsonl .explain

`100...jsonl` is the open range `100..` with the suffix `.jsonl`. No point begins or ends with a dot, so a name has one
reading at most. `earliest`, `latest`, `end` and `-n` stay symbols here: only the log knows them, and they move. A name
outside the grammar is None, never an exception.
"""

import enum
import re
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from kafkafs.format.names import OFFSET_DIGITS
from kafkafs.format.times import BEFORE_1970, FromEnd, Time, parse_int64, parse_time, parse_window
from kafkafs.log.places import Anchor, AtOffset, AtTime, BeforeTime, BetweenOffsets, BetweenTimes, TimeBound

TIME_DIGITS = 13  # milliseconds, up to the year 2286


class Suffix(enum.Enum):
    """The wanted form of a point or range. The value is the end of the name."""

    RAW = ""
    JSONL = ".jsonl"
    FOLLOW = ".follow.jsonl"
    DECODED = ".decoded.jsonl"
    DECODED_FOLLOW = ".decoded.follow.jsonl"
    KEY = ".key"
    VALUE = ".value"
    BATCHES = ".batches.jsonl"
    EXPLAIN = ".explain"

    __hash__ = object.__hash__  # Enum's own is written in Python, and each lookup asks for it


Target = TypeVar("Target")
Point = TypeVar("Point")


class Query(NamedTuple, Generic[Target]):
    """A point or a range, and what is wanted of it."""

    target: Target
    suffix: Suffix


_FOLLOWING = frozenset({Suffix.FOLLOW, Suffix.DECODED_FOLLOW})
_POINT_ONLY = frozenset({Suffix.KEY, Suffix.VALUE, Suffix.EXPLAIN})
LONGEST_FIRST = [(suffix.value, suffix) for suffix in sorted(Suffix, key=lambda suffix: -len(suffix.value))]
"""As they are tried at the end of a name."""

BEFORE = "before-"
"""Before the time in the name of a point in `by-time/`."""

_FIXED = {"earliest": AtOffset(Anchor.EARLIEST), "latest": AtOffset(Anchor.LATEST)}
_SURELY_INT64 = 19  # decimal digits, fewer than
_END = AtOffset(Anchor.FROM_END, 0)
_OFFSET = re.compile(r"(-?)([0-9]+)")


def parse_offset_name(name: str) -> Query[AtOffset | BetweenOffsets] | None:
    """The query that `name` stands for in `by-offset/`, or None if it is no name there."""
    if (plain := _plain_number(name)) is not None:
        return Query(AtOffset(Anchor.ABSOLUTE, plain[0]), plain[1])
    for stem, suffix in _splits(name):
        if (point := _parse_offset(stem)) and _fits_point(suffix):
            return Query(point, suffix)
        if (ends := _parse_range(stem, _parse_offset_or_end)) and _fits_range(suffix, is_open=ends[1] is None):
            return Query(BetweenOffsets(*ends), suffix)
    return None


TimeTarget = AtTime | BeforeTime | AtOffset | BetweenTimes
"""The meaning of a name in `by-time/`."""


def parse_time_name(name: str, now_ms: int) -> Query[TimeTarget] | None:
    """The query that `name` stands for in `by-time/` at `now_ms`, or None if it is no name there."""
    if (plain := _plain_number(name)) is not None:
        return Query(AtTime(plain[0]), plain[1])

    def parse_end(text: str) -> TimeBound | None:
        return _parse_time_in_range(text, now_ms)

    for stem, suffix in _splits(name):
        if (point := _parse_time_point(stem, now_ms)) is not None and point != BEFORE_1970 and _fits_point(suffix):
            return Query(AtTime(point) if isinstance(point, int | FromEnd) else point, suffix)
        ends: tuple[TimeBound, TimeBound | None] | None = _parse_window(stem, now_ms) or _parse_range(stem, parse_end)
        if ends and _fits_range(suffix, is_open=ends[1] is None):
            return Query(BetweenTimes(*ends, from_now=stem.startswith("now..")), suffix)
    return None


def _plain_number(name: str) -> tuple[int, Suffix] | None:
    """The form of most names: decimal digits, and a suffix of a point. Quicker than to try all readings of a name."""
    stem, dot, rest = name.partition(".")
    suffix = _OF_POINTS.get(dot + rest)
    if suffix is None or len(stem) >= _SURELY_INT64 or not (stem.isascii() and stem.isdecimal()):
        return None
    return int(stem), suffix


def offset_range_name(start: int, stop: int | None) -> str:
    """The name of a segment's range in the listing of `by-offset/`."""
    return _range_name(start, stop, OFFSET_DIGITS)


def time_range_name(start_ms: int, stop_ms: int | None) -> str:
    """The name of a segment's range in the listing of `by-time/`."""
    return _range_name(start_ms, stop_ms, TIME_DIGITS)


def _range_name(start: int, stop: int | None, digits: int) -> str:
    return f"{start:0{digits}}.." + ("" if stop is None else f"{stop:0{digits}}")


def _splits(name: str) -> list[tuple[str, Suffix]]:
    """Each way to cut a suffix off; the empty one always fits."""
    return [(name.removesuffix(text), suffix) for text, suffix in LONGEST_FIRST if name.endswith(text)]


def _fits_point(suffix: Suffix) -> bool:
    return suffix not in _FOLLOWING


_OF_POINTS = {suffix.value: suffix for suffix in Suffix if _fits_point(suffix)}


def _fits_range(suffix: Suffix, *, is_open: bool) -> bool:
    return is_open if suffix in _FOLLOWING else suffix not in _POINT_ONLY


def is_of_points_only(suffix: Suffix) -> bool:
    """True if no range has it."""
    return suffix in _POINT_ONLY


def is_of_open_ranges_only(suffix: Suffix) -> bool:
    """True if neither a point has it nor a range with an end."""
    return suffix in _FOLLOWING


def _parse_range(text: str, parse: Callable[[str], Point | None]) -> tuple[Point, Point | None] | None:
    """The two ends of a range, cut at the first `..` that leaves a well-formed point on each side."""
    at = text.find("..")
    while at >= 0:
        start, rest = parse(text[:at]), text[at + 2 :]
        if start is not None and not rest:
            return start, None
        if start is not None and (stop := parse(rest)) is not None:
            return start, stop
        at = text.find("..", at + 1)
    return None


def _parse_window(text: str, now_ms: int) -> tuple[Time, Time] | None:
    """A range that ends some time after the time that it names."""
    first, dots, last = text.rpartition("..")
    found = parse_window(first, last, now_ms) if dots else None
    return None if found is None else (_in_range(found[0]), _in_range(found[1]))


def _in_range(time: Time) -> Time:
    """A date before 1970 is 0, the log start."""
    return 0 if time == BEFORE_1970 else time


def _parse_offset(text: str) -> AtOffset | None:
    if text in _FIXED:
        return _FIXED[text]
    match = _OFFSET.fullmatch(text)
    value = parse_int64(match[2]) if match else None
    if match is None or value is None:
        return None
    return AtOffset(Anchor.FROM_END if match[1] else Anchor.ABSOLUTE, value)


def _parse_offset_or_end(text: str) -> AtOffset | None:
    return _END if text == "end" else _parse_offset(text)


def _parse_time_point(text: str, now_ms: int) -> TimeBound | None:
    """A point, BEFORE_1970 too."""
    if text in _FIXED:
        return _FIXED[text]
    time_text = text.removeprefix(BEFORE)
    found = parse_time(time_text, now_ms)
    if found is None or time_text == text:
        return found
    return None if found == BEFORE_1970 else BeforeTime(found)


def _parse_time_in_range(text: str, now_ms: int) -> TimeBound | None:
    """A date before 1970 is 0, the log start."""
    found = _parse_time_point(text, now_ms)
    return 0 if found == BEFORE_1970 else found
