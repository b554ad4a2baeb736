"""What every thread is doing is told in the midst of anything."""

import gc
import logging
import sys
import threading

from kafkafs.fuse.life import journal


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
        told = journal._threads()
    finally:
        gc.callbacks.remove(look)
        over.set()
    assert set(running) <= {"elsewhere"}
    assert gc.isenabled()
    assert len(told) >= len(threads) + 1


def test_a_signal_in_the_midst_of_an_answer_is_part_of_it(caplog):
    def calls():
        journal.log_all(None, ["of the second"])
        yield "of the first"

    with caplog.at_level(logging.WARNING):
        journal.log_all(None, calls())
        assert caplog.text.count("of the") == caplog.text.count("of the first") == 1
        journal.log_all(None, ["of the third"])
    assert "of the third" in caplog.text
