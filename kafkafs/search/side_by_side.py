"""A search through whole partitions on all processors, in the order of offsets (`disk.in_order`).

A process looks at several partitions in one job, and searches the small ones at once: of 100,000 small partitions the
look is most of the work. A large partition is cut into units here. Units are cut as they are given out, in order, so
the one that others wait for is always being searched, and the first match need not wait for a look at all the rest.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from functools import lru_cache
from typing import NamedTuple

from kafkafs.disk.forked import Serve
from kafkafs.disk.in_order import Job, OrderRules, Ready, in_order
from kafkafs.errors import KafkafsError
from kafkafs.log.partition import Partition
from kafkafs.search.record_files import LeftOut, left_beside
from kafkafs.search.results import AHEAD, Done, Event, SearchTask, Trouble, reported_errors, size_of_lines, tell_found
from kafkafs.search.search_units import Searched, SearchUnit, selected

_MOST_TOGETHER = 64
_SHARES = 4
"""Partitions in one job, at most; and jobs for each process that those left make, at least: all end together."""


_Cut = tuple[str, int, int, int]
"""A `SearchUnit`, its partition by name."""

_Sent = _Cut | list[str]
"""A unit, or the names of partitions to look at."""


class _Looked(NamedTuple):
    """Partitions were looked at: the last one's name, about how many bytes were searched, those that are large, and
    the files beside their logs that are not searched."""

    partition: str
    size: int
    large: list[str]
    left: LeftOut


_Heard = Event | _Looked


def search(
    partitions: Mapping[str, Partition],
    task: SearchTask,
    is_over: Callable[[str], bool],
    processes: int | None = None,
    ahead: int = AHEAD,
) -> Iterator[Event]:
    """Yield the results, in order within each partition. Those of which `is_over` says so are not searched any
    further."""
    count = processes or len(os.sched_getaffinity(0))
    jobs = _Jobs(partitions, task, is_over, count)
    rules = OrderRules[_Heard](lambda event: isinstance(event, Done | _Looked), size_of_lines, ahead)
    with closing(in_order(jobs.all(), _searcher(partitions, task), count, rules)) as events:
        for _, event in events:
            if isinstance(event, _Looked):
                jobs.take(event)
                yield from [Done(event.partition, event.size, event.left)] if event.size or event.left.files else []
            elif isinstance(event, Done) or not is_over(event.partition):
                yield event


class _Jobs:
    """The jobs of a search: looks at several partitions each, and the units of the large ones that a look has found."""

    def __init__(
        self, partitions: Mapping[str, Partition], task: SearchTask, is_over: Callable[[str], bool], processes: int
    ) -> None:
        self._partitions = partitions
        self._task = task
        self._is_over = is_over
        self._shares = _SHARES * processes
        self._left = deque(partitions)
        self._large = deque[str]()
        self._looks = 0
        """Number of looks that are not done."""

    def take(self, looked: _Looked) -> None:
        """A process has looked."""
        self._looks -= 1
        self._large.extend(looked.large)

    def all(self) -> Iterator[Job[_Sent] | Ready[_Heard] | None]:
        """All jobs; None while there may be more, and a look has to end first."""
        while self._large or self._left or self._looks:
            if self._large:
                yield from self._cut(self._large.popleft())
            elif self._left:
                together = min(_MOST_TOGETHER, max(1, len(self._left) // self._shares))
                names = [self._left.popleft() for _ in range(together)]
                self._looks += 1
                yield Job(names[0], names)
            else:
                yield None

    def _cut(self, name: str) -> Iterator[Job[_Sent] | Ready[_Heard]]:
        """The units of a partition, cut one by one; why it cannot be cut, or not be read at all."""
        try:
            searched = Searched(self._partitions[name], self._task.window, self._task.sizes)
            for unit in searched.units():
                if self._is_over(name):
                    break
                yield Job(name, (name, *unit[1:]))
            for log_name in searched.unreadable():
                yield Ready(name, Trouble(name, f"{name}: {log_name} may not be read"))
        except KafkafsError as error:
            yield Ready(name, Trouble(name, f"{name}: {error}"))


def _searcher(partitions: Mapping[str, Partition], task: SearchTask) -> Serve[_Sent, _Heard]:
    """The work of one process."""
    own = task._replace(
        lines_of=task.lines_of and lru_cache(task.lines_of),
        fields_of=task.fields_of and lru_cache(task.fields_of),
    )

    def searched(sent: _Sent, tell: Callable[[_Heard], None]) -> None:
        if isinstance(sent, list):
            tell(_looked(partitions, sent, own, tell))
            return
        name, start, end, size = sent
        with reported_errors(name, tell):
            _search_one(SearchUnit(partitions[name], start, end, size), own, tell)
        tell(Done(name, size))

    return searched


def _looked(
    partitions: Mapping[str, Partition], names: list[str], task: SearchTask, tell: Callable[[Event], None]
) -> _Looked:
    """Looks at partitions, and searches those that are no larger than a unit."""
    size, large, left = 0, [], LeftOut()
    for name in names:
        with reported_errors(name, tell):
            partition = partitions[name]
            # a tier answers the process that was there before the others
            searched = None if partition.may_be_in_a_tier else Searched(partition, task.window, task.sizes)
            unit = None if searched is None else searched.whole()
            if searched is None or unit is None:
                large.append(name)
            else:
                size += unit.size
                _search_whole(searched, unit, task, tell)
        with suppress(KafkafsError):
            left = left.and_more(left_beside(partitions[name]))  # by the same listing
    return _Looked(names[-1], size, large, left)


def _search_whole(searched: Searched, unit: SearchUnit, task: SearchTask, tell: Callable[[Event], None]) -> None:
    name = unit.partition.name.directory
    with reported_errors(name, tell):
        _search_one(unit, task, tell)
    for log_name in searched.unreadable():
        tell(Trouble(name, f"{name}: {log_name} may not be read"))


def _search_one(unit: SearchUnit, task: SearchTask, tell: Callable[[Event], None]) -> None:
    name = unit.partition.name
    fields = task.fields_of(name, "") if task.fields_of else None
    found = selected(unit, task.selection, lambda sentence: tell(Trouble(name.directory, sentence)), fields)
    tell_found(name.directory, found, task.lines_of(name, "") if task.lines_of else None, task.most, tell)
