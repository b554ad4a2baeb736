"""The partitions that a Spark job reads: data directories held open once a process, and readers of their logs."""

import os
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from kafkafs.errors import NotFound, UsageError, Vanished
from kafkafs.format.records import Records
from kafkafs.log.data_directory import DataDirectory, open_data_directory
from kafkafs.log.log import Log
from kafkafs.log.options import Isolation, ReadOptions
from kafkafs.log.partition import Partition
from kafkafs.log.reading import Reader
from kafkafs.log.segment import Segment
from kafkafs.log.transactions import OpenTransactions
from kafkafs.spark.offsets import TopicPartition, names
from kafkafs.spark.options import Choice

Answer = TypeVar("Answer")

INTERNAL = ("__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata")
"""Topics that a pattern does not choose, as a client's own subscription would not; by name they are read."""


@dataclass(frozen=True, slots=True)
class Place:
    """A partition and the data directory that it is in."""

    data_directory: Path
    name: TopicPartition


class _Planned(OpenTransactions):
    """A last stable offset that planning has found already: a task need not look for open transactions again."""

    def __init__(self, end: int) -> None:
        super().__init__()
        self._end = end

    def last_stable_offset(self, log: Log) -> int:
        return min(self._end, log.end_offset)


_lock = threading.Lock()
_transactions: dict[Place, OpenTransactions] = {}
_open: dict[Path, tuple[tuple[int, int], DataDirectory]] = {}


def data_directory(path: Path) -> DataDirectory:
    """The data directory that is at `path` now, the same object each time in this process; UsageError where it is none.

    A process of Spark's lives on from job to job, and finds another directory under a name that it knows.
    """
    with _lock:
        known = _open.get(path)
        if known is None or known[0] != _identity(path):
            known = _open[path] = _identity(path), open_data_directory(path)
        return known[1]


def _identity(path: Path) -> tuple[int, int]:
    try:
        about = os.stat(path)
    except OSError:
        return 0, 0
    return about.st_dev, about.st_ino


def partition(place: Place) -> Partition:
    """The partition as it is now; NotFound where it is gone."""
    return data_directory(place.data_directory).partition(str(place.name))


def ask_segment(
    path: Path, directory: str, base_offset: int, question: Callable[[Log, Segment], Answer]
) -> Answer | None:
    """`question` asked of one segment, and again where files vanish under it; None where the broker has deleted it."""

    def ask(log: Log) -> Answer:
        for segment in log.segments:
            if segment.base_offset == base_offset:
                return question(log, segment)
        raise Vanished(f"the segment with the base offset {base_offset} is gone")

    try:
        return data_directory(path).partition(directory).answer(ask)
    except (NotFound, Vanished):
        return None


def reader(place: Place, isolation: Isolation) -> Reader:
    """A reader of the whole log as it is now."""
    with _lock:
        transactions = _transactions.setdefault(place, OpenTransactions())
    return Reader(partition(place).log(), ReadOptions(isolation=isolation), transactions)


def records(place: Place, isolation: Isolation, start: int, end: int) -> Iterator[Records]:
    """The visible records with start <= offset < end, of a stretch below the last stable offset."""
    log = partition(place).log()
    return Reader(log, ReadOptions(isolation=isolation), _Planned(end)).records(start, end)


def every_place(paths: tuple[Path, ...]) -> dict[TopicPartition, Place]:
    """All live partitions below the data directories. UsageError where one stands in two of them."""
    found: dict[TopicPartition, Place] = {}
    for path in paths:
        for name in data_directory(path).names().values():
            if name.mark:
                continue
            place = Place(path, TopicPartition(name.topic, name.partition))
            other = found.setdefault(place.name, place)
            if other is not place:
                raise UsageError(
                    f"{place.name} stands both in {str(other.data_directory)!r} and in {str(path)!r}; "
                    "read one of them at a time"
                )
    return found


def chosen(paths: tuple[Path, ...], choice: Choice) -> dict[TopicPartition, Place]:
    """The partitions that `assign`, `subscribe` or `subscribePattern` names. UsageError for what is not there."""
    every = every_place(paths)
    if choice.pattern:
        wanted = re.compile(choice.pattern)  # a part of the name will do: SubscribePatternStrategy
        return {p: place for p, place in every.items() if p.topic not in INTERNAL and wanted.search(p.topic)}
    if choice.assign:
        missing = set(choice.assign) - set(every)
        if missing:
            raise UsageError(f"there is no partition {names(missing)} in {_places(paths)}")
        return {p: every[p] for p in choice.assign}
    topics = {p.topic for p in every}
    for topic in choice.topics:
        if topic not in topics:
            raise UsageError(f"there is no topic {topic!r} in {_places(paths)}")
    return {p: place for p, place in every.items() if p.topic in choice.topics}


def _places(paths: tuple[Path, ...]) -> str:
    return ", ".join(str(path) for path in paths)
