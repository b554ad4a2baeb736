"""A search on all processors: units are searched by processes of their own, and come back in the order of offsets.

A process for each processor takes the next unit when it has done one, and hands over what it finds at once. Of each
partition only the first unpassed unit is listened to, so memory stays bounded: a process that is ahead waits with what
it has found. Units are given out in order, so the one that others wait for is always being searched.
"""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import NamedTuple

from kafkafs.errors import KafkafsError
from kafkafs.search.grep import LineMaker, Unit, selected
from kafkafs.search.selection import Selection


class Found(NamedTuple):
    """Matches of a partition: how many, and their lines, empty where they are not asked for."""

    partition: str
    records: int
    lines: bytes


class Trouble(NamedTuple):
    """What could not be read."""

    partition: str
    sentence: str


class Done(NamedTuple):
    """A unit was searched: about how many bytes."""

    partition: str
    size: int


Event = Found | Trouble | Done


@dataclass(eq=False)
class _Worker:
    """A process, and the units that it was given and has not handed back: one at most."""

    process: multiprocessing.process.BaseProcess
    pipe: Connection
    unit: int | None = None


@dataclass
class _Order:
    """The units of one partition that are being searched, in order."""

    running: deque[_Worker] = field(default_factory=deque)


def search(
    units: Iterable[Unit],
    selection: Selection,
    lines_of: Callable[[str], LineMaker] | None,
    is_over: Callable[[str], bool],
    processes: int | None = None,
) -> Iterator[Event]:
    """What is found, of each partition in order. `lines_of` makes lines for a partition's directory name; None: counts.

    Partitions that are `over` are not searched any further.
    """
    count = processes or len(os.sched_getaffinity(0))
    every = list(units)
    workers = [_start(every, selection, lines_of) for _ in range(min(count, len(every)))]
    try:
        yield from _events(every, workers, is_over)
    finally:
        for worker in workers:
            worker.process.kill()
            worker.process.join()
            worker.pipe.close()


def _events(every: list[Unit], workers: list[_Worker], is_over: Callable[[str], bool]) -> Iterator[Event]:
    waiting, orders, idle = deque(range(len(every))), dict[str, _Order](), deque(workers)
    while True:
        while idle and waiting:
            number = waiting.popleft()
            name = every[number].partition.name.directory
            if not is_over(name):
                worker = idle.popleft()
                worker.unit = number
                worker.pipe.send(number)
                orders.setdefault(name, _Order()).running.append(worker)
        heard = {order.running[0].pipe: order.running[0] for order in orders.values() if order.running}
        if not heard:
            return
        for pipe in wait(list(heard)):
            worker = heard[pipe]  # type: ignore[index]
            assert worker.unit is not None
            name = every[worker.unit].partition.name.directory
            event = worker.pipe.recv()
            if isinstance(event, Done):
                orders[name].running.popleft()
                worker.unit = None
                idle.append(worker)
            if isinstance(event, Done) or not is_over(name):
                yield event


def _start(every: list[Unit], selection: Selection, lines_of: Callable[[str], LineMaker] | None) -> _Worker:
    context = multiprocessing.get_context("fork")  # it has the data directories open already
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, every, selection, lines_of), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _work(
    pipe: Connection, every: list[Unit], selection: Selection, lines_of: Callable[[str], LineMaker] | None
) -> None:
    """One process: searches the units whose numbers come, until none are sent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started it ends it
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            unit = every[pipe.recv()]
            name = unit.partition.name.directory
            try:
                _search_one(pipe, unit, selection, lines_of(name) if lines_of else None)
            except KafkafsError as error:
                pipe.send(Trouble(name, f"{name}: {error}"))
            pipe.send(Done(name, unit.size))


def _search_one(pipe: Connection, unit: Unit, selection: Selection, lines: LineMaker | None) -> None:
    name = unit.partition.name.directory
    for records in selected(unit, selection, lambda sentence: pipe.send(Trouble(name, sentence))):
        if lines is None:
            pipe.send(Found(name, len(records), b""))
            continue
        parts = [bytes(piece) for piece in lines.pieces(records)]
        pipe.send(Found(name, len(records), b"".join(parts)))
