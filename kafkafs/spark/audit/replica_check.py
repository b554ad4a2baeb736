"""`audit --compare-replicas`: the replicas of each partition held against each other, a task for each segment.

Every other replica is held against the one that counts (`log.replicas`); those among themselves only where its log does
not reach down to. For each two replicas, the first divergence is named.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from pathlib import Path

from kafkafs.errors import KafkafsError, NotFound, Vanished
from kafkafs.format.names import PartitionName
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.divergence import Divergence, first_divergence
from kafkafs.log.log import Log
from kafkafs.log.partition import Partition, progress
from kafkafs.log.replicas import broker_of
from kafkafs.log.topic_choice import ALL_TOPICS, TopicChoice
from kafkafs.spark.audit.findings import CheckedFile, Finding
from kafkafs.tables.locations import as_listed, data_directory

_END = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class ReplicaPair:
    """Two replicas' offsets [start, end), one segment of the first. `weight`: bytes of log in both, about."""

    one: Path
    other: Path
    partition_directory: str
    start: int
    end: int
    cleaned: bool
    weight: int

    def __reduce__(self) -> tuple[object, ...]:
        one, other = (as_listed(path, self.partition_directory) for path in (self.one, self.other))
        return ReplicaPair, (one, other, self.partition_directory, self.start, self.end, self.cleaned, self.weight)


def pairs_of(paths: Iterable[Path], topics: TopicChoice = ALL_TOPICS) -> list[ReplicaPair]:
    """Return the pairs to compare, for all live partitions of the topics that several brokers' directories hold."""
    found: dict[str, list[DataDirectory]] = {}
    for path in paths:
        directory = data_directory(path)
        for name, parsed in directory.names_on_disk().items():
            if not parsed.mark and topics.takes(parsed.topic):
                found.setdefault(name, []).append(directory)
    return [pair for name, directories in sorted(found.items()) for pair in _pairs(name, _brokers(directories))]


def diverging(pairs: Sequence[ReplicaPair], found: Sequence[Divergence | None]) -> list[Finding]:
    """A finding for each two replicas that part, at the first offset where they do."""
    first: dict[tuple[Path, Path, str], Divergence] = {}
    for pair, divergence in zip(pairs, found, strict=True):
        if divergence is not None:
            place = pair.one, pair.other, pair.partition_directory
            first[place] = min(first.get(place, divergence), divergence, key=lambda each: each.offset)
    return [_finding(*place, divergence) for place, divergence in first.items()]


def compare(pair: ReplicaPair) -> Divergence | None:
    """Return the place where the two diverge. Return None if they do not, or if one is gone or cannot be read, which is
    another finding."""

    def question(one: Log) -> Divergence | None:
        """Asked again of both as they are then, where one of the logs changes meanwhile."""
        return other.answer(lambda log: first_divergence(one, log, pair.start, pair.end, cleaned=pair.cleaned))

    try:
        replica, other = (data_directory(path).partition(pair.partition_directory) for path in (pair.one, pair.other))
        return replica.answer(question)
    except KafkafsError:
        return None


def _brokers(directories: Sequence[DataDirectory]) -> list[DataDirectory]:
    """One directory of each broker: two of the same are twins, and no replicas."""
    seen: dict[object, DataDirectory] = {}
    for directory in directories:
        seen.setdefault(broker_of(directory) or directory, directory)
    return list(seen.values())


def _pairs(name: str, directories: Sequence[DataDirectory]) -> list[ReplicaPair]:
    if len(directories) < 2:
        return []
    replicas = {directory.path: directory.partition(name) for directory in directories}
    ranked = sorted(replicas, key=lambda path: progress(replicas[path]), reverse=True)
    cleaned = _may_be_compacted(directories, replicas[ranked[0]].name)
    lowest = _start(replicas[ranked[0]])
    found: list[ReplicaPair] = []
    for one, other in combinations(ranked, 2):
        end = _END if one is ranked[0] else lowest
        found += _by_segments(replicas[one], ReplicaPair(one, other, name, 0, end, cleaned, 0))
    return found


def _by_segments(partition: Partition, pair: ReplicaPair) -> list[ReplicaPair]:
    try:
        sizes = {base: files["log"].size for base, files in partition.listing().segments.items()}
    except (NotFound, Vanished):
        return []
    bounds = [*sorted(base for base in sizes if base < pair.end), pair.end]
    return [replace(pair, start=base, end=end, weight=2 * sizes[base]) for base, end in pairwise(bounds)]


def _start(partition: Partition) -> int:
    try:
        return partition.log().start_offset
    except KafkafsError:
        return 0


def _may_be_compacted(directories: Iterable[DataDirectory], name: PartitionName) -> bool:
    """True if one of the brokers has compacted the partition, or if no cleaner ever wrote a checkpoint."""
    is_stated = False
    for directory in directories:
        cleaned = directory.checkpoints.cleaner_offsets()
        if cleaned is not None and (name.topic, name.partition) in cleaned:
            return True
        is_stated = is_stated or cleaned is not None
    return not is_stated


def _finding(one: Path, other: Path, directory: str, found: Divergence) -> Finding:
    name = data_directory(other).names_on_disk()[directory]
    mine, theirs = ("no leader epoch" if each is None else f"leader epoch {each}" for each in found.epochs)
    message = f"from offset {found.offset} on ({theirs}) it is not the log of {str(one)!r} ({mine}), which got further"
    finding = CheckedFile(str(other), directory).finding("replica-divergence", message, offset=found.offset)
    return replace(finding, topic=name.topic, partition=name.partition, epochs=found.epochs)
