"""Receiving requests: at once where one is there, never at the cost of other tasks, nor where one is taken back."""

import os
import random
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trio
import trio.testing

from kafkafs.fuse.serve.receiving import _TURNS, BargingLock, _BusyWait, reads_that_end
from tests.fuse.readers import line, reader
from tests.mounting import PATIENCE_S, mounting, shell, wait_until

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


WAITS = 20 * _TURNS


@pytest.fixture
def pipe() -> Iterator[tuple[socket.socket, socket.socket]]:
    ends = socket.socketpair()
    with ends[0], ends[1]:
        yield ends


def turns_of_others(wait: _BusyWait, descriptor: int) -> int:
    """How often another task has run while there were always requests."""
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await trio.lowlevel.checkpoint()

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(other)
            await trio.lowlevel.checkpoint()
            for _ in range(WAITS):
                await wait.wait_readable(descriptor)
            nursery.cancel_scope.cancel()

    trio.run(main)
    return turns


def test_others_have_their_turn_though_there_are_always_requests(pipe):
    pipe[1].send(b"x")
    turns = turns_of_others(_BusyWait(lambda: True), pipe[0].fileno())
    assert WAITS / _TURNS / 2 <= turns <= WAITS / 2


def test_who_has_other_work_waits_with_all_the_others(pipe):
    pipe[1].send(b"x")
    assert turns_of_others(_BusyWait(lambda: False), pipe[0].fileno()) >= WAITS


def test_what_comes_late_is_waited_for(pipe):
    """Longer than a moment: the request is sent once every task sleeps."""

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(_TURNS + 1):
                wait = _BusyWait(lambda: True)
                nursery.start_soon(wait.wait_readable, pipe[0].fileno())
                await trio.testing.wait_all_tasks_blocked()
                pipe[1].send(b"x")
                with trio.fail_after(5):
                    while nursery.child_tasks:
                        await trio.sleep(0)
                os.read(pipe[0].fileno(), 1)

    trio.run(main)


def test_a_wait_can_be_cancelled(pipe):
    async def main() -> None:
        with trio.move_on_after(0.05) as scope:
            await _BusyWait(lambda: True).wait_readable(pipe[0].fileno())
        assert scope.cancelled_caught

    trio.run(main)


@pytest.mark.parametrize("seed", range(60))
def test_one_task_at_a_time_has_the_baton_and_nobody_waits_for_ever(seed):
    """Tasks that suspend with and without it, and are cancelled anywhere, as pyfuse3's are when a mount ends."""
    chance, baton = random.Random(seed), BargingLock()
    holders, held = 0, 0

    async def suspend() -> None:
        for _ in range(chance.choice((0, 0, 1, 3))):
            await trio.lowlevel.checkpoint()

    async def task(times: int, scope: trio.CancelScope) -> None:
        nonlocal holders, held
        with scope:
            for _ in range(times):
                async with baton:
                    held, holders = held + 1, holders + 1
                    try:
                        assert holders == 1
                        await suspend()
                    finally:
                        holders -= 1
                await suspend()

    async def main() -> None:
        with trio.fail_after(10):
            async with trio.open_nursery() as nursery:
                scopes = [trio.CancelScope() for _ in range(6)]
                for scope in scopes:
                    nursery.start_soon(task, 40, scope)
                for scope in chance.sample(scopes, 3):
                    for _ in range(chance.randrange(40)):
                        await trio.lowlevel.checkpoint()
                    scope.cancel()

    trio.run(main)
    assert held >= 3 * 40


def test_who_laid_the_baton_down_may_take_it_before_who_waits():
    """Without a round of the loop in between; who waits has it once the other is busy elsewhere."""
    order: list[str] = []

    async def waiting(baton: BargingLock) -> None:
        async with baton:
            order.append("waiting")

    async def main() -> None:
        baton = BargingLock()
        async with trio.open_nursery() as nursery:
            async with baton:
                nursery.start_soon(waiting, baton)
                await trio.testing.wait_all_tasks_blocked()
            for _ in range(3):
                async with baton:
                    order.append("first")
            await trio.testing.wait_all_tasks_blocked()
            async with baton:
                order.append("first")

    trio.run(main)
    assert order == [*["first"] * 3, "waiting", "first"]


SERVING = """
import sys
import pyfuse3, trio
from kafkafs.fuse.serve import receiving
asked, taken = [], []
class Watched(receiving.BargingLock):
    async def __aenter__(self):
        taken.append(1)
        await super().__aenter__()
class Empty(pyfuse3.Operations):
    async def getattr(self, inode, ctx=None):
        found = pyfuse3.EntryAttributes()
        found.st_ino, found.st_mode = inode, 0o40555
        return found
receiving.BargingLock = Watched
pyfuse3.init(Empty(), sys.argv[1], {"fsname=kafkafs-test"})
try:
    receiving.poll_busily(lambda: asked.append(1) or True)
    trio.run(pyfuse3.main)
finally:
    pyfuse3.close(unmount=False)
print("asked", len(asked) > 0, "taken", len(taken) > 0)
"""


def test_pyfuse3_waits_as_it_is_told(tmp_path):
    """A release of it that has no `trio` to replace any more would serve as ever, only more slowly."""
    place = tmp_path / "mount"
    place.mkdir()
    log = tmp_path / "log"
    with mounting([sys.executable, "-c", SERVING, place], place, log) as mounted:
        assert shell(f"stat -c %F {mounted.path}").strip() == "directory"
        shell(f"fusermount3 -u {mounted.path}")
        mounted.process.wait(10)
    assert log.read_text() == "asked True taken True\n"
