"""A search through whole partitions on all processors, in the order of offsets (`disk.in_order`).

Units are cut as they are given out, in order, so the one that others wait for is always being searched, and the first
match need not wait for a look at all the rest.
"""

import functools
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import NamedTuple

from kafkafs.disk.forked import Serve
from kafkafs.disk.in_order import Job, Ready, Rules, in_order
from kafkafs.errors import KafkafsError
from kafkafs.format.jsonl import LineMaker
from kafkafs.format.records import Records
from kafkafs.log.partition import Partition
from kafkafs.log.places import Between
from kafkafs.search.search_units import Searched, SearchUnit, selected
from kafkafs.search.selection import FieldMaker, Selection

AHEAD = 64 << 20
"""Bytes of lines that are kept before their turn."""


class FoundLines(NamedTuple):
    """Matches of a partition: how many, and their lines, empty where they are not asked for."""

    partition: str
    records: int
    lines: bytes


class Trouble(NamedTuple):
    """The unit that could not be read."""

    partition: str
    sentence: str


class Done(NamedTuple):
    """A unit was searched: about how many bytes."""

    partition: str
    size: int


Event = FoundLines | Trouble | Done


class SearchTask(NamedTuple):
    """The work on each unit. Makers are those of a partition's directory name; without `lines_of` records are counted
    only. At most `most` records of each partition are wanted."""

    selection: Selection
    window: Between = Between()
    lines_of: Callable[[str], LineMaker] | None = None
    fields_of: Callable[[str], FieldMaker] | None = None
    most: int | None = None


_Sent = tuple[str, int, int, int]
"""A `SearchUnit`, its partition by name."""


def search(
    partitions: Mapping[str, Partition], task: SearchTask, is_over: Callable[[str], bool], processes: int | None = None
) -> Iterator[Event]:
    """Yield the results, in order within each partition. Those of which `is_over` says so are not searched any
    further."""
    jobs = _jobs(partitions, task.window, is_over)
    rules = Rules[Event](lambda event: isinstance(event, Done), _size, AHEAD)
    count = processes or len(os.sched_getaffinity(0))
    with closing(in_order(jobs, _searcher(partitions, task), count, rules)) as events:
        for name, event in events:
            if isinstance(event, Done) or not is_over(name):
                yield event


def _size(event: Event) -> int:
    return len(event.lines) if isinstance(event, FoundLines) else 0


def _jobs(
    partitions: Mapping[str, Partition], window: Between, is_over: Callable[[str], bool]
) -> Iterator[Job[_Sent] | Ready[Event]]:
    """All units, cut one by one; what cannot be cut, or not be read at all."""
    for name, partition in partitions.items():
        try:
            searched = Searched(partition, window)
            for unit in searched.units():
                if is_over(name):
                    break
                yield Job(name, (name, *unit[1:]))
            for log_name in searched.unreadable():
                yield Ready(name, Trouble(name, f"{name}: {log_name} may not be read"))
        except KafkafsError as error:
            yield Ready(name, Trouble(name, f"{name}: {error}"))


def _searcher(partitions: Mapping[str, Partition], task: SearchTask) -> Serve[_Sent, Event]:
    """The work of one process."""
    own = task._replace(
        lines_of=task.lines_of and functools.cache(task.lines_of),
        fields_of=task.fields_of and functools.cache(task.fields_of),
    )

    def searched(sent: _Sent, tell: Callable[[Event], None]) -> None:
        """Tells of all that is found in a unit, and then that it was searched."""
        name, start, end, size = sent
        try:
            _search_one(SearchUnit(partitions[name], start, end, size), own, tell)
        except KafkafsError as error:
            tell(Trouble(name, f"{name}: {error}"))
        tell(Done(name, size))

    return searched


def _search_one(unit: SearchUnit, task: SearchTask, tell: Callable[[Event], None]) -> None:
    name, left = unit.partition.name.directory, task.most
    fields = task.fields_of(name) if task.fields_of else None
    for records in selected(unit, task.selection, lambda sentence: tell(Trouble(name, sentence)), fields):
        kept = records if left is None else Records(records.data, records.rows[:left])
        parts = [bytes(piece) for piece in task.lines_of(name).pieces(kept)] if task.lines_of else []
        tell(FoundLines(name, len(kept), b"".join(parts)))
        if left is not None:
            left -= len(kept)
            if left == 0:
                return
