"""The part of logs that a command is asked for."""

import time
from argparse import Namespace

import pytest

from kafkafs.cli.window import NO_LIMITS, limits
from kafkafs.errors import UsageError
from kafkafs.format.times import FromEnd


def asked(**flags: str) -> Namespace:
    return Namespace(**dict.fromkeys(("from_offset", "to_offset", "from_time", "to_time")) | flags)


def test_without_flags_there_is_no_limit():
    """`dump` then shows all files, not logs alone."""
    assert limits(asked()) == NO_LIMITS


def test_offsets_and_times_are_numbers():
    """Zero is a limit too: nobody who asks for it gets the whole log for it."""
    assert limits(asked(from_offset="0", to_offset="20")) == (0, 20, None, None)
    assert limits(asked(from_time="1970-01-01T00:00:01Z", to_time="1100")) == (None, None, 1000, 1100)
    assert limits(asked(to_offset="0")) != NO_LIMITS


def test_times_back_are_from_one_and_the_same_now():
    """`--from-time -2h --to-time -1h` is an hour, not a little more."""
    before_ms = time.time_ns() // 1_000_000
    _, _, from_ms, to_ms = limits(asked(from_time="-2h", to_time="-1h"))
    assert isinstance(from_ms, int)
    assert isinstance(to_ms, int)
    assert to_ms - from_ms == 3_600_000
    assert to_ms >= before_ms - 3_600_000


def test_a_length_counts_from_the_time_that_is_named():
    """`--from-time T-5m --to-time +10m` is the quarter of an hour around T."""
    assert limits(asked(from_time="1970-01-01T01:00Z-5m", to_time="+10m")) == (None, None, 3_300_000, 4_200_000)
    assert limits(asked(from_time="3600000", to_time="+1s"))[2:] == (3_600_000, 3_601_000)
    assert limits(asked(from_time="end-10m-5m", to_time="+10m"))[2:] == (FromEnd(900_000), FromEnd(0))
    with pytest.raises(UsageError, match=r"--to-time '\+10m' counts from the time of --from-time, which is missing"):
        limits(asked(to_time="+10m"))
    with pytest.raises(UsageError, match=r"--from-time 'x' is not a time"):
        limits(asked(from_time="x", to_time="+10m"))
    with pytest.raises(UsageError, match=r"--to-time '\+10' is not a time"):
        limits(asked(from_time="5", to_time="+10"))


TIMES = "; write milliseconds, @seconds, ISO-8601, now or -1h"


@pytest.mark.parametrize(
    ("flag", "text", "sentence"),
    [
        ("from_offset", "-5", "--from-offset '-5' is not an offset"),
        ("from_offset", "\N{ARABIC-INDIC DIGIT ONE}", "--from-offset '\N{ARABIC-INDIC DIGIT ONE}' is not an offset"),
        ("to_offset", "9" * 30, f"--to-offset '{'9' * 30}' is not an offset"),
        ("to_offset", "", "--to-offset '' is not an offset"),
        ("from_time", "yesterday", f"--from-time 'yesterday' is not a time{TIMES}"),
        ("to_time", "", f"--to-time '' is not a time{TIMES}"),
    ],
)
def test_what_is_neither_is_refused_with_its_flag(flag, text, sentence):
    """A limit that is silently left out shows a whole log for a part."""
    with pytest.raises(UsageError) as refused:
        limits(asked(**{flag: text}))
    assert str(refused.value) == sentence
