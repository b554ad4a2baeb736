"""A job in processes of this machine, where Spark is not installed or not wanted: the same functions and units.

A process for each processor takes the next bundle of units; results come in the order of the units, as soon as they and
all before them are there. The processes are forked, and live no longer than the one that asked for them.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Protocol, TypeVar

from kafkafs.disk.system_calls import signal_at_parents_end
from kafkafs.errors import Exhausted, Vanished

_BUNDLE_BYTES = 4 << 20  # so that the first finding comes soon
_ATTEMPTS = 3  # as Spark makes of a task whose log was cut while it was read
_LOOK_S = 0.1
_MOST_UNITS = 64  # in a bundle


class Unit(Protocol):
    """A piece of a job's work: a picklable value."""

    @property
    def weight(self) -> int:
        """Bytes that it will read, about."""
        ...


Work = TypeVar("Work", bound=Unit)
Result = TypeVar("Result")


def bundles(units: Sequence[Work], enough: int) -> list[list[Work]]:
    """The units in their order, in lists of about `enough` bytes, so that small ones do not each cost a task."""
    found: list[list[Work]] = []
    size = enough
    for unit in units:
        if size >= enough or len(found[-1]) >= _MOST_UNITS:
            found.append([])
            size = 0
        found[-1].append(unit)
        size += unit.weight
    return found


class LocalEngine:
    """The processors of this machine, as many as this process may use."""

    def __init__(self, processes: int | None = None) -> None:
        self.processes = processes or len(os.sched_getaffinity(0))

    def results(
        self, units: Sequence[Work], function: Callable[[Work], Result], passed: Callable[[int, int], None]
    ) -> Iterator[Result]:
        """The results in the order of the units; `passed` hears some times a second how many are done, and their bytes.

        What a unit raises is raised here. Exhausted where the system ends a process, mostly for want of memory.
        """
        others = set(multiprocessing.active_children())
        context = multiprocessing.get_context("fork")  # it has the data directories open already
        pool = ProcessPoolExecutor(self.processes, context, _begin, (os.getpid(),))
        done = [0, 0]
        try:
            for future, bundle in [
                (pool.submit(_work, function, each), each) for each in bundles(units, _BUNDLE_BYTES)
            ]:
                yield from self._awaited(future, lambda: passed(*done))
                done[0] += len(bundle)
                done[1] += sum(unit.weight for unit in bundle)
            passed(*done)
        except BrokenProcessPool:
            raise Exhausted("a process of this job was ended from outside, for want of memory perhaps") from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - others:
                process.kill()
                process.join()

    def _awaited(self, future: "Future[list[Result]]", meanwhile: Callable[[], None]) -> list[Result]:
        """Waits in steps, so that Ctrl-C and progress get their turn."""
        while not wait([future], _LOOK_S).done:
            meanwhile()
        return future.result()


def _begin(parent: int) -> None:
    """In a process: no longer than its parent lives, which alone hears of Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal_at_parents_end(signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _work(function: Callable[[Work], Result], bundle: Sequence[Work]) -> list[Result]:
    return [_tried(function, unit) for unit in bundle]


def _tried(function: Callable[[Work], Result], unit: Work) -> Result:
    for _ in range(_ATTEMPTS - 1):
        try:
            return function(unit)
        except Vanished:
            continue
    return function(unit)
