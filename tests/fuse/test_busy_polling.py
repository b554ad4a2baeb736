"""Waiting for the next request: at once where it is there, never at the cost of the other tasks."""

import os
import random
import socket
import sys
from collections.abc import Iterator

import pytest
import trio
import trio.testing

from kafkafs.fuse.serve.receiving import _TURNS, BargingLock, _BusyWait
from tests.mounting import mounting, shell

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
