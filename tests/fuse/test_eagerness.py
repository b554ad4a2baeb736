"""Waiting for the next request: at once where it is there, never at the cost of the other tasks."""

import os
import socket
from collections.abc import Iterator

import pytest
import trio
import trio.testing

from kafkafs.fuse.eagerness import _TURNS, _Wait

WAITS = 20 * _TURNS


@pytest.fixture
def pipe() -> Iterator[tuple[socket.socket, socket.socket]]:
    ends = socket.socketpair()
    with ends[0], ends[1]:
        yield ends


def turns_of_others(wait: _Wait, descriptor: int) -> int:
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
    turns = turns_of_others(_Wait(lambda: True), pipe[0].fileno())
    assert WAITS / _TURNS / 2 <= turns <= WAITS / 2


def test_who_has_other_work_waits_with_all_the_others(pipe):
    pipe[1].send(b"x")
    assert turns_of_others(_Wait(lambda: False), pipe[0].fileno()) >= WAITS


def test_what_comes_late_is_waited_for(pipe):
    """Longer than a moment: the request is sent once every task sleeps."""

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(_TURNS + 1):
                wait = _Wait(lambda: True)
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
            await _Wait(lambda: True).wait_readable(pipe[0].fileno())
        assert scope.cancelled_caught

    trio.run(main)
