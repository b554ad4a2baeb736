"""The part of logs that `dump` and `grep` are asked for: `--from-offset`, `--to-offset`, `--from-time`, `--to-time`."""

import argparse
import time
from typing import TypeAlias

from kafkafs.errors import UsageError
from kafkafs.format.times import Time, parse_int64, parse_time

Limits: TypeAlias = tuple[int | None, int | None, Time | None, Time | None]
"""The first offset, the first that is too large, and the same two of times; None for no limit."""
NO_LIMITS: Limits = (None, None, None, None)


def limits(arguments: argparse.Namespace) -> Limits:
    """What the four flags say; UsageError for what is no offset or no time. A time back is from now, the same for all
    flags."""
    now_ms = time.time_ns() // 1_000_000
    return (
        _offset("--from-offset", arguments.from_offset),
        _offset("--to-offset", arguments.to_offset),
        _time("--from-time", arguments.from_time, now_ms),
        _time("--to-time", arguments.to_time, now_ms),
    )


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
        raise UsageError(f"{flag} {text!r} is not a time")
    return found
