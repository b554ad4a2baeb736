"""What is shown of a job on Spark: a line on a terminal that is drawn anew, else a line now and then."""

import os
import pty
from contextlib import redirect_stderr

import pytest

from kafkafs.cli import spark_progress
from kafkafs.cli.spark_progress import SparkProgress
from kafkafs.spark.jobs import Step

HALF = Step("audit", 3, 6, 40_000_000, 80_000_000)


def shown(monkeypatch: pytest.MonkeyPatch, *, columns: int, term: str = "xterm") -> str:
    """What a terminal of so many columns gets."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(spark_progress, "REDRAW_S", 0)
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as terminal, redirect_stderr(terminal), SparkProgress("audit") as progress:
        progress(HALF)
    found = os.read(ours, 65536).decode()
    os.close(ours)
    return found


def test_a_terminal_sees_one_line_that_goes_away(monkeypatch):
    seen = shown(monkeypatch, columns=80)
    assert seen == "\r\x1b[Kaudit: starting Spark…\r\x1b[Kaudit: 3 of 6 parts, 40 of 80 MB\r\x1b[K"


def test_it_fits_a_narrow_terminal(monkeypatch):
    lines = shown(monkeypatch, columns=20).split("\r\x1b[K")
    assert max(map(len, lines)) == 19


def test_a_dumb_terminal_gets_spaces(monkeypatch):
    seen = shown(monkeypatch, columns=80, term="dumb")
    assert "\x1b" not in seen
    assert seen.endswith("\r")


def test_a_pipe_gets_a_line_now_and_then(monkeypatch, capsys):
    with SparkProgress("audit") as progress:
        progress.starting()
        progress(HALF)
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(spark_progress, "LINE_EVERY_S", 0)
        progress.starting()
        progress(HALF)
    assert capsys.readouterr().err == "audit: starting Spark…\naudit: 3 of 6 parts, 40 of 80 MB\n"
