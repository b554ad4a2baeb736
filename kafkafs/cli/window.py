"""Options that name offsets and times: `--from-offset`, `--to-offset`, `--from-time` and `--to-time` of `dump`,
`grep` and `export`, and the single moment of `du --at` and `revive --until`.

A window in which nothing can be is a mistake of the user, and an error.
"""

import argparse
import time
from typing import TypeAlias

from kafkafs.cli.exit_codes import say
from kafkafs.errors import UsageError
from kafkafs.format.times import FromEnd, Time, doubt, parse_int64, parse_time, parse_time_ms, parse_window

Limits: TypeAlias = tuple[int | None, int | None, Time | None, Time | None]
"""The first offset, the first that is too large, and the same two of times; None for no limit."""
NO_LIMITS: Limits = (None, None, None, None)

_TIMES = "milliseconds, @seconds, a date such as 2021-09-23T09:43Z, now or -1h"


def limits(arguments: argparse.Namespace) -> Limits:
    """Return the meaning of the four flags. Raise UsageError for a value that is neither an offset nor a time, and for
    an empty window. A time back is from now, the same for all flags."""
    first, last = _offset("--from-offset", arguments.from_offset), _offset("--to-offset", arguments.to_offset)
    if last is not None and last <= (first or 0):
        raise UsageError(_empty("offset", arguments.from_offset, arguments.to_offset))
    return first, last, *times(arguments.from_time, arguments.to_time)


def times(first: str | None, last: str | None) -> tuple[Time | None, Time | None]:
    """Return the meaning of `--from-time` and `--to-time`. None is no limit. UsageError for what is no time, and for an
    empty window."""
    found = _times(first, last)
    if last is not None and _ends_before(*found):
        raise UsageError(_empty("time", first, last))
    return found


def _times(first: str | None, last: str | None) -> tuple[Time | None, Time | None]:
    now_ms = time.time_ns() // 1_000_000
    if last is not None and last.startswith("+"):
        if first is None:
            raise UsageError(f"--to-time {last!r} counts from the time of --from-time, which is missing")
        if (found := parse_window(first, last, now_ms)) is not None:
            warn_if_doubtful(first)
            return found
        if parse_window(first, "+0s", now_ms) is not None:
            raise UsageError(f"--to-time {last!r} is not a time; write a length such as +10m")
    return _time("--from-time", first, now_ms), _time("--to-time", last, now_ms)


def _ends_before(first: Time | None, last: Time | None) -> bool:
    """True if no time is between both. A time that counts back from a log's end can only be compared with another such
    time."""
    if isinstance(last, FromEnd):
        return isinstance(first, FromEnd) and last.ago_ms >= first.ago_ms
    return last is not None and not isinstance(first, FromEnd) and last <= max(first or 0, 0)


def _empty(kind: str, first: str | None, last: str) -> str:
    """The sentence about a window that ends before it begins, or where it begins."""
    if first is None:
        return f"--to-{kind} {last!r} leaves nothing: the window ends where every log begins; name a later {kind}"
    return (
        f"--to-{kind} {last!r} is not after --from-{kind} {first!r}, so the window is empty; swap them, or name a later"
        f" end"
    )


def moment(flag: str, text: str | None) -> int | None:
    """Return a time in milliseconds; None without one. It cannot count back from a log's end: there are many logs."""
    if text is None:
        return None
    found = parse_time_ms(text, time.time_ns() // 1_000_000)
    if found is None or found < 0:
        raise UsageError(f"{flag} {text!r} is not a time; write {_TIMES}")
    warn_if_doubtful(text)
    return found


def warn_if_doubtful(text: str) -> None:
    """Say on standard error if a bare number looks like seconds or a date: it counts as milliseconds."""
    if (sentence := doubt(text)) is not None:
        say(sentence)


def _offset(flag: str, text: str | None) -> int | None:
    """Digits only: offsets from the end are for names in a mount."""
    if text is None:
        return None
    offset = parse_int64(text) if text.isascii() and text.isdecimal() else None
    if offset is None:
        raise UsageError(f"{flag} {text!r} is not an offset; write a whole number from 0 up")
    return offset


def _time(flag: str, text: str | None, now_ms: int) -> Time | None:
    """The time that an option gives, written as in `by-time/`."""
    if text is None:
        return None
    found = parse_time(text, now_ms)
    if found is None:
        raise UsageError(f"{flag} {text!r} is not a time; write {_TIMES}")
    warn_if_doubtful(text)
    return found
