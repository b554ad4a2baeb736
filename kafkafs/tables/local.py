"""A job in processes of this machine, where Spark is not installed or not wanted: the same functions and units.

A process for each processor takes the next bundle of units; results come in the order of the units, as soon as they and
all before them are there.

A unit under which files vanish is worked on again as a whole, as Spark tries a task again (`spark/session.py`). An
export's write needs that: it cannot go on in another log. A unit that asks questions has attempts of its own for each.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeVar

from kafkafs.disk.forked import Serve
from kafkafs.disk.in_order import Job, OrderRules, in_order
from kafkafs.log.reading import ask_again

BUNDLE_BYTES = 4 << 20  # so that the first finding comes soon
_LOOK_S = 0.1
_MOST_UNITS = 64  # in a bundle
_BEGUN = 2  # units ahead of the one that is worked on


class Unit(Protocol):
    """A piece of a job's work: a picklable value."""

    @property
    def weight(self) -> int:
        """Bytes that it will read, about."""
        ...


Work = TypeVar("Work", bound=Unit)
Result = TypeVar("Result")


Begin = Callable[[Work], None]
"""Has a unit's first bytes fetched, and waits for nothing."""


def begin_nothing(_: object) -> None:
    """Begin nothing: for units whose bytes come at once."""


class _Outcome(NamedTuple, Generic[Result]):
    """The results of a bundle, or the error that ended it."""

    results: list[Result]
    failure: Exception | None = None


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


def in_turn(
    bundle: Sequence[Work], function: Callable[[Work], Result], begin: Begin[Work] = begin_nothing
) -> Iterator[Result]:
    """The results of a bundle's units. `begin` is called once for each unit: for the first ones at once, for each other
    one when the second unit before it is worked on."""
    for number, unit in enumerate(bundle):
        for coming in bundle[number and number + _BEGUN : number + 1 + _BEGUN]:
            begin(coming)
        yield function(unit)


class LocalEngine:
    """The processors of this machine, as many as this process may use."""

    def __init__(self, processes: int | None = None) -> None:
        self.processes = processes or len(os.sched_getaffinity(0))

    def results(
        self, units: Sequence[Work], function: Callable[[Work], Result], passed: Callable[[int, int], None],
        begin: Begin[Work] = begin_nothing,
    ) -> Iterator[Result]:  # fmt: skip
        """The results in the order of the units; `passed` hears some times a second how many are done, and their bytes.

        An exception of a unit is raised here. Exhausted if the system ends a process, mostly for want of memory.
        """
        work, done = bundles(units, BUNDLE_BYTES), [0, 0]
        jobs = (Job("", number) for number in range(len(work)))
        rules = OrderRules[_Outcome[Result]](lambda _: True, looked=lambda: passed(*done), look_s=_LOOK_S)
        with closing(in_order(jobs, _bundle_of(function, work, begin), self.processes, rules)) as outcomes:
            for bundle, (_, outcome) in zip(work, outcomes, strict=True):
                if outcome.failure is not None:
                    raise outcome.failure
                yield from outcome.results
                done[0] += len(bundle)
                done[1] += sum(unit.weight for unit in bundle)
        passed(*done)


def _bundle_of(
    function: Callable[[Work], Result], work: Sequence[Sequence[Work]], begin: Begin[Work]
) -> Serve[int, _Outcome[Result]]:
    """The work of one process: those bundles of `work` whose numbers it is given."""

    def made(number: int, tell: Callable[[_Outcome[Result]], None]) -> None:
        try:
            tell(
                _Outcome(list(in_turn(work[number], lambda unit: ask_again(partial(function, unit), _nothing), begin)))
            )
        except Exception as error:
            tell(_Outcome([], error))

    return made


def _nothing() -> None:
    """A unit looks again by itself, each time it is asked."""


def mapped(units: Sequence[Work], function: Callable[[Work], Result]) -> Iterator[Result]:
    """The results of all units, on all processors, for who does not ask how far they are."""
    return LocalEngine().results(units, function, lambda *_: None)
