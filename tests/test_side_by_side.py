"""Tests that share the processors: many at once, one that is urgent before them, and one that is alone with none."""

import fcntl
import multiprocessing
import os
from multiprocessing.synchronize import Event
from pathlib import Path

from tests.mounting import PATIENCE_S, run, wait_until
from tests.side_by_side import AHEAD, ahead, turn

NOBODY = 65534
spawn = multiprocessing.get_context("spawn")


def take_turn(directory: Path, alone: bool, began: Event, may_end: Event) -> None:
    with turn(directory, alone=alone):
        began.set()
        may_end.wait(PATIENCE_S)


def one(directory: Path, alone: bool) -> tuple[Event, Event]:
    """A process that takes its turn: when it has begun, and what lets it end."""
    began, may_end = spawn.Event(), spawn.Event()
    spawn.Process(target=take_turn, args=(directory, alone, began, may_end), daemon=True).start()
    return began, may_end


def test_one_that_is_alone_waits_for_those_who_run_and_keeps_others_out(tmp_path):
    """Otherwise a test of timings would measure its neighbours."""
    first, second = one(tmp_path, False), one(tmp_path, False)
    assert first[0].wait(PATIENCE_S)
    assert second[0].wait(PATIENCE_S)  # side by side
    alone = one(tmp_path, True)
    wait_until(lambda: _is_shut(tmp_path), PATIENCE_S)  # a process that begins late may come behind the next one
    first[1].set()
    assert not alone[0].wait(0.3)
    late = one(tmp_path, False)
    second[1].set()
    assert alone[0].wait(PATIENCE_S)
    assert not late[0].wait(0.3)
    alone[1].set()
    assert late[0].wait(PATIENCE_S)
    late[1].set()


def test_one_that_is_alone_is_not_passed_by_those_who_come_later(tmp_path):
    """Otherwise it would wait until all others are done."""
    first = one(tmp_path, False)
    assert first[0].wait(PATIENCE_S)
    alone = one(tmp_path, True)
    wait_until(lambda: _is_shut(tmp_path), PATIENCE_S)
    late = one(tmp_path, False)
    assert not late[0].wait(0.3)
    first[1].set()
    assert alone[0].wait(PATIENCE_S)
    alone[1].set()
    assert late[0].wait(PATIENCE_S)
    late[1].set()


def test_one_that_is_urgent_goes_first_with_all_that_it_starts():
    """Otherwise its seconds would be as long as its neighbours make them."""
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    with ahead() as may:
        assert may or os.geteuid() != 0
        assert int(run("nice").stdout) == usual - AHEAD * may
    assert int(run("nice").stdout) == usual


def test_without_the_privilege_nothing_goes_first():
    """Such tests are alone then."""
    process = multiprocessing.get_context("fork").Process(target=_as_nobody)
    process.start()
    process.join(PATIENCE_S)
    assert process.exitcode == 0


def _as_nobody() -> None:
    if os.geteuid() == 0:
        os.setuid(NOBODY)
    with ahead() as may:
        os._exit(may)


def _is_shut(directory: Path) -> bool:
    """Whether whoever wants to be alone keeps the door."""
    with open(directory / "door", "a") as door:
        try:
            fcntl.flock(door, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
