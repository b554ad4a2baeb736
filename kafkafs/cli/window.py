"""The part of logs that `dump` and `grep` are asked for: `--from-offset`, `--to-offset`, `--from-time`, `--to-time`."""

import argparse
import time
from typing import TypeAlias

from kafkafs.errors import UsageError
from kafkafs.format.times import Time, parse_int64, parse_time, parse_window

Limits: TypeAlias = tuple[int | None, int | None, Time | None, Time | None]
"""The first offset, the first that is too large, and the same two of times; None for no limit."""
NO_LIMITS: Limits = (None, None, None, None)


def limits(arguments: argparse.Namespace) -> Limits:
    """Return the meaning of the four flags. Raise UsageError for a value that is neither an offset nor a time. A time
    back is from now, the same for all flags."""
    return (
        _offset("--from-offset", arguments.from_offset),
        _offset("--to-offset", arguments.to_offset),
        *times(arguments.from_time, arguments.to_time),
    )


def times(first: str | None, last: str | None) -> tuple[Time | None, Time | None]:
    """Return the meaning of `--from-time` and `--to-time`. None is no limit. UsageError for what is no time."""
    now_ms = time.time_ns() // 1_000_000
    if last is not None and last.startswith("+"):
        if first is None:
            raise UsageError(f"--to-time {last!r} counts from the time of --from-time, which is missing")
        if (found := parse_window(first, last, now_ms)) is not None:
            return found
        if parse_window(first, "+0s", now_ms) is not None:
            raise UsageError(f"--to-time {last!r} is not a time; write a length such as +10m")
    return _time("--from-time", first, now_ms), _time("--to-time", last, now_ms)


def _offset(flag: str, text: str | None) -> int | None:
    """Digits only: offsets from the end are for names in a mount."""
    if text is None:
        return None
    offset = parse_int64(text) if text.isascii() and text.isdecimal() else None
    if offset is None:
        raise UsageError(f"{flag} {text!r} is not an offset")
    return offset


def _time(flag: str, text: str | None, now_ms: int) -> Time | None:
    """As in `by-time/`."""
    if text is None:
        return None
    found = parse_time(text, now_ms)
    if found is None:
        raise UsageError(f"{flag} {text!r} is not a time; write milliseconds, @seconds, ISO-8601, now or -1h")
    return found
