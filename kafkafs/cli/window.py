"""The part of logs that `dump` and `grep` are asked for: `--from-offset`, `--to-offset`, `--from-time`, `--to-time`."""

import argparse
import time
from collections.abc import Callable
from typing import TypeAlias

from kafkafs.errors import UsageError
from kafkafs.format.times import parse_int64, parse_time_ms

Limits: TypeAlias = tuple[int | None, int | None, int | None, int | None]
"""The first offset, the first that is too large, and the same two of times in milliseconds; None for no limit."""
NO_LIMITS: Limits = (None, None, None, None)


def limits(arguments: argparse.Namespace) -> Limits:
    """What the four flags say; UsageError for what is no offset or no time. A time back is from now."""
    now_ms = time.time_ns() // 1_000_000

    def moment(text: str) -> int | None:
        """As in `by-time/`; all flags mean the same now."""
        return parse_time_ms(text, now_ms)

    return (
        _number(arguments.from_offset, "--from-offset", "an offset", _offset),
        _number(arguments.to_offset, "--to-offset", "an offset", _offset),
        _number(arguments.from_time, "--from-time", "a time", moment),
        _number(arguments.to_time, "--to-time", "a time", moment),
    )


def _offset(text: str) -> int | None:
    """Digits only: offsets from the end are for names in a mount."""
    return parse_int64(text) if text.isascii() and text.isdecimal() else None


def _number(text: str | None, flag: str, what: str, parse: Callable[[str], int | None]) -> int | None:
    number = None if text is None else parse(text)
    if text is not None and number is None:
        raise UsageError(f"{flag} {text!r} is not {what}")
    return number
