"""Forked processes: what they are given and tell, and every way in which one of the two ends."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkafs.disk.forked import ForkedProcess, answered
from kafkafs.errors import Exhausted
from tests.mounting import wait_until
from tests.nobody import NOBODY, takes_root

Tell = Callable[[object], None]


@pytest.fixture
def forked() -> Iterator[Callable[[Callable[[object, Tell], None]], ForkedProcess[object, object]]]:
    made: list[ForkedProcess[object, object]] = []

    def make(serve: Callable[[object, Tell], None]) -> ForkedProcess[object, object]:
        made.append(ForkedProcess(serve))
        return made[-1]

    yield make
    for process in made:
        process.end()


def _echo(task: object, tell: Tell) -> None:
    tell((os.getpid(), task))


def _pid(process: ForkedProcess[object, object]) -> int:
    process.give("pid")
    reported = process.received()
    assert isinstance(reported, tuple)
    return int(reported[0])


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_each_does_what_it_is_given_in_order(forked):
    processes = [forked(_echo) for _ in range(3)]
    for process in processes:
        for number in range(5):
            process.give(number)
    reported = {process.received()[0]: [process.received()[1] for _ in range(4)] for process in processes}
    assert len(reported) == 3
    assert set(map(tuple, reported.values())) == {(1, 2, 3, 4)}


def test_those_that_tell_something_are_heard(forked):
    one, other = forked(_echo), forked(_echo)
    assert answered([one, other], 0) == []
    other.give(1)
    assert answered([one, other]) == [other]


def test_what_ends_a_task_is_raised_and_the_next_task_is_done(forked, capfd):
    def fail(task: object, tell: Tell) -> None:
        if task == "fail":
            raise MemoryError("none is left")
        tell(task)

    process = forked(fail)
    process.give("fail")
    process.give("go on")
    with pytest.raises(MemoryError, match="none is left"):
        process.received()
    assert process.received() == "go on"
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("is_at_work", [False, True])
def test_one_that_is_killed_is_a_sentence(forked, is_at_work):
    process = forked(_echo)
    pid = _pid(process)
    if is_at_work:
        process.give(b"x" * (8 << 20))  # more than a pipe has room for: it stands still until it is heard
        wait_until(lambda: _state(pid) == "S")
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: _state(pid) == "Z")
    assert answered([process]) == [process]
    with pytest.raises(Exhausted, match="was killed"):
        process.received()
    with pytest.raises(Exhausted, match="was killed"):
        process.give(1)


def test_ctrl_c_is_its_parents_affair(forked):
    """A terminal sends it to all of them, and whoever hears it first must not print a traceback."""
    process = forked(_echo)
    pid = _pid(process)
    os.kill(pid, signal.SIGINT)
    assert _pid(process) == pid
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_it_ends_at_once_whatever_it_does(forked):
    def for_ever(_: object, tell: Tell) -> None:
        tell(os.getpid())
        time.sleep(600)

    process = forked(for_ever)
    process.give(1)
    pid = process.received()
    process.end()
    assert not Path(f"/proc/{pid}").exists()


PARENT = """
import os, sys, time
from kafkafs.disk.forked import ForkedProcess
def serve(task, tell):
    tell(os.getpid())
    tell(b"x" * (task << 20))
    time.sleep(600)
process = ForkedProcess(serve)
process.give(int(sys.argv[1]))
print(process.received(), flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("mebibytes", [0, 8])
def test_it_lives_no_longer_than_its_parent(mebibytes):
    """Not even one that was killed, and while it waits for a pipe with room."""
    with subprocess.Popen([sys.executable, "-c", PARENT, str(mebibytes)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as parent:  # fmt: skip
        assert parent.stdout
        pid = int(parent.stdout.readline())
        parent.kill()
        assert parent.communicate() == ("", "")
    wait_until(lambda: not Path(f"/proc/{pid}").exists() or _state(pid) == "Z")


@takes_root
def test_a_fork_that_is_refused_is_reported_and_ctrl_c_is_heard_as_before():
    """Where the system has no room for another process."""
    child = os.fork()
    if not child:
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
            os.setuid(NOBODY)
            ForkedProcess(_echo)
        except BlockingIOError:
            code = 0 if signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, []) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
