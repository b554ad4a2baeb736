"""Waiting in tests of trio tasks: for what threads do, by the machine's clock, and for beats, by trio's mock clock."""

import time
from collections.abc import Callable

import trio
import trio.testing

from kafkafs.fuse.serve.workers import BEAT_S
from tests.mounting import PATIENCE_S


async def until(condition: Callable[[], object]) -> None:
    """As `wait_until`, by the machine's clock, whatever trio's says."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"not true within {PATIENCE_S} s"
        time.sleep(0.001)
        await trio.lowlevel.checkpoint()


async def pass_time(clock: trio.testing.MockClock, condition: Callable[[], object]) -> float:
    """Lets beat after beat go by until it is true, all tasks having done what they had to: how many seconds."""
    started = clock.current_time()
    while not condition():
        assert clock.current_time() - started < 100 * BEAT_S
        clock.jump(BEAT_S)
        await trio.testing.wait_all_tasks_blocked()
    return clock.current_time() - started
