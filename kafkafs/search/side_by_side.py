"""A search on all processors: units are searched by processes of their own, and come back in the order of offsets.

A process for each processor takes the next unit when it has done one, and hands over what it finds at once. What comes
before its turn is kept, some megabytes in all; then only the first unpassed unit of each partition is listened to, and
a process that is ahead waits with what it has found. Units are cut as they are given out, in order, so the one that
others wait for is always being searched, and the first match need not wait for a look at all the rest.
"""

import ctypes
import functools
import multiprocessing
import os
import signal
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import NamedTuple

from kafkafs.disk.system_calls import PR_SET_PDEATHSIG
from kafkafs.errors import Exhausted, KafkafsError
from kafkafs.format.jsonl import LineMaker
from kafkafs.format.records import Records
from kafkafs.log.partition import Partition
from kafkafs.search.grep import SearchUnit, Window, selected, units, unreadable
from kafkafs.search.selection import FieldMaker, Selection

_AHEAD = 64 << 20
"""Bytes of lines that are kept before their turn."""


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


class SearchTask(NamedTuple):
    """What is done with each unit. Makers are those of a partition's directory name; without `lines_of` records are
    counted only. Of each partition `most` records are wanted."""

    selection: Selection
    window: Window = Window()
    lines_of: Callable[[str], LineMaker] | None = None
    fields_of: Callable[[str], FieldMaker] | None = None
    most: int | None = None


@dataclass(eq=False)
class _Given:
    """A unit of a partition that was given to a process, and what of it was handed over and not passed on."""

    partition: str
    events: deque[Event] = field(default_factory=deque)


@dataclass(eq=False)
class _Worker:
    """A process, and the unit that it searches."""

    process: multiprocessing.process.BaseProcess
    pipe: Connection
    given: _Given | None = None


def search(
    partitions: Mapping[str, Partition], task: SearchTask, is_over: Callable[[str], bool], processes: int | None = None
) -> Iterator[Event]:
    """What is found, of each partition in order. Those of which `is_over` says so are not searched any further."""
    count, workers = processes or len(os.sched_getaffinity(0)), list[_Worker]()
    try:
        yield from _events(partitions, task, is_over, count, workers)
    finally:
        for worker in workers:
            worker.process.kill()
            worker.process.join()
            worker.pipe.close()


def _events(
    partitions: Mapping[str, Partition],
    task: SearchTask,
    is_over: Callable[[str], bool],
    count: int,
    workers: list[_Worker],
) -> Iterator[Event]:
    waiting, idle, held = _units(partitions, task.window, is_over), deque[_Worker](), 0
    running: defaultdict[str, deque[_Given]] = defaultdict(deque)  # of each partition, in the order of their units
    while True:
        while idle or len(workers) < count:
            unit = next(waiting, None)
            if unit is None:
                break
            if isinstance(unit, Trouble):
                yield unit
                continue
            if not idle:
                workers.append(_start(partitions, task))
                idle.append(workers[-1])
            name, worker = unit.partition.name.directory, idle.popleft()
            worker.pipe.send((name, unit.start, unit.end, unit.size))
            worker.given = _Given(name)
            running[name].append(worker.given)
        heard = {each.pipe: each for each in workers if each.given and (held < _AHEAD or _is_next(each.given, running))}
        if not heard:
            return
        for pipe in wait(list(heard)):
            worker = heard[pipe]  # type: ignore[index]
            event = _received(worker)
            assert worker.given is not None
            worker.given.events.append(event)
            held += _size(event)
            if isinstance(event, Done):
                worker.given = None
                idle.append(worker)
        for name, given in running.items():
            for event in _passed(given):
                held -= _size(event)
                if isinstance(event, Done) or not is_over(name):
                    yield event


def _received(worker: _Worker) -> Event:
    """What a process hands over; Exhausted where it has been ended by others."""
    try:
        event: Event = worker.pipe.recv()
    except (EOFError, ConnectionResetError):
        raise Exhausted("a process of the search was killed, as happens where memory runs out") from None
    return event


def _is_next(given: _Given, running: Mapping[str, deque[_Given]]) -> bool:
    return running[given.partition][0] is given


def _size(event: Event) -> int:
    return len(event.lines) if isinstance(event, Found) else 0


def _passed(units: deque[_Given]) -> Iterator[Event]:
    """What has come of a partition's units whose turn it is; units that are done are taken off."""
    while units and units[0].events:
        event = units[0].events.popleft()
        if isinstance(event, Done):
            units.popleft()
        yield event


def _units(
    partitions: Mapping[str, Partition], window: Window, is_over: Callable[[str], bool]
) -> Iterator[SearchUnit | Trouble]:
    """All units, cut one by one; what cannot be cut, or not be read at all."""
    for name, partition in partitions.items():
        try:
            for unit in units(partition, window):
                if is_over(name):
                    break
                yield unit
            for log_name in unreadable(partition, window):
                yield Trouble(name, f"{name}: {log_name} may not be read")
        except KafkafsError as error:
            yield Trouble(name, f"{name}: {error}")


def _start(partitions: Mapping[str, Partition], task: SearchTask) -> _Worker:
    context = multiprocessing.get_context("fork")  # it has the data directories open already
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, partitions, task, os.getpid()), daemon=True)
    before = signal.pthread_sigmask(
        signal.SIG_BLOCK, [signal.SIGINT]
    )  # for good in the new process: its parent ends it
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    theirs.close()
    return _Worker(process, ours)


def _work(pipe: Connection, partitions: Mapping[str, Partition], task: SearchTask, parent: int) -> None:
    """One process: searches the units that come, until none are sent, and no longer than its parent lives."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    own = task._replace(
        lines_of=task.lines_of and functools.cache(task.lines_of),
        fields_of=task.fields_of and functools.cache(task.fields_of),
    )
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while os.getppid() == parent:
            name, start, end, size = pipe.recv()
            try:
                _search_one(pipe, SearchUnit(partitions[name], start, end, size), own)
            except KafkafsError as error:
                pipe.send(Trouble(name, f"{name}: {error}"))
            pipe.send(Done(name, size))


def _search_one(pipe: Connection, unit: SearchUnit, task: SearchTask) -> None:
    name, left = unit.partition.name.directory, task.most
    fields = task.fields_of(name) if task.fields_of else None
    for records in selected(unit, task.selection, lambda sentence: pipe.send(Trouble(name, sentence)), fields):
        kept = records if left is None else Records(records.data, records.rows[:left])
        parts = [bytes(piece) for piece in task.lines_of(name).pieces(kept)] if task.lines_of else []
        pipe.send(Found(name, len(kept), b"".join(parts)))
        if left is not None:
            left -= len(kept)
            if left == 0:
                return
