"""The pool of threads: what waits for one disk never holds up another, and no caller waits for ever."""

import contextlib
import gc
import os
import subprocess
import threading
import time
import weakref
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
import trio
import trio.testing

from kafkafs.disk.blocking import StoreNeeded, may_ask_store
from kafkafs.errors import BatchMemoryFull, DiskError, NotFound
from kafkafs.fuse.serve import workers as module
from kafkafs.fuse.serve.workers import BEAT_S, PER_LANE, RESERVED, CallKind, Workers
from tests.fuse.clocks import pass_time, until
from tests.mounting import PATIENCE_S, run, wait_until


def test_a_value_and_an_error_come_back_from_the_thread():
    async def main():
        pool = Workers()
        assert await pool.run("disk", lambda: threading.current_thread().name.startswith("worker-"))
        with pytest.raises(NotFound):
            await pool.run("disk", raising)
        pool.close()

    def raising():
        raise NotFound("nothing")

    trio.run(main)


def test_an_error_that_was_reported_keeps_nothing_alive():
    """What the failing call held, open files among it, is free without a search for garbage."""
    held: list[weakref.ref[threading.Event]] = []

    async def main():
        pool = Workers()
        with contextlib.suppress(NotFound):
            await pool.run("disk", raising)
        pool.close()
        await until(lambda: held[0]() is None)

    def raising():
        file = threading.Event()
        held.append(weakref.ref(file))
        raise NotFound(f"nothing but {file}")

    gc.disable()
    try:
        trio.run(main)
    finally:
        gc.enable()


def test_who_finds_no_room_waits_for_it_in_turn_and_not_in_a_thread(monkeypatch):
    """Eight calls share room for one; sixteen lookups go on meanwhile, since nobody waits in a thread."""
    monkeypatch.setattr(module, "ROOM_S", PATIENCE_S)  # how long who finds none waits is the next test's
    room, somebody_waits = threading.Lock(), threading.Event()

    def needs_room(number: int) -> int:
        if not room.acquire(blocking=False):
            somebody_waits.set()
            raise BatchMemoryFull("full", lambda: not room.locked())
        assert somebody_waits.wait(PATIENCE_S)
        room.release()
        return number

    async def main():
        pool, answers = Workers(), []

        async def call(number):
            answers.append(await pool.run("disk", lambda: needs_room(number), CallKind.READ))

        async with trio.open_nursery() as nursery:
            for number in range(8):
                nursery.start_soon(call, number)
            await trio.lowlevel.checkpoint()
            for _ in range(16):
                assert await pool.run("disk", lambda: 1) == 1
        assert sorted(answers) == list(range(8))
        pool.close()

    trio.run(main)


def test_who_finds_no_room_for_long_gets_an_error():
    def full() -> None:
        raise BatchMemoryFull("full", lambda: False)

    async def main():
        pool = Workers()
        started = trio.current_time()
        with pytest.raises(BatchMemoryFull):
            await pool.run("disk", full)
        assert trio.current_time() - started == pytest.approx(module.ROOM_S)
        pool.close()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))  # it goes on when nothing else does


def workers() -> set[threading.Thread]:
    """Of all pools; other threads of this process may come and go."""
    return {thread for thread in threading.enumerate() if thread.name.startswith("worker-")}


def test_all_threads_start_with_the_pool_and_none_later():
    """Starting a thread when memory is short blocked the whole process for good, 3 of 3 times."""

    async def main():
        pool = Workers(lanes=2)
        before = workers()
        async with trio.open_nursery() as nursery:
            for number in range(500):
                nursery.start_soon(pool.run, f"disk-{number % 5}", time.monotonic)
        assert workers() <= before
        assert pool.busy == pool.waiting == 0
        pool.close()

    trio.run(main)


def test_a_hung_lane_leaves_the_others_alone_and_is_given_up():
    """A disk that hangs answers errors within the time, then at once, and serves again when it is back."""
    back, clock, begun = threading.Event(), trio.testing.MockClock(), list[int]()

    def hang() -> None:
        begun.append(1)
        back.wait()

    async def main():
        pool = Workers(lanes=2)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(pool.watch)
            caught = []

            async def call():
                try:
                    await pool.run("hung", hang)
                except DiskError as error:
                    caught.append(error)

            async with trio.open_nursery() as callers:
                for _ in range(PER_LANE * 3):
                    callers.start_soon(call)
                await until(lambda: len(begun) == PER_LANE)
                assert await pool.run("healthy", lambda: 1) == 1
                took = await pass_time(clock, lambda: len(caught) == PER_LANE * 3)
            assert took <= module.TIMEOUT_S + 3 * BEAT_S  # to begin to wait may count as getting somewhere
            assert pool.stuck == {"hung": PER_LANE}
            with pytest.raises(DiskError, match="'hung' does not answer"):
                await pool.run("hung", lambda: 1)
            back.set()
            nursery.cancel_scope.cancel()
        await until(lambda: not pool.stuck)
        assert await pool.run("hung", lambda: 1) == 1
        pool.close()

    trio.run(main, clock=clock)


async def _crowd(nursery: trio.Nursery, pool: Workers, release: threading.Event, kind: CallKind) -> None:
    """Four times as many calls of that kind as a disk has threads, until `release`."""
    for _ in range(PER_LANE * 4):
        nursery.start_soon(lambda: pool.run("disk", release.wait, kind))
    await trio.testing.wait_all_tasks_blocked()


def test_reads_leave_threads_to_lookups():
    """Nobody's `ls` waits for someone else's gigabyte."""
    release = threading.Event()

    async def main():
        pool = Workers()
        async with trio.open_nursery() as nursery:
            await _crowd(nursery, pool, release, CallKind.READ)
            assert pool.busy == PER_LANE - RESERVED
            with trio.fail_after(PATIENCE_S):
                assert await pool.run("disk", lambda: 1) == 1
            release.set()
        pool.close()

    trio.run(main)


def test_looks_for_reads_that_wait_pass_other_reads_and_leave_a_thread_to_lookups():
    """A follower wakes in time beside gigabytes, and four thousand of them hold up nobody's `ls`."""
    release = threading.Event()

    async def main():
        pool = Workers()
        async with trio.open_nursery() as nursery:
            await _crowd(nursery, pool, release, CallKind.READ)
            with trio.fail_after(PATIENCE_S):
                assert await pool.run("disk", lambda: 1, CallKind.WAKE) == 1
            await _crowd(nursery, pool, release, CallKind.WAKE)
            with trio.fail_after(PATIENCE_S):
                assert await pool.run("disk", lambda: 1) == 1
            release.set()
        assert not pool.waiting
        pool.close()

    trio.run(main)


def test_a_value_that_comes_too_late_is_handed_to_whoever_lets_it_go():
    """A file opened for a caller that has left would stay open for ever."""
    go = threading.Event()
    let_go: list[str] = []

    def slow_open() -> str:
        go.wait()
        return "content"

    async def main():
        pool = Workers()
        with trio.move_on_after(0.05):
            await pool.run("disk", slow_open, unclaimed=let_go.append)
        go.set()
        await until(lambda: let_go)
        pool.close()

    trio.run(main)
    assert let_go == ["content"]


def all_let_go(processes: "Sequence[subprocess.Popen[bytes]]", fifo: Path) -> bool:
    """Whether all have ended; those that wait for a writer of the FIFO go on, one after the other."""
    os.close(os.open(fifo, os.O_RDWR))
    return all(process.poll() is not None for process in processes)


@pytest.mark.urgent
def test_a_hung_directory_stops_only_itself_through_the_mount(shelf):
    (shelf.source / "hung").mkdir()
    os.mkfifo(shelf.source / "hung/fifo")
    (shelf.source / "file").write_text("hello")
    stuck = [subprocess.Popen(["stat", shelf / f"hung/{number}"], stderr=subprocess.DEVNULL) for number in range(20)]
    wait_until(lambda: shelf.mounted.status()["busyWorkers"] >= 1)  # the kernel asks for one name of it at a time
    assert run("cat", shelf / "file").stdout == b"hello"
    assert any(process.poll() is None for process in stuck)
    wait_until(partial(all_let_go, stuck, shelf.source / "hung/fifo"))
    wait_until(lambda: shelf.mounted.status()["busyWorkers"] == 0)


def test_a_canary_flies_past_those_who_wait_and_stays_out_alone():
    """Else it would tell nothing while callers have all threads, or those that follow it would take the threads."""
    back, clock = threading.Event(), trio.testing.MockClock()

    async def main():
        pool = Workers()

        async def call(kind: CallKind) -> None:
            with contextlib.suppress(DiskError):
                await pool.run("hung", back.wait, kind)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(pool.watch)
            for kind in (*[CallKind.ASK] * PER_LANE * 2, CallKind.CANARY):
                nursery.start_soon(call, kind)
                await trio.lowlevel.checkpoint()
            await pass_time(clock, lambda: pool.stuck == {"hung": PER_LANE + 1})
            assert len(nursery.child_tasks) == 2  # the watch, and the canary still
            back.set()
            nursery.cancel_scope.cancel()
        pool.close()

    trio.run(main, clock=clock)


def test_a_canary_that_does_not_come_back_ends_calls_that_hold_up_everybody():
    """The kernel lets one lookup at a time into the root: one that waits for a hung disk would keep all others out."""
    back, clock, caught = threading.Event(), trio.testing.MockClock(), list[DiskError]()

    async def main():
        pool = Workers(lanes=2)

        async def call() -> None:
            with pytest.raises(DiskError) as reported:
                await pool.run("hung", back.wait, CallKind.SHARED)
            caught.append(reported.value)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(pool.watch)
            nursery.start_soon(lambda: pool.run("hung", back.wait, CallKind.CANARY))
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(call)
            await trio.testing.wait_all_tasks_blocked()
            assert await pass_time(clock, lambda: caught) < module.TIMEOUT_S / 2  # found out by waiting
            with trio.testing.assert_no_checkpoints(), pytest.raises(DiskError):  # then known
                await pool.run("hung", back.wait, CallKind.SHARED)
            back.set()
            assert await pool.run("hung", lambda: 1) == 1
            await until(lambda: not pool.busy)  # the canary has a thread of its own, which may come back last
            assert await pool.run("hung", lambda: 1, CallKind.SHARED) == 1
            nursery.cancel_scope.cancel()
        pool.close()

    trio.run(main, clock=clock)


def test_calls_that_need_a_store_leave_the_threads_to_those_that_need_the_disk():
    """They are made again in a lane of their own, or their caller hears of it."""
    release, asking = threading.Event(), list[int]()

    def far() -> int:
        may_ask_store()
        asking.append(1)
        release.wait()
        return len(asking)

    async def main():
        pool, answers = Workers(), []

        async def call():
            answers.append(await pool.run("disk", far))

        async with trio.open_nursery() as nursery:
            for _ in range(PER_LANE * 2):
                nursery.start_soon(call)
            await until(lambda: len(asking) == PER_LANE)
            assert await pool.run("disk", lambda: 1) == 1
            with pytest.raises(StoreNeeded):
                await pool.run("disk", far, in_store=False)
            release.set()
        assert len(answers) == PER_LANE * 2
        assert await pool.run("disk", far, in_store=True) == PER_LANE * 2 + 1
        pool.close()

    trio.run(main)
