"""The progress bar: where it is shown, and that it gets out of the way."""

import os
import pty
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

import pytest

from kafkafs.cli.progress import Progress


class Zeros:
    size = 5_000_000

    def read(self, position: int, size: int) -> bytes:
        return bytes(max(0, min(size, self.size - position)))

    read_long = read


@contextmanager
def on_a_terminal() -> Iterator[int]:
    """Standard error is a terminal, standard output is not; what is written there can be read here."""
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)
    with (
        os.fdopen(theirs, "w") as stderr,
        open(os.devnull, "w") as stdout,
        redirect_stderr(stderr),
        redirect_stdout(stdout),
    ):
        yield ours
    os.close(ours)


def seen(terminal: int) -> str:
    try:
        return os.read(terminal, 65536).decode()
    except BlockingIOError:
        return ""


def test_a_read_moves_the_bar() -> None:
    """Share, size and name; nothing in it that a terminal would obey."""
    with on_a_terminal() as terminal:
        watched = Progress().of("evil\x1b[2J.log", Zeros())
        assert watched.size == Zeros.size
        assert watched.read_long(2_500_000, 10) == bytes(10)
        assert seen(terminal) == f"\r\x1b[K[{'#' * 15}{'.' * 15}]  50% of 5.0 MB  evil\\x1b[2J.log"


def test_the_bar_is_drawn_some_times_a_second() -> None:
    """Not for each of a million reads."""
    with on_a_terminal() as terminal:
        watched = Progress().of("0.log", Zeros())
        for position in range(1000):
            watched.read(position, 1)
        assert seen(terminal).count("MB") < 10


def test_the_bar_is_taken_away_for_a_line() -> None:
    """A report must not stand in the middle of it."""
    with on_a_terminal() as terminal:
        progress = Progress()
        progress.clear()
        assert seen(terminal) == ""
        progress.of("0.log", Zeros()).read(0, 1)
        seen(terminal)
        progress.clear()
        assert seen(terminal) == "\r\x1b[K"


def test_there_is_no_bar_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Cron mails what is on standard error."""
    zeros, progress = Zeros(), Progress()
    assert progress.of("0.log", zeros) is zeros
    progress.clear()
    assert capsys.readouterr().err == ""
