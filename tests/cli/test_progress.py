"""The progress bar: where it is shown, and that it gets out of the way."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

import pytest

from kafkafs.cli import status_line
from kafkafs.cli.progress import Progress
from tests.cli.test_status_line import terminal


class Zeros:
    size = 5_000_000

    def read(self, position: int, size: int) -> bytes:
        return bytes(max(0, min(size, self.size - position)))

    read_long = read


@contextmanager
def on_a_terminal() -> Iterator[list[str]]:
    """Standard error is a terminal, standard output is not; what was written there is in the list at the end."""
    with terminal() as seen, open(os.devnull, "w") as stdout, redirect_stdout(stdout):
        yield seen


def test_a_read_moves_the_bar(monkeypatch) -> None:
    """Share, size and name; nothing in it that a terminal would obey."""
    monkeypatch.setattr(status_line, "REDRAW_S", 0)
    with on_a_terminal() as seen:
        watched = Progress().of("evil\x1b[2J.log", Zeros())
        assert watched.size == Zeros.size
        assert watched.read_long(2_500_000, 10) == bytes(10)
    assert seen[0].startswith("\revil\\x1b[2J.log:   0%|")
    assert "2.50M of 5.00M" in seen[0]
    assert "\x1b" not in seen[0]


def test_the_bar_is_drawn_some_times_a_second(monkeypatch) -> None:
    """Not for each of a million reads."""
    monkeypatch.setattr(status_line, "REDRAW_S", 5.0)
    with on_a_terminal() as seen:
        watched = Progress().of("0.log", Zeros())
        for position in range(1000):
            watched.read(position, 1)
    assert seen[0].count("0.log") < 10


def test_the_bar_is_taken_away_for_a_line() -> None:
    """A report must not stand in the middle of it."""
    with on_a_terminal() as seen:
        progress = Progress()
        progress.clear()
        progress.of("0.log", Zeros()).read(0, 1)
        with progress.aside():
            print("a line", file=sys.stderr, flush=True)
        progress.clear()
    before, _, after = seen[0].partition("a line")
    assert before.endswith(" \r")
    assert not after.strip()


def test_there_is_no_bar_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Cron mails what is on standard error."""
    zeros, progress = Zeros(), Progress()
    assert progress.of("0.log", zeros) is zeros
    progress.clear()
    assert capsys.readouterr().err == ""
