"""The line of progress: as wide as the terminal at most, whatever the terminal is, and gone at the end."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, suppress

import pytest

from kafkafs.cli import status_line
from kafkafs.cli.status_line import StatusLine


@contextmanager
def terminal(columns: int = 80) -> Iterator[list[str]]:
    """Standard error is a terminal of so many columns; what it got is in the list at the end."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    seen: list[str] = []
    with os.fdopen(theirs, "w") as stderr, redirect_stderr(stderr):
        yield seen
    reported = b""
    with suppress(OSError):  # at its end, where nobody has the other end open
        while piece := os.read(ours, 65536):
            reported += piece
    os.close(ours)
    seen.append(reported.decode())


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(status_line, "REDRAW_S", 0)
    for name in ("COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("term", ["xterm", "dumb"])
@pytest.mark.parametrize("columns", [10, 20, 40, 64, 65, 200])
def test_a_line_is_never_wider_than_the_terminal(columns, term, monkeypatch):
    """Regression: below 65 columns each redraw began a new line. A dumb terminal would print codes."""
    monkeypatch.setenv("TERM", term)
    with terminal(columns) as seen:
        line = StatusLine()
        line.say("audit: starting Spark…")
        for done in range(0, 80_000_000, 10_000_000):
            line.show("audit", done, 80_000_000, "3 of 6 parts")
        line.clear()
    (reported,) = seen
    assert "\n" not in reported
    assert "\x1b" not in reported
    assert max(map(len, reported.split("\r"))) <= columns
    assert not reported.rpartition("\r")[0].rpartition("\r")[2].strip()  # blanks stand where it stood


def test_a_terminal_that_does_not_know_its_width_gets_a_line_too():
    with terminal(0) as seen:
        StatusLine().show("audit", 0, 80_000_000, "3 of 6 parts")
    assert "3 of 6 parts]" in seen[0]


def test_bytes_share_rate_time_left_and_what_else_is_reported():
    with terminal() as seen:
        line = StatusLine()
        line.show("audit", 0, 80_000_000)
        line.show("audit", 40_000_000, 80_000_000, "3 of 6 parts")
        line.hide()
        line.show("audit", 60_000_000, 80_000_000, "4 of 6 parts")
    (reported,) = seen
    for words in ("audit:  50%|", "40.0M of 80.0M [", "B/s, ", " left, 3 of 6 parts]", "75%|", "4 of 6 parts"):
        assert words in reported


def test_a_pipe_gets_a_line_now_and_then(monkeypatch, capsys):
    line = StatusLine()
    line.say("audit: starting Spark…")
    line.show("audit", 40_000_000, 80_000_000, "3 of 6 parts")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(status_line, "LINE_EVERY_S", 0)
    line.say("audit: starting Spark…")
    line.show("audit", 40_000_000, 80_000_000, "3 of 6 parts")
    line.clear()
    first, second = capsys.readouterr().err.splitlines()
    assert first == "audit: starting Spark…"
    assert second.startswith("audit:  50%, 40.0M of 80.0M [")
    assert second.endswith("3 of 6 parts]")


def test_where_no_line_is_due_nothing_is_loaded_for_one():
    """Regression: a small export by cron spent a seventh of its processor time on that."""
    reported = (
        "import sys; from kafkafs.cli.status_line import StatusLine; StatusLine().say('x');"
        " print('tqdm' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", reported], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == "False\n"
