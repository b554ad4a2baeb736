"""The places of the partitions that a job reads: data directories held open once a process, and the choice among their
partitions."""

import os
import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from kafkafs.disk.data_paths import BucketPath, with_listing
from kafkafs.errors import UsageError, did_you_mean
from kafkafs.format.names import INTERNAL_TOPICS, METADATA_TOPIC
from kafkafs.log.data_directory import DataDirectory, open_data_directory
from kafkafs.log.meta_properties import check_one_cluster
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import ReadOptions, TierSource
from kafkafs.log.replicas import read_from
from kafkafs.tables.choice import Choice, ReadRequest, Replicas
from kafkafs.tables.offsets import TopicPartition, names

if TYPE_CHECKING:
    from kafkafs.disk.bucket_directory import BucketDirectory

_NOT_BY_PATTERN = INTERNAL_TOPICS | {METADATA_TOPIC}
"""Topics that a pattern does not choose, as a client's own subscription would not; by name they are read."""


@dataclass(frozen=True, slots=True)
class Tiered:
    """A tier that logs go on in, and the data directories that tell together what of it counts."""

    source: TierSource
    beside: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Location:
    """A partition and the data directory that it is in."""

    data_directory: Path
    name: TopicPartition
    tiered: Tiered | None = None

    def __reduce__(self) -> tuple[object, ...]:
        path = as_listed(self.data_directory, str(self.name), self.tiered)
        return Location, (path, self.name, self.tiered)


class OpenDirectories:
    """The data directories that a process has open for its jobs. `_lock` is held while one is looked for or opened."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._open: dict[tuple[Path, Tiered | None], tuple[tuple[int, int], DataDirectory]] = {}

    def get(self, path: Path, tiered: Tiered | None) -> DataDirectory:
        """The directory at `path`, opened if it is not open, or if another one is there by now."""
        with self._lock:
            known, now = self._open.get((path, tiered)), _identity(path)
            if known is None or (known[0] != now and not _is_any(path)):
                for other in [each for each, (identity, _) in self._open.items() if identity != _identity(each[0])]:
                    del self._open[other]  # gone, or another one by now: its files need not stay open
                self._open.pop((path, tiered), None)  # with its key: of a bucket it has another time
                options = ReadOptions(tiered=None if tiered is None else tiered.source)
                known = self._open[path, tiered] = now, open_data_directory(path, options)
                if tiered is not None:
                    known[1].read_together_with([self.get(each, tiered) for each in tiered.beside])
            return known[1]

    def known(self, path: Path, tiered: Tiered | None) -> DataDirectory | None:
        """The directory at `path`, if it is open."""
        with self._lock:
            return self._open.get((path, tiered), (None, None))[1]

    def close(self) -> None:
        """Forget all, and close their files, as soon as nobody reads from them any more."""
        with self._lock:
            for _, directory in self._open.values():
                directory.root.forget_cached()
            self._open.clear()


open_directories = OpenDirectories()


def data_directory(path: Path, tiered: Tiered | None = None) -> DataDirectory:
    """The data directory at `path`, the same object each time in this process; UsageError if it is no data directory.

    A process of Spark's lives on from job to job, and finds another directory under a name that it knows.
    """
    found = open_directories.get(path, tiered)
    if isinstance(path, BucketPath) and path.listed is not None:
        cast("BucketDirectory", found.root).listings.expect(*path.listed)
    return found


def as_listed(path: Path, folder: str, tiered: Tiered | None = None) -> Path:
    """The path of a data directory for a task in another process: of a bucket, with a folder's listing in this one."""
    if not isinstance(path, BucketPath) or (known := open_directories.known(path, tiered)) is None:
        return path
    return with_listing(path, folder, cast("BucketDirectory", known.root).listings.stamp(folder))


def data_directories(paths: Iterable[Path], tiered: Tiered | None = None) -> list[DataDirectory]:
    """Return all data directories; UsageError if one is no data directory, or if they are of several clusters."""
    directories = [data_directory(path, tiered) for path in paths]
    check_one_cluster(directories)
    return directories


def with_their_tier(paths: Iterable[Path], source: TierSource | None) -> list[DataDirectory]:
    """All data directories, with the partitions that only the tier of that source has. Unanswered if it does not tell
    them."""
    paths = tuple(paths)
    directories = data_directories(paths, None if source is None else Tiered(source, paths))
    for directory in directories:
        directory.wait_for_tier_names()
    return directories


def _is_any(path: Path) -> bool:
    """True for an address of a bucket that nobody has named for a query of its own: as it is known, it will do."""
    return isinstance(path, BucketPath) and not path.named_ns


def _identity(path: Path) -> tuple[int, int]:
    if isinstance(path, BucketPath):
        return 0, path.named_ns
    try:
        about = os.stat(path)
    except OSError:
        return 0, 0
    return about.st_dev, about.st_ino


def partition(location: Location) -> Partition:
    """The current partition; NotFound if it is gone."""
    return data_directory(location.data_directory, location.tiered).partition(str(location.name))


def every_location(
    paths: Iterable[Path], replicas: Replicas = "furthest", source: TierSource | None = None
) -> dict[TopicPartition, Location]:
    """All live partitions below the data directories, each once: of several brokers' replicas the furthest.

    UsageError if one is in two directories of the same broker, or replicas are refused.
    """
    paths = tuple(paths)
    tiered = None if source is None else Tiered(source, paths)
    found: dict[TopicPartition, list[DataDirectory]] = {}
    for directory in with_their_tier(paths, source):
        for name in directory.names().values():
            if not name.mark:
                found.setdefault(TopicPartition(name.topic, name.partition), []).append(directory)
    refuse = replicas == "refuse"
    return {name: Location(read_from(having, str(name), refuse).path, name, tiered) for name, having in found.items()}


def chosen(asked: ReadRequest) -> dict[TopicPartition, Location]:
    """The partitions that `assign`, `subscribe` or `subscribePattern` names. UsageError for what is not there."""
    paths, choice = asked.paths, asked.choice
    every = every_location(paths, asked.replicas, asked.tiered)
    if choice.assign:
        missing = set(choice.assign) - set(every)
        if missing:
            raise UsageError(f"there is no partition {names(missing)} in {_listed(paths)}")
        return {p: every[p] for p in choice.assign}
    topics = {p.topic for p in every}
    for topic in choice.topics:
        if topic not in topics:
            raise UsageError(f"there is no topic {topic!r} in {_listed(paths)}{did_you_mean(topic, topics)}")
    wanted = set(filter(takes(choice), topics))
    return {p: location for p, location in every.items() if p.topic in wanted}


def takes(choice: Choice) -> Callable[[str], bool]:
    """The test for a topic of the choice."""
    if choice.pattern:
        pattern = re.compile(choice.pattern)  # a part of the name will do: SubscribePatternStrategy
        return lambda topic: topic not in _NOT_BY_PATTERN and pattern.search(topic) is not None
    return {*choice.topics, *(name.topic for name in choice.assign)}.__contains__


def _listed(paths: tuple[Path, ...]) -> str:
    return ", ".join(str(path) for path in paths)
