"""The part of logs that a command is asked for."""

import time
from argparse import Namespace

import pytest

from kafkafs.cli.window import NO_LIMITS, limits, moment
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
    assert limits(asked(from_offset="0")) != NO_LIMITS


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


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ({"from_offset": "9", "to_offset": "3"}, "--to-offset '3' is not after --from-offset '9', so the window is"),
        ({"from_offset": "9", "to_offset": "9"}, "--to-offset '9' is not after --from-offset '9', so the window is"),
        ({"to_offset": "0"}, "--to-offset '0' leaves nothing: the window ends where every log begins"),
        ({"from_time": "2021-09-23", "to_time": "2021-09-22"}, "--to-time '2021-09-22' is not after --from-time"),
        ({"from_time": "2021-09-23", "to_time": "2021-09-23"}, "--to-time '2021-09-23' is not after --from-time"),
        ({"from_time": "2126-09-23", "to_time": "-10m"}, "--to-time '-10m' is not after --from-time '2126-09-23'"),
        ({"from_time": "-1h", "to_time": "-2h"}, "--to-time '-2h' is not after --from-time '-1h'"),
        ({"from_time": "end-1h", "to_time": "end-2h"}, "--to-time 'end-2h' is not after --from-time 'end-1h'"),
        ({"from_time": "now", "to_time": "+0s"}, r"--to-time '\+0s' is not after --from-time 'now'"),
        ({"from_time": "1960-01-01", "to_time": "1965-01-01"}, "--to-time '1965-01-01' is not after"),
        ({"to_time": "1960-01-01"}, "--to-time '1960-01-01' leaves nothing"),
    ],
)
def test_a_window_in_which_nothing_can_be_is_an_error(flags, sentence):
    """Regression: each command found nothing and said nothing; `dump` showed the batch at the first offset."""
    with pytest.raises(UsageError, match=sentence):
        limits(asked(**flags))


def test_ends_that_only_a_log_can_compare_are_no_error():
    assert limits(asked(from_time="end-1h", to_time="2001-01-01"))[2] == FromEnd(3_600_000)
    assert limits(asked(from_time="2126-01-01", to_time="end-1h"))[3] == FromEnd(3_600_000)
    assert limits(asked(from_offset="9", to_time="2001-01-01"))[0] == 9


TIMES = "; write milliseconds, @seconds, a date such as 2021-09-23T09:43Z, now or -1h"
OFFSETS = "; write a whole number from 0 up"


@pytest.mark.parametrize(
    ("flag", "text", "sentence"),
    [
        ("from_offset", "-5", f"--from-offset '-5' is not an offset{OFFSETS}"),
        (
            "from_offset",
            "\N{ARABIC-INDIC DIGIT ONE}",
            f"--from-offset '\N{ARABIC-INDIC DIGIT ONE}' is not an offset{OFFSETS}",
        ),
        ("to_offset", "9" * 30, f"--to-offset '{'9' * 30}' is not an offset{OFFSETS}"),
        ("to_offset", "", f"--to-offset '' is not an offset{OFFSETS}"),
        ("from_time", "yesterday", f"--from-time 'yesterday' is not a time{TIMES}"),
        ("to_time", "", f"--to-time '' is not a time{TIMES}"),
    ],
)
def test_what_is_neither_is_refused_with_its_flag(flag, text, sentence):
    """A limit that is silently left out shows a whole log for a part."""
    with pytest.raises(UsageError) as refused:
        limits(asked(**{flag: text}))
    assert str(refused.value) == sentence


def test_seconds_are_doubted_wherever_a_time_is_typed(capsys):
    """Regression: `grep --to-time $(date +%s)` found nothing and said nothing; a mount's log names such numbers."""
    assert limits(asked(to_time="1632390207"))[3] == 1_632_390_207
    assert moment("--at", "1632390207") == 1_632_390_207
    assert capsys.readouterr().err == 2 * "kafkafs: 1632390207 ms is 1970-01-19; for seconds write @1632390207\n"
    limits(asked(from_time="1632390207806", to_time="@1632390208"))
    assert capsys.readouterr().err == ""


def test_one_moment_is_no_place_in_a_log():
    """`end-15m` counts back from one log's newest record; a whole cluster has many logs."""
    assert moment("--at", None) is None
    for text in ("x", "", "end-15m", "1600-01-01"):
        with pytest.raises(UsageError, match=r"--at '.*' is not a time; write milliseconds"):
            moment("--at", text)
