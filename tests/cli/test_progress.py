"""The progress bar: where it is shown, and that it gets out of the way."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

import pytest

from kafkafs.cli import status_line
from kafkafs.cli.progress import FileProgress
from tests.cli.screen import on_one_terminal, shown
from tests.cli.test_status_line import terminal
from tests.kafka.dataset import Dataset
from tests.mounting import KAFKAFS, run


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
        watched = FileProgress().of("evil\x1b[2J.log", Zeros())
        assert watched.size == Zeros.size
        assert watched.read_long(2_500_000, 10) == bytes(10)
    assert seen[0].startswith("\revil\\x1b[2J.log:   0%|")
    assert "2.50M of 5.00M" in seen[0]
    assert "\x1b" not in seen[0]


def test_the_bar_is_drawn_some_times_a_second(monkeypatch) -> None:
    """Not for each of a million reads."""
    monkeypatch.setattr(status_line, "REDRAW_S", 5.0)
    with on_a_terminal() as seen:
        watched = FileProgress().of("0.log", Zeros())
        for position in range(1000):
            watched.read(position, 1)
    assert seen[0].count("0.log") < 10


def test_the_bar_is_taken_away_for_a_line() -> None:
    """A report must not stand in the middle of it."""
    with on_a_terminal() as seen:
        progress = FileProgress()
        progress.clear()
        progress.of("0.log", Zeros()).read(0, 1)
        with progress.aside():
            print("a line", file=sys.stderr, flush=True)
        progress.clear()
    before, _, after = seen[0].partition("a line")
    assert before.endswith(" \r")
    assert not after.strip()


AT_ONCE = """
import sys
from kafkafs.cli import main, progress, status_line
progress.PATIENCE_S = status_line.REDRAW_S = LATER
sys.exit(main.main(sys.argv[1:]))
"""


def typed(*words: object, patience_s: float = 0) -> tuple[str, int]:
    """What a command writes to a terminal that has its output, too, where waiting begins at once."""
    program = AT_ONCE.replace("LATER", str(patience_s))
    return on_one_terminal(sys.executable, "-c", program, *map(str, words))


@pytest.fixture(scope="module")
def stopped() -> Dataset:
    return Dataset("4.3.1", "stopped")


@pytest.mark.parametrize("pattern", ["no such text", "record 1"])
def test_a_search_at_a_terminal_shows_how_far_it_is(stopped, pattern) -> None:
    """Regression: for what was not there it said nothing for minutes. What it prints stands on lines of its own."""
    reported, code = typed("grep", pattern, stopped.path)
    quiet = run(KAFKAFS, "grep", pattern, stopped.path, check=False)
    assert "%|" in reported
    assert sorted(shown(reported)) == sorted(["", *(quiet.stdout + quiet.stderr).decode().splitlines()])
    assert code == quiet.returncode


def test_a_dump_at_a_terminal_shows_it_between_its_lines(stopped) -> None:
    """Byte for byte what it prints elsewhere, where nothing is left of the bar."""
    words = ("dump", "--print-data-log", f"{stopped.path}/consumed-0", f"{stopped.path}/segments-0")
    reported, code = typed(*words)
    assert "%|" in reported
    quiet = run(KAFKAFS, *words)
    assert shown(reported) == [line.rstrip() for line in (quiet.stdout + quiet.stderr).decode().split("\n")]
    assert code == 0


def test_a_quick_answer_has_no_bar_before_it(stopped) -> None:
    """Nor the time that it takes to draw one."""
    for words in (("grep", "record 1", stopped.path), ("dump", f"{stopped.path}/segments-0")):
        assert "%|" not in typed(*words, patience_s=60)[0]


def test_an_error_stands_where_the_bar_was(stopped, tmp_path) -> None:
    """A sentence is not written behind half a bar."""
    reported, code = typed("dump", f"{stopped.path}/large-0", tmp_path / "0.log")
    assert code == 1
    assert any(line.startswith(("kafkafs:", f"Dumping {tmp_path}")) for line in shown(reported)), shown(reported)[-3:]


def test_there_is_no_bar_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Cron mails what is on standard error."""
    zeros, progress = Zeros(), FileProgress()
    assert progress.of("0.log", zeros) is zeros
    progress.clear()
    assert capsys.readouterr().err == ""
