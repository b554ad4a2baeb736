"""Calls that take long in the pool: those that get somewhere are waited for, and those that do not are given up.

The clock is the test's own: a beat goes by when each thread has done what it does in one, however busy the machine is.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest
import trio
import trio.testing

from kafkafs.disk.blocking import acquired
from kafkafs.errors import DiskError
from kafkafs.fuse.serve import workers as module
from kafkafs.fuse.serve.workers import BEAT_S, PER_LANE, PROGRESS_S, Workers
from tests.fuse.clocks import until
from tests.mounting import PATIENCE_S

BEATS = 30
"""More than anybody is waited for."""


class Busy:
    """Calls that use the processor, as from read to read, until they may end."""

    def __init__(self) -> None:
        self.may_end = threading.Event()
        self._spent_s: dict[int, float] = {}
        self._seen_s: dict[int, float] = {}

    def __call__(self) -> str:
        while not self.may_end.is_set():
            sum(range(20_000))
            self._spent_s[threading.get_ident()] = time.thread_time()
            time.sleep(0.001)
        return "an answer"

    def all_got_somewhere(self, calls: int) -> bool:
        """Whether so many have used enough of the processor since this was true last."""
        now = dict(self._spent_s)
        got = [thread for thread in now if now[thread] > self._seen_s.get(thread, 0) + 3 * PROGRESS_S]
        if len(got) < calls:
            return False
        self._seen_s = now
        return True


def test_a_busy_call_is_not_taken_for_a_disk_that_hangs():
    """`info.json` of 100,000 segments took longer than anybody's patience, and said that the disk did not answer.

    Nor is one that waits for a thread behind it; one that uses no processor is given up all the same.
    """
    hangs, busy, clock = threading.Event(), Busy(), trio.testing.MockClock()

    async def main():
        pool, answers = Workers(), list[str]()

        async def ask(lane: str, call: Callable[[], object]) -> None:
            try:
                answers.append(str(await pool.run(lane, call)))
            except DiskError:
                answers.append(f"{lane} does not answer")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(pool.watch)
            async with trio.open_nursery() as asking:
                asking.start_soon(ask, "hung", hangs.wait)
                for _ in range(PER_LANE):
                    asking.start_soon(ask, "busy", busy)
                await until(lambda: busy.all_got_somewhere(PER_LANE))
                asking.start_soon(ask, "busy", lambda: "an answer behind them")
                for _ in range(BEATS):
                    await until(lambda: busy.all_got_somewhere(PER_LANE))
                    clock.jump(BEAT_S)
                    await trio.testing.wait_all_tasks_blocked()
                assert answers == ["hung does not answer"]
                busy.may_end.set()
            nursery.cancel_scope.cancel()
        hangs.set()
        pool.close()
        assert sorted(answers) == [*["an answer"] * PER_LANE, "an answer behind them", "hung does not answer"]

    trio.run(main, clock=clock)


@pytest.mark.parametrize("ends", [DiskError, None])
def test_a_call_that_waits_for_another_thread_is_given_up_with_that_thread_and_not_before(monkeypatch, ends):
    """Regression: on a disk that hung it was made anew in each part, so that it never seemed to wait for long."""
    monkeypatch.setattr(module, "PART_S", 0.01)
    monkeypatch.setattr(module, "PART_EVERY_S", 0.0)
    lock, held, hangs, busy = threading.Lock(), threading.Event(), threading.Event(), Busy()
    clock, made, answers = trio.testing.MockClock(), Counter[int](), dict[int, object]()

    def makes_it() -> object:
        with lock:
            held.set()
            return busy() if ends is None else hangs.wait(PATIENCE_S)

    def waits_for_it(number: int) -> str:
        made[number] += 1
        with acquired(lock):
            return "another answer"

    async def main():
        pool = Workers()

        async def ask(number: int, call: Callable[[], object]) -> None:
            try:
                answers[number] = await pool.run("disk", call)
            except DiskError:
                answers[number] = DiskError

        async def a_beat() -> None:
            """When the one has got somewhere, and each of the others was made anew: not later than the clock says."""
            before = made.copy()
            await until(lambda: all(number in answers or made[number] >= before[number] + 2 for number in (1, 2, 3)))
            if ends is None:
                await until(lambda: busy.all_got_somewhere(1))
            clock.jump(BEAT_S)
            await trio.testing.wait_all_tasks_blocked()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(pool.watch)
            async with trio.open_nursery() as asking:
                asking.start_soon(ask, 0, makes_it)
                await until(held.is_set)
                for number in (1, 2, 3):
                    asking.start_soon(ask, number, partial(waits_for_it, number))
                for _ in range(int(module.TIMEOUT_S / BEAT_S) - 1):
                    await a_beat()
                assert answers == {}
                for _ in range(BEATS):
                    await a_beat()
                assert answers == ({} if ends is None else dict.fromkeys(range(4), DiskError))
                busy.may_end.set()
            nursery.cancel_scope.cancel()
        hangs.set()
        pool.close()

    trio.run(main, clock=clock)
    assert ends is DiskError or answers == {0: "an answer"} | dict.fromkeys((1, 2, 3), "another answer")
