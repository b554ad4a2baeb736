"""Jobs on several processes: everything is told once, in the order of each lane, however long a job takes."""

import sys
import time
from collections import Counter
from contextlib import closing
from itertools import islice
from types import FrameType

import pytest

from kafkafs.disk.in_order import Job, OrderRules, Ready, in_order
from kafkafs.errors import Exhausted

Event = tuple[int, int]
LAST = 3
"""Each job tells its number with 0 to 3; the last one ends it."""


def tell_all(number: int, tell) -> None:
    """Every third job is slow: others are ahead of it."""
    for part in range(LAST + 1):
        time.sleep(0.01 * (number % 3 == 0))
        tell((number, part))


def rules(ahead: int = 1 << 20, **more) -> OrderRules[Event]:
    return OrderRules(lambda event: event[1] == LAST, lambda event: event[1], ahead, **more)


@pytest.mark.parametrize("processes", [1, 3])
@pytest.mark.parametrize("ahead", [1, 1 << 20])
def test_each_lane_is_reported_in_its_order(processes, ahead):
    jobs = [Job("ab"[number % 2], number) for number in range(8)]
    looks: list[None] = []
    reported = list(
        in_order(iter(jobs), tell_all, processes, rules(ahead, looked=lambda: looks.append(None), look_s=1.0))
    )
    for lane, first in (("a", 0), ("b", 1)):
        assert [event for name, event in reported if name == lane] == [
            (number, part) for number in range(first, 8, 2) for part in range(LAST + 1)
        ]
    assert len(reported) == 8 * (LAST + 1)
    assert looks


def test_jobs_are_taken_one_by_one():
    """The first match of a search of a terabyte need not wait for its plan."""
    taken: list[int] = []

    def jobs():
        for number in range(100):
            taken.append(number)
            yield Job("a", number)

    with closing(in_order(jobs(), tell_all, 2, rules())) as reported:
        assert list(islice(reported, 2)) == [("a", (0, 0)), ("a", (0, 1))]
    assert len(taken) <= 10


def test_a_job_may_follow_from_what_another_has_reported():
    """Until then there is none, and nothing ends."""
    reported: list[Event] = []

    def jobs():
        for number in range(3):
            while len(reported) < number * (LAST + 1):
                yield None
            yield Job("a", number)

    for _, event in in_order(jobs(), tell_all, 2, rules()):
        reported.append(event)
    assert reported == [(number, part) for number in range(3) for part in range(LAST + 1)]


def calls_of(count: int) -> int:
    """How many of its functions `in_order` calls for so many lanes of one job."""
    calls, module = Counter[str](), in_order.__code__.co_filename

    def counted(frame: FrameType, event: str, _: object) -> None:
        calls[event] += frame.f_code.co_filename == module

    jobs = (Job(str(number), number) for number in range(count))
    sys.setprofile(counted)
    try:
        reported = list(in_order(jobs, lambda number, tell: tell((number, LAST)), 2, rules()))
    finally:
        sys.setprofile(None)
    assert sorted(number for _, (number, _) in reported) == list(range(count))
    return calls["call"]


def test_lanes_that_are_done_are_not_looked_at_again():
    """Regression: a search of 100,000 partitions took minutes to look at all lanes after each message."""
    assert calls_of(300) < 20 * calls_of(30)


def test_what_needs_no_process_is_reported_at_once():
    assert list(in_order(iter([Ready("a", (7, LAST))]), tell_all, 2, rules())) == [("a", (7, LAST))]


def test_a_process_that_is_killed_ends_all():
    def die(_: int, __: object) -> None:
        import os
        import signal

        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(Exhausted):
        list(in_order(iter([Job("a", 1)]), die, 1, rules()))
