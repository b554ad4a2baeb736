"""The daemon's log is safe to print and never floods; what every thread is doing is told in the midst of anything."""

import gc
import logging
import sys
import threading

import pytest

from kafkafs.fuse.life import journal


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "log"
    journal.start(path)
    yield lambda: path.read_text().splitlines()
    logging.basicConfig(force=True, handlers=[logging.NullHandler()])


def test_a_name_cannot_forge_a_line_or_move_the_terminal(written):
    """A topic may not be called so; a directory that somebody planted may."""
    logging.getLogger("x").warning(
        "skipped %s", "x\n2026-11-21T00:00:00 ERROR all is lost \x1b[2J \u202e \x9b1m \udcff"
    )
    (line,) = written()
    assert line.endswith(r"skipped x\n2026-11-21T00:00:00 ERROR all is lost \x1b[2J \u202e \x9b1m \udcff")


def test_a_traceback_stays_apart_from_lines_of_the_log(written):
    try:
        raise ValueError("first\n2026-11-21T00:00:00 ERROR forged")
    except ValueError:
        logging.getLogger("x").exception("bug")
    assert sum(line.startswith("2026") or not line.startswith("    | ") for line in written()) == 1


def test_of_one_kind_only_a_burst_is_written_and_the_rest_is_counted(written, monkeypatch):
    """A disk full of bad sectors must not fill the one that holds the log."""
    now = [1000.0]
    monkeypatch.setattr("kafkafs.fuse.life.journal.time.monotonic", lambda: now[0])

    def complain(times):
        for number in range(times):
            logging.getLogger("x").error("bad sector %d", number)

    complain(500)
    assert len(written()) == journal.BURST
    logging.getLogger("x").error("something else")
    assert len(written()) == journal.BURST + 1
    now[0] += journal.PERIOD_S
    complain(1)
    assert written()[-1].endswith(f"bad sector 0 (and {500 - journal.BURST} like it before)")


def test_no_garbage_is_looked_for_while_frames_are_collected(monkeypatch):
    """What runs then may ask for the lock that Python holds meanwhile, and wait for itself for ever."""
    inside, running, over = threading.Event(), [], threading.Event()
    current_frames = sys._current_frames

    def watched():
        inside.set()
        try:
            for _ in range(100):
                gc.collect(0) if gc.isenabled() else None  # as an allocation may
            return current_frames()
        finally:
            inside.clear()

    def look(phase, _):
        running.append(phase if inside.is_set() else "elsewhere")

    threads = [threading.Thread(target=over.wait) for _ in range(4)]
    for thread in threads:
        thread.start()
    monkeypatch.setattr(sys, "_current_frames", watched)
    gc.callbacks.append(look)
    try:
        reported = journal.threads_at_work()
    finally:
        gc.callbacks.remove(look)
        over.set()
    assert set(running) <= {"elsewhere"}
    assert gc.isenabled()
    assert len(reported) >= len(threads) + 1


def test_a_signal_in_the_midst_of_an_answer_is_part_of_it(caplog):
    def calls():
        journal.log_all(None, ["of the second"])
        yield "of the first"

    with caplog.at_level(logging.WARNING):
        journal.log_all(None, calls())
        assert caplog.text.count("of the") == caplog.text.count("of the first") == 1
        journal.log_all(None, ["of the third"])
    assert "of the third" in caplog.text
