"""A job in processes of this machine, where Spark is not installed or not wanted: the same functions and units.

A process for each processor takes the next bundle of units; results come in the order of the units, as soon as they and
all before them are there.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Protocol, TypeVar

from kafkafs.disk.forked import ForkedProcess, Serve, heard
from kafkafs.log.reading import ask_again

_BUNDLE_BYTES = 4 << 20  # so that the first finding comes soon
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
_Made = dict[int, list[Result] | Exception]
"""The results of a bundle by its number, or why there are none."""


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
        work = bundles(units, _BUNDLE_BYTES)
        waiting, found = iter(range(len(work))), _Made[Result]()
        processes, done = list[ForkedProcess[int, _Made[Result]]](), [0, 0]
        try:
            for number in islice(waiting, self.processes):
                processes.append(ForkedProcess(_bundle_of(function, work)))
                processes[-1].give(number)
            for number, bundle in enumerate(work):
                while number not in found:
                    for process in heard(processes, _LOOK_S):
                        found |= process.received()
                        if (following := next(waiting, None)) is not None:
                            process.give(following)
                    passed(*done)
                results = found.pop(number)
                if isinstance(results, Exception):
                    raise results
                yield from results
                done[0] += len(bundle)
                done[1] += sum(unit.weight for unit in bundle)
            passed(*done)
        finally:
            for process in processes:
                process.end()


def _bundle_of(function: Callable[[Work], Result], work: Sequence[Sequence[Work]]) -> Serve[int, _Made[Result]]:
    """What a process does: those bundles of `work` whose numbers it is given."""

    def made(number: int, tell: Callable[[_Made[Result]], None]) -> None:
        """Tells the results of a bundle, or why there are none."""
        try:
            tell({number: [ask_again(partial(function, unit), _nothing) for unit in work[number]]})
        except Exception as error:
            tell({number: error})

    return made


def _nothing() -> None:
    """A unit looks again by itself, each time it is asked."""
