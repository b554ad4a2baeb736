"""The partitions of two clusters, paired by topic and number."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kafkafs.cluster.metadata import read_once
from kafkafs.errors import KafkafsError, UsageError
from kafkafs.format.names import METADATA_LOG
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.replicas import furthest, replicas
from kafkafs.log.topic_choice import TopicChoice
from kafkafs.overview.configs import BrokerSettings
from kafkafs.tables.locations import Location, data_directories, every_location
from kafkafs.tables.missing import missing_topics
from kafkafs.tables.offsets import TopicPartition


@dataclass(frozen=True, slots=True)
class PartitionPair:
    """One partition on both sides; None if a side does not have it. `is_compacted` on either side."""

    name: TopicPartition
    old: Location | None
    new: Location | None
    is_compacted: bool


class Sides(NamedTuple):
    """The pairs in the order of topics and numbers; sentences about partitions that are missing by the metadata of one
    side; and `troubles`: about those that no side has, so that nothing can be compared, and about metadata that cannot
    be read, so that nobody knows which topics are compacted."""

    pairs: list[PartitionPair]
    missing: list[str]
    troubles: list[str]


def paired(old: tuple[Path, ...], new: tuple[Path, ...], topics: TopicChoice) -> Sides:
    """Pair the live partitions of the chosen topics. UsageError for a topic on neither side, and for two copies of one
    broker's directory on one side."""
    there = [every_location(paths) for paths in (old, new)]
    places = ", ".join(dict.fromkeys(repr(str(path)) for path in (*old, *new)))
    topics.check((name.topic for each in there for name in each), places)
    found = [{name: each for name, each in side.items() if topics.takes(name.topic)} for side in there]
    known = {*found[0], *found[1]}
    every = sorted(known)
    compacted = [_Compacted(data_directories(paths)) for paths in (old, new)]
    answers = {
        topic: any(each.has(topic) for each in compacted) for topic in dict.fromkeys(name.topic for name in every)
    }
    pairs = [PartitionPair(name, found[0].get(name), found[1].get(name), answers[name.topic]) for name in every]
    missing, troubles = list[str](), list[str]()
    for paths, word, metadata in ((old, "old", compacted[0]), (new, "new", compacted[1])):
        if metadata.problem:
            troubles.append(f"{word}: {metadata.problem}; so it is unknown which topics are compacted or missing")
        for each in missing_topics(paths, topics.takes):
            beside = [number for number in each.missing if TopicPartition(each.topic, number) in known]
            (missing if len(beside) == len(each.missing) else troubles).extend(
                f"{word}: {sentence}" for sentence in each.problems
            )
    return Sides(pairs, missing, troubles)


class _Compacted:
    """Tells which topics one cluster compacts: by its metadata, or because a cleaner was at work. `problem`: why the
    metadata are not whole; "" if they are, or if there are none."""

    def __init__(self, directories: Sequence[DataDirectory]) -> None:
        self._cleaned = {topic for each in directories for topic, _ in each.checkpoints.cleaner_offsets() or ()}
        self.problem, image = "", None
        try:
            log = furthest(replicas(directories, METADATA_LOG))
            if log is not None:
                metadata = read_once(log, ReadOptions())
                self.problem, image = metadata.lost, metadata.image
        except KafkafsError as error:
            self.problem = f"{METADATA_LOG} cannot be read: {error}"
        self._settings = BrokerSettings(image, None)

    def has(self, topic: str) -> bool:
        """True if the topic is or was compacted."""
        if topic in self._cleaned:
            return True
        try:
            return self._settings.of(topic).limits.compact
        except UsageError:  # a value that no broker takes
            return False
