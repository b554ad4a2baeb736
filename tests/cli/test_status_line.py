"""The line of progress: as wide as the terminal at most, whatever the terminal is, and gone at the end."""

import pytest

from kafkafs.cli import progress
from kafkafs.cli.status_line import StatusLine, rate_and_rest


@pytest.mark.parametrize("columns", [1, 20, 40, 64, 65, 200])
def test_a_line_is_never_wider_than_the_terminal(columns, monkeypatch, capsys):
    """Regression: below 65 columns each redraw began a new line."""
    monkeypatch.setenv("COLUMNS", str(columns))
    bar = progress.Progress()
    bar._draw("00000000000000000000.log", 2_500_000, 5_000_000, 10.0)
    drawn = capsys.readouterr().err.removeprefix("\r\x1b[K")
    assert len(drawn) <= max(1, columns - 1)
    assert "\n" not in drawn


def test_what_was_longer_before_is_gone(monkeypatch, capsys):
    """A dumb terminal would print the codes that wipe a line."""
    monkeypatch.setenv("TERM", "dumb")
    line = StatusLine()
    line.draw("seventeen")
    line.draw("two")
    line.clear()
    told = capsys.readouterr().err
    assert "\x1b" not in told
    assert told == "\rseventeen" + "\rtwo      \r" + "\r   \r"


def test_nothing_is_wiped_where_nothing_stands(capsys):
    StatusLine().clear()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("done", "seconds", "said"),
    [
        (0, 9.0, ""),
        (10, 0.5, ""),
        (10_000_000, 10.0, ", 1 MB/s, 1:30 left"),
        (1_000_000, 40.0, ", 0 MB/s, 1:06:00 left"),
    ],
)
def test_rate_and_time_left(done, seconds, said):
    assert rate_and_rest(done, 100_000_000, seconds) == said
