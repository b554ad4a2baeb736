"""Whether a reader wants to be gone: real processes, in the states that a signal finds them in."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from kafkafs.fuse.serve.signals import Inheritors, Opener, inheritors, interrupted, opener, stuck
from tests.mounting import PATIENCE_S, wait_until

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts Python programs, which say a line when they are ready; all are gone behind the test."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(program: str, **how: bool) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-c", f"import os, signal, sys, time\n{program}"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **how)  # type: ignore[call-overload]
        started.append(process)
        return process  # type: ignore[no-any-return]

    yield begin
    for process in started:
        process.kill()
        process.wait(PATIENCE_S)


def line(process: "subprocess.Popen[bytes]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().decode().strip()


def is_pending(pid: int) -> bool:
    """Whether any signal waits, blocked or not, by another hand."""
    with open(f"/proc/{pid}/status") as status:
        return any(int(text.split()[1], 16) for text in status if text.startswith(("SigPnd", "ShdPnd")))


def state(pid: int) -> str:
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0]


READY = "print('ready', flush=True)\nsys.stdin.read()"


def test_a_process_that_was_sent_nothing_is_not_interrupted(start):
    process = start(READY)
    line(process)
    assert (interrupted(process.pid), stuck(process.pid)) == (False, False)


def test_a_signal_that_a_process_cannot_take_yet_interrupts_it(start):
    """One that is stopped cannot, as one that sleeps in a read cannot: SIGTERM waits."""
    process = start(READY)
    line(process)
    process.send_signal(signal.SIGSTOP)
    wait_until(lambda: state(process.pid) == "T")
    process.send_signal(signal.SIGTERM)
    wait_until(lambda: is_pending(process.pid))
    assert interrupted(process.pid) is True
    assert stuck(process.pid) is False, "it does not sleep uninterruptibly"


def test_a_member_of_a_thousand_groups_can_be_ended_too(start):
    """They stand before its signals, and more than a page of them."""
    process = start(f"os.setgroups(range(1, 2000))\n{READY}")
    assert line(process) == "ready"
    assert interrupted(process.pid) is False
    process.send_signal(signal.SIGSTOP)
    wait_until(lambda: state(process.pid) == "T")
    process.send_signal(signal.SIGTERM)
    wait_until(lambda: is_pending(process.pid))
    assert interrupted(process.pid) is True


def test_a_signal_that_is_blocked_or_ignored_interrupts_nobody(start):
    """A shell that ignores SIGINT for its children must not have their reads ended."""
    blocked = start(f"signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n{READY}")
    ignored = start(f"signal.signal(signal.SIGTERM, signal.SIG_IGN)\n{READY}")
    for process in (blocked, ignored):
        line(process)
        process.send_signal(signal.SIGTERM)
    wait_until(lambda: is_pending(blocked.pid))
    assert [interrupted(process.pid) for process in (blocked, ignored)] == [False, False]


def test_of_a_process_that_is_gone_nothing_is_known(start):
    process = start("pass")
    process.wait(PATIENCE_S)
    assert (interrupted(process.pid), stuck(process.pid), opener(process.pid)) == (None, None, None)
    assert opener(0) is None, "one in a namespace that the daemon cannot see"


def test_the_opener_is_known_with_its_session():
    assert opener(os.getpid()) == Opener(os.getpid(), os.getsid(0))


GRANDCHILD = """
if os.fork():
    os.wait()
elif os.fork():
    os.wait()
else:
    print(os.getppid(), os.getpid(), flush=True)
    sys.stdin.read()
"""


def test_kin_are_all_descendants(start):
    """`exec 3<file; (cat <&3)`: the reader is a child of a child."""
    process = start(GRANDCHILD, start_new_session=True)
    heirs = set(map(int, line(process).split()))
    stranger = start(READY, start_new_session=True)
    one, other = Opener(process.pid, process.pid), Opener(stranger.pid, stranger.pid)
    assert inheritors([one, other]) == {one: Inheritors(heirs), other: Inheritors()}


def test_one_that_has_ended_and_is_not_waited_for_yet_holds_nobody_up(start):
    """A zombie keeps the signal that ended it; were it taken for a reader, each read of its kin would be ended."""
    process = start(READY)
    line(process)
    process.send_signal(signal.SIGKILL)
    wait_until(lambda: state(process.pid) == "Z")
    assert stuck(process.pid) is False


def test_its_session_has_more_that_may_have_inherited(start):
    """`exec 3<file; (cat <&3 &)`: init is the reader's parent by then."""
    process = start(
        "if not os.fork():\n    left = os.fork()\n    if left:\n        print(left, flush=True)\n        os._exit(0)\n"
        f"    sys.stdin.read()\n    os._exit(0)\nos.wait()\n{READY}",
        start_new_session=True,
    )
    left = int(line(process))
    try:
        assert line(process) == "ready", "else the one between them may be there yet"
        assert inheritors([Opener(process.pid, process.pid)]) == {
            Opener(process.pid, process.pid): Inheritors(mates={left})
        }
    finally:
        os.kill(left, signal.SIGKILL)


def test_of_an_opener_that_is_gone_kin_are_its_session(start):
    """Its children belong to init then, and only the session still tells whose they were."""
    process = start(
        "if not os.fork():\n    print(os.getpid(), flush=True)\n    sys.stdin.read()", start_new_session=True
    )
    left = int(line(process))
    process.wait(PATIENCE_S)
    try:
        gone = Opener(process.pid, process.pid)
        assert inheritors([gone]) == {gone: Inheritors({left})}
        assert inheritors([Opener(process.pid, 0)]) == {Opener(process.pid, 0): Inheritors()}, (
            "session 0 is that of kernel threads"
        )
    finally:
        os.kill(left, signal.SIGKILL)


def test_a_name_with_brackets_and_blanks_is_no_hindrance(start):
    """It stands unescaped in the middle of /proc/PID/stat."""
    process = start(f"open('/proc/self/comm', 'w').write('a) R 1 (b')\n{READY}")
    line(process)
    found = opener(process.pid)
    assert found == Opener(process.pid, os.getsid(process.pid))
