"""Partitions that the cluster's metadata name, and that no disk here has: data loss for the source and the jobs.

A broker writes a new partition into its metadata before it makes the directory. So partitions that have just come are
waited for, if the metadata log is being written.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from kafkafs.cluster.topic_partitions import Places, TopicMetadata, TopicPartitions, places_by_topic
from kafkafs.disk.cached_value import same_objects
from kafkafs.errors import KafkafsError, UsageError
from kafkafs.format.names import PartitionName
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.read_options import ReadOptions, TierSource
from kafkafs.tables.choice import ReadRequest
from kafkafs.tables.locations import Location, chosen, data_directories, takes, with_their_tier
from kafkafs.tables.offsets import TopicPartition

PATIENCE_S = 3.0
"""The longest wait for a directory that a broker is about to make."""
_ALIVE_S = 10.0  # a controller writes into the metadata log twice a second
_SHOWN = 3


def missing_topics(
    paths: Iterable[Path], wanted: Callable[[str], bool], source: TierSource | None = None
) -> list[TopicPartitions]:
    """The wanted topics of which partitions are missing, in the tier of that source, too. Without metadata there are
    none."""
    return _comparison(tuple(with_their_tier(paths, source))).missing(wanted)


def unknown(paths: Iterable[Path], source: TierSource | None = None) -> list[str]:
    """A sentence if nobody knows which partitions are missing, because the metadata cannot be read."""
    problem = _comparison(tuple(with_their_tier(paths, source))).metadata.problem()
    return [f"{problem}; so it is unknown if partitions are missing here"] if problem else []


def missing_of(asked: ReadRequest) -> list[TopicPartitions]:
    """The missing partitions of the topics that a read chooses; with `assign`, only of the partitions that it names."""
    choice = asked.choice
    found = missing_topics(asked.paths, takes(choice), asked.tiered)
    if not choice.assign:
        return found
    numbers = {
        each.topic: [number for number in each.missing if (each.topic, number) in choice.assign] for each in found
    }
    return [only(each, numbers[each.topic]) for each in found if numbers[each.topic]]


def only(found: TopicPartitions, numbers: Sequence[int]) -> TopicPartitions:
    """The comparison with only some of its missing partitions."""
    replaced = {number: found.replaced[number] for number in numbers if number in found.replaced}
    return found._replace(missing=tuple(numbers), replaced=replaced)


def missing_names(found: Iterable[TopicPartitions]) -> set[TopicPartition]:
    """The missing partitions themselves."""
    return {TopicPartition(each.topic, number) for each in found for number in each.missing}


def chosen_here(found: Sequence[TopicPartitions], asked: ReadRequest) -> dict[TopicPartition, Location]:
    """As `locations.chosen`, without the missing partitions that were found, and without topics that have no other."""
    gone = missing_names(found)
    elsewhere = {each.topic for each in found if len(each.missing) == len(each.partitions)}
    left = replace(
        asked.choice,
        assign=tuple(name for name in asked.choice.assign if name not in gone),
        topics=tuple(topic for topic in asked.choice.topics if topic not in elsewhere),
    )
    return {name: each for name, each in chosen(replace(asked, choice=left)).items() if name not in gone}


def missing_sentence(found: Sequence[TopicPartitions]) -> str:
    """The missing partitions in a sentence without its full stop: those of the first topics."""
    sentences = [sentence for each in found[:_SHOWN] for sentence in each.problems]
    more = len(found) - _SHOWN
    return "; ".join(sentences) + (f"; and partitions of {more:,} more topics are missing" if more > 0 else "")


def refuse_missing(found: Sequence[TopicPartitions], fail: bool) -> list[str]:
    """The sentences by which a command names the missing partitions. UsageError if it is to `fail` for them."""
    return go_on(missing_sentence(found), fail, "name the other brokers' data directories too", " without them")


def go_on(problem: str, fail: bool, advice: str, without: str = "") -> list[str]:
    """The sentence by which a command names a problem with which it goes on; none without a problem. UsageError, with
    the advice, if it is to `fail`."""
    if problem and fail:
        raise UsageError(f"{problem}; {advice}, or go on{without}: --fail-on-data-loss false")
    return [f"{problem}; going on{without}"] if problem else []


def metadata_directory(paths: Iterable[Path]) -> Path | None:
    """The data directory whose metadata log the comparison takes."""
    directories = tuple(data_directories(paths))
    log = _comparison(directories).metadata.source
    return next((each.path for each in directories if log is not None and each.root is log.root), None)


@lru_cache(8)
def _comparison(directories: tuple[DataDirectory, ...]) -> "_Comparison":
    """The comparison of these directories; the metadata are read once in a process, and then followed."""
    return _Comparison(directories)


class _Comparison:
    """The topics of some data directories, against the metadata there."""

    def __init__(self, directories: tuple[DataDirectory, ...]) -> None:
        self._directories = directories
        self.metadata = TopicMetadata(directories, ReadOptions())
        self._names: list[dict[str, PartitionName]] = []
        self._here: dict[str, Places] = {}
        self._waited_for: dict[str, tuple[int, ...]] = {}

    def missing(self, wanted: Callable[[str], bool]) -> list[TopicPartitions]:
        """The wanted topics of which partitions are missing, by name."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            found = self._look(wanted)
            is_new = any(self._waited_for.get(each.topic) != each.missing for each in found)
            if not is_new or not self._is_written() or time.monotonic() > deadline:
                self._waited_for |= {each.topic: each.missing for each in found}
                return found
            time.sleep(0.1)

    def _look(self, wanted: Callable[[str], bool]) -> list[TopicPartitions]:
        names = [directory.names() for directory in self._directories]
        if not same_objects(names, self._names):
            self._names, self._here = names, places_by_topic(self._directories)
        topics = sorted(filter(wanted, {*self._here, *self.metadata.topics()}))
        compared = (self.metadata.compare(topic, self._here.setdefault(topic, [])) for topic in topics)
        return [each for each in compared if each.missing]

    def _is_written(self) -> bool:
        """True if a broker has written into the metadata log some seconds ago."""
        try:
            log = self.metadata.source
            tail = None if log is None else log.log().tail
        except KafkafsError:
            return False
        return tail is not None and time.time() - tail.mtime_ns / 1e9 < _ALIVE_S
