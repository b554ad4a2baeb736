"""A search through whole partitions, in units of some megabytes, on all processors, in the order of offsets.

Batches that cannot have a match are not decoded. What is corrupt is told, and the search goes on behind it.

A process for each processor takes the next unit when it has done one, and hands over what it finds at once. What comes
before its turn is kept, some megabytes in all; then only the first unpassed unit of each partition is listened to, and
a process that is ahead waits with what it has found. Units are cut as they are given out, in order, so the one that
others wait for is always being searched, and the first match need not wait for a look at all the rest.
"""

import functools
import multiprocessing
import os
import signal
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import NamedTuple

import numpy as np

from kafkafs.disk.system_calls import signal_at_parents_end
from kafkafs.errors import Exhausted, KafkafsError, Vanished
from kafkafs.format.jsonl import LineMaker
from kafkafs.format.records import Records, Refusal
from kafkafs.format.times import FromEnd, Time
from kafkafs.log.batch_runs import Damage
from kafkafs.log.extents import cuts
from kafkafs.log.listing import ATTEMPTS
from kafkafs.log.log import Log, newest_ms
from kafkafs.log.outcomes import OpenTransactions
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.reader import Reader
from kafkafs.log.segment import Segment
from kafkafs.search.selection import FieldMaker, Selection

UNIT_BYTES = 16 << 20
_FIRST_UNIT_BYTES = 1 << 20
OPTIONS = ReadOptions()


@dataclass(frozen=True, slots=True)
class SearchWindow:
    """What part of each partition is searched: times as in `by-time/` ranges; None for no bound."""

    from_offset: int | None = None
    to_offset: int | None = None
    from_time: Time | None = None
    to_time: Time | None = None


class SearchUnit(NamedTuple):
    """The offsets [start, end) of a partition, and about how many bytes they take."""

    partition: Partition
    start: int
    end: int
    size: int


def units(partition: Partition, window: SearchWindow) -> Iterator[SearchUnit]:
    """The window of one partition, cut; nothing where it holds nothing."""
    log = partition.log()
    start, end = _bounds(Reader(log, OPTIONS, OpenTransactions()), window)
    for segment in log.segments_between(start, end):
        low = max(start, segment.base_offset)
        high = end if segment.next_base is None else min(end, segment.next_base)
        for stop, size in _cuts(log, segment, high):
            if stop > low and low < high:
                yield SearchUnit(partition, low, min(stop, high), size)
                low = stop


def unreadable(partition: Partition, window: SearchWindow) -> list[str]:
    """The logs in the window that may not be read: gaps in the offsets, which a search has to tell of."""
    log = partition.log()
    start, end = _bounds(Reader(log, OPTIONS, OpenTransactions()), window)
    asked = [each for each in log.segments_from(start) if each.base_offset < end or end == log.end_offset]
    return [segment.log_name for segment in asked if not segment.is_readable()]


def bytes_of(partition: Partition, window: SearchWindow) -> int:
    """About how many bytes the window of a partition takes, without a look at its indexes."""
    log = partition.log()
    between = log.segments_between(*_bounds(Reader(log, OPTIONS, OpenTransactions()), window))
    return sum(log.walk_end(segment) for segment in between)


def _bounds(reader: Reader, window: SearchWindow) -> tuple[int, int]:
    """The offsets that are searched."""
    log = reader.log
    start, end = window.from_offset or log.start_offset, reader.visible_end
    if window.to_offset is not None:
        end = min(end, window.to_offset)
    from_ms, to_ms = (_milliseconds(log, time) for time in (window.from_time, window.to_time))
    if from_ms is not None and from_ms > 0:
        first = reader.lookup.bounds_at(from_ms)
        start = max(start, log.end_offset if first is None else first[0])
    if to_ms is not None:
        behind = reader.lookup.bounds_at(to_ms)
        end = end if behind is None else min(end, behind[1])
        if to_ms <= (from_ms or 0):
            end = start
    return max(start, log.start_offset), end


def _milliseconds(log: Log, time: Time | None) -> int | None:
    return time.before(newest_ms(log)) if isinstance(time, FromEnd) else time


def _cuts(log: Log, segment: Segment, behind: int) -> Iterator[tuple[int, int]]:
    """Offsets at which a segment is cut, and the bytes before each; `behind` is the last. The first come early. A
    remote segment is not: whoever searches it fetches its index, and nobody else."""
    offsets, positions, end = cuts(log, segment)
    at, want = 0, _FIRST_UNIT_BYTES
    while (number := int(np.searchsorted(positions, at + want))) < len(positions):
        yield int(offsets[number]), int(positions[number]) - at
        at, want = int(positions[number]), min(2 * want, UNIT_BYTES)
    yield behind, max(end - at, 0)


def selected(
    unit: SearchUnit, selection: Selection, tell: Callable[[str], None], maker: FieldMaker | None = None
) -> Iterator[Records]:
    """The records of a unit that are selected, in order; `maker` decodes their fields.

    `tell` hears of what is corrupt, of some more than once: what overlaps two units is told in both.
    Goes on in the new files where the broker replaced those that it read from.
    """
    start, attempts = unit.start, 0
    while start < unit.end:
        try:
            reader = Reader(unit.partition.log(), OPTIONS, OpenTransactions())
            for behind, kept in _decoded(reader, max(start, reader.log.start_offset), unit.end, selection, tell):
                if kept is not None and len(found := selection.of(kept, maker)):
                    yield found
                start, attempts = behind, 0
            return
        except Vanished:
            attempts += 1
            if attempts == ATTEMPTS:
                raise
            unit.partition.look_again()


def _decoded(
    reader: Reader, start: int, end: int, selection: Selection, tell: Callable[[str], None]
) -> Iterator[tuple[int, Records | None]]:
    """The records of batches that may have some, and behind which offset all is handed out with them."""
    name = reader.log.name.directory
    for segment, item in reader.visible.batches(start, min(end, reader.visible_end)):
        if isinstance(item, Damage):
            tell(f"{name}: {segment.log_name}: {item.size} bytes at position {item.position} are no valid batch")
            yield item.last_offset + 1, None
            continue
        for piece in reader.visible.decoded(segment, item._replace(rows=selection.batches(item))):
            if isinstance(piece, Refusal):
                tell(f"{name}: {segment.log_name}: {piece.error}")
            elif len(kept := piece.between(start, end)):
                yield int(kept.rows["offset"][-1]) + 1, kept
            del piece
        yield item.last_offset + 1, None


_AHEAD = 64 << 20
"""Bytes of lines that are kept before their turn."""


class FoundLines(NamedTuple):
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


Event = FoundLines | Trouble | Done


class SearchTask(NamedTuple):
    """What is done with each unit. Makers are those of a partition's directory name; without `lines_of` records are
    counted only. Of each partition `most` records are wanted."""

    selection: Selection
    window: SearchWindow = SearchWindow()
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
            with _alive():
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
    """What a process hands over; what it has ended with is raised here."""
    with _alive():
        event: Event | Exception = worker.pipe.recv()
    if isinstance(event, Exception):
        raise event
    return event


@contextmanager
def _alive() -> Iterator[None]:
    """Exhausted where the process at the other end has been ended by others."""
    try:
        yield
    except (EOFError, BrokenPipeError, ConnectionResetError):
        raise Exhausted("a process of the search was killed, as happens where memory runs out") from None


def _is_next(given: _Given, running: Mapping[str, deque[_Given]]) -> bool:
    return running[given.partition][0] is given


def _size(event: Event) -> int:
    return len(event.lines) if isinstance(event, FoundLines) else 0


def _passed(units: deque[_Given]) -> Iterator[Event]:
    """What has come of a partition's units whose turn it is; units that are done are taken off."""
    while units and units[0].events:
        event = units[0].events.popleft()
        if isinstance(event, Done):
            units.popleft()
        yield event


def _units(
    partitions: Mapping[str, Partition], window: SearchWindow, is_over: Callable[[str], bool]
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
    signal_at_parents_end(signal.SIGKILL)
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
            except (BrokenPipeError, ConnectionResetError):
                raise
            except Exception as error:  # memory that is not there, or a bug: the parent has the words for it
                pipe.send(error)
                return
            pipe.send(Done(name, size))


def _search_one(pipe: Connection, unit: SearchUnit, task: SearchTask) -> None:
    name, left = unit.partition.name.directory, task.most
    fields = task.fields_of(name) if task.fields_of else None
    for records in selected(unit, task.selection, lambda sentence: pipe.send(Trouble(name, sentence)), fields):
        kept = records if left is None else Records(records.data, records.rows[:left])
        parts = [bytes(piece) for piece in task.lines_of(name).pieces(kept)] if task.lines_of else []
        pipe.send(FoundLines(name, len(kept), b"".join(parts)))
        if left is not None:
            left -= len(kept)
            if left == 0:
                return
