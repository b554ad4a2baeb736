"""Receiving requests: at once where one is there, never at the cost of other tasks, nor where one is taken back."""

import os
import select
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kafkafs.fuse.life.mounting import reads_that_end
from tests.fuse.readers import line, reader
from tests.mounting import PATIENCE_S, wait_until

READING, EPOLL_WAIT = ("0", "275"), ("232", "281")  # read, splice; epoll_wait, epoll_pwait


def system_call(pid: int) -> tuple[str, str]:
    """What the first thread of a process is at: the call's number, and the file that it reads."""
    number, *arguments = Path(f"/proc/{pid}/syscall").read_text().split()
    return number, os.readlink(f"/proc/{pid}/fd/{int(arguments[0], 16)}") if number in READING else ""


@contextmanager
def delayed_reads_of(pid: int, path: str, seconds: float) -> Iterator[Callable[[], bool]]:
    """Each read of a file by the first thread of a process is held up before it begins: whether one has come so far."""
    command = ["strace", "-qq", "-p", str(pid), "-P", path, "-e", "trace=read,splice"]
    command += ["-e", f"inject=read,splice:delay_enter={int(seconds * 1e6)}"]
    tracer = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: "TracerPid:\t0\n" not in Path(f"/proc/{pid}/status").read_text())
        yield lambda: system_call(pid) in [(number, path) for number in READING]
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.wait(PATIENCE_S)


def test_a_request_that_its_process_takes_back_does_not_stop_the_mount(own_shelf):
    """The daemon is told of a request, then the process that made it is killed, then it reads: nothing is there. It
    must not sleep in that read, with all its threads, until somebody happens to ask for something else."""
    log = own_shelf.source / "log"
    log.write_text("one\n")
    follower = reader(own_shelf, "cat", str(own_shelf / "log.follow"))
    assert line(follower) == b"one\n"
    daemon = int(own_shelf.mounted.status()["pid"])
    with delayed_reads_of(daemon, "/dev/fuse", 2.0) as begun:
        wait_until(lambda: system_call(daemon)[0] in EPOLL_WAIT)
        asking = subprocess.Popen(["stat", own_shelf / "nothing"], stdout=subprocess.DEVNULL)
        wait_until(begun)
        asking.kill()
        asking.wait(PATIENCE_S)
    with open(log, "a") as file:
        file.write("two\n")
    assert follower.stdout is not None
    assert select.select([follower.stdout], [], [], 10)[0], "nobody else asks: only its own clock wakes the mount"
    assert line(follower) == b"two\n"
    follower.kill()
    follower.wait(PATIENCE_S)


def test_what_was_there_before_is_there_again():
    before = signal.getsignal(signal.SIGALRM)
    with reads_that_end():
        assert signal.getitimer(signal.ITIMER_REAL)[1] > 0
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert signal.getsignal(signal.SIGALRM) == before
