"""A job in processes of this machine, where Spark is not installed or not wanted: the same functions and units.

A process for each processor takes the next bundle of units; results come in the order of the units, as soon as they and
all before them are there. The processes are forked, and live no longer than the one that asked for them. It hears them
without a thread: one that the system refuses would be missed by nobody but the user, who waits.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from multiprocessing.connection import Connection, wait
from typing import Generic, Protocol, TypeVar

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
        work = bundles(units, _BUNDLE_BYTES)
        waiting, found = iter(range(len(work))), dict[int, list[Result] | Exception]()
        workers, done = list[_Worker[Work, Result]](), [0, 0]
        try:
            for number in islice(waiting, self.processes):
                workers.append(_Worker(function, work))
                workers[-1].give(number)
            for number, bundle in enumerate(work):
                while number not in found:
                    heard = wait([worker.pipe for worker in workers], _LOOK_S)
                    for worker in (worker for worker in workers if worker.pipe in heard):
                        found |= worker.received()
                        if (following := next(waiting, None)) is not None:
                            worker.give(following)
                    passed(*done)
                results = found.pop(number)
                if isinstance(results, Exception):
                    raise results
                yield from results
                done[0] += len(bundle)
                done[1] += sum(unit.weight for unit in bundle)
            passed(*done)
        finally:
            for worker in workers:
                worker.end()


class _Worker(Generic[Work, Result]):
    """A process that does those bundles of `work` whose numbers are sent to it, one after the other."""

    def __init__(self, function: Callable[[Work], Result], work: Sequence[Sequence[Work]]) -> None:
        context = multiprocessing.get_context("fork")  # it has the data directories open already
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, function, work, os.getpid()), daemon=True)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # its parent alone hears of Ctrl-C
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()

    def give(self, number: int) -> None:
        """Has it do that bundle next; Exhausted."""
        with _alive():
            self.pipe.send(number)

    def received(self) -> dict[int, list[Result] | Exception]:
        """What it made of a bundle, by number; Exhausted."""
        with _alive():
            made: dict[int, list[Result] | Exception] = self.pipe.recv()
        return made

    def end(self) -> None:
        """At once, whatever it does."""
        self._process.kill()
        self._process.join()
        self.pipe.close()


@contextmanager
def _alive() -> Iterator[None]:
    try:
        yield
    except (EOFError, BrokenPipeError, ConnectionResetError):
        raise Exhausted("a process of this job was ended from outside, for want of memory perhaps") from None


def _serve(pipe: Connection, function: Callable[[Work], Result], work: Sequence[Sequence[Work]], parent: int) -> None:
    """In a process, which lives no longer than its parent."""
    signal_at_parents_end(signal.SIGKILL)
    while os.getppid() == parent:
        number = pipe.recv()
        try:
            pipe.send({number: [_tried(function, unit) for unit in work[number]]})
        except Exception as error:
            pipe.send({number: error})


def _tried(function: Callable[[Work], Result], unit: Work) -> Result:
    for _ in range(_ATTEMPTS - 1):
        try:
            return function(unit)
        except Vanished:
            continue
    return function(unit)
