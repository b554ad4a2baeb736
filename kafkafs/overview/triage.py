"""The first minute after an outage: the answers that small files, indexes and Kafka's own topics give.

No log of a user's topic is read but its last bytes after a crash.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from kafkafs.cluster.cluster import Cluster
from kafkafs.cluster.group_records import Commit
from kafkafs.cluster.image import Image
from kafkafs.cluster.rows import Ends, lag
from kafkafs.cluster.topic_partitions import compare_with
from kafkafs.disk.forked import ForkedProcess, Serve
from kafkafs.disk.local_directory import LocalDirectory
from kafkafs.errors import KafkafsError
from kafkafs.format.names import METADATA_TOPIC, OWN_TOPICS
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.meta_properties import cluster_ids, node_ids
from kafkafs.log.read_options import ReadOptions
from kafkafs.overview.configs import BrokerSettings
from kafkafs.overview.report import Question, Row, rows_of
from kafkafs.overview.scanning import CountedPartition, DirectoryCount, count

_SETTLED = ("Empty", "CompleteCommit", "CompleteAbort", "Dead")
"""States of transactional ids without a transaction."""

MOST = 5
"""Groups and topics that are named."""


class LaggingGroup(NamedTuple):
    """A group that is behind: by how many records in all, and in time in the partition where those are the most (None:
    unknown)."""

    group: str
    lag: int
    lag_ms: int | None


@dataclass
class Triage:
    """The answers. `damage` and `missing` are sentences, `problems` what could not be read."""

    cluster_id: str | None = None
    brokers: list[int] = field(default_factory=list)
    registered: list[int] = field(default_factory=list)
    clean: list[bool] = field(default_factory=list)
    metadata_ms: int | None = None
    has_metadata: bool = False
    topics: int = 0
    partitions: int = 0
    missing: list[str] = field(default_factory=list)
    newest_ms: int | None = None
    newest_partition: str | None = None
    future: int = 0
    damage: list[str] = field(default_factory=list)
    groups: int | None = None
    behind: list[LaggingGroup] = field(default_factory=list)
    open_transactions: int | None = None
    oldest_open: tuple[str, int | None] | None = None
    tiered: int | None = None
    in_tier: int | None = None
    total: Row = field(default_factory=dict)
    largest: list[Row] = field(default_factory=list)
    leftovers: int = 0
    free: int | None = None
    capacity: int | None = None
    problems: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The report as one JSON object."""
        return {
            "clusterId": self.cluster_id, "brokers": self.brokers, "registeredBrokers": self.registered,
            "cleanShutdown": self.clean, "metadataAsOf": self.metadata_ms, "topics": self.topics,
            "partitions": self.partitions, "missing": self.missing, "newest": self.newest_ms,
            "newestPartition": self.newest_partition, "futurePartitions": self.future, "damage": self.damage,
            "groups": self.groups,
            "behind": [{"group": each.group, "lag": each.lag, "lagMs": each.lag_ms} for each in self.behind],
            "openTransactions": self.open_transactions,
            "oldestTransaction": None if self.oldest_open is None else
            {"transactionalId": self.oldest_open[0], "startTimestamp": self.oldest_open[1]},
            "tieredTopics": self.tiered, "partitionsInTier": self.in_tier,
            "bytes": self.total["bytes"], "deletable": self.total["deletable"], "leftoverBytes": self.leftovers,
            "freeBytes": self.free, "capacityBytes": self.capacity, "largest": self.largest, "problems": self.problems,
        }  # fmt: skip


def triage(directories: Sequence[DataDirectory], now_ms: int | None = None) -> Triage:
    """Looks at everything once."""
    found, now_ms = Triage(), time.time_ns() // 1_000_000 if now_ms is None else now_ms
    cluster, counting = Cluster(directories, ReadOptions()), ForkedProcess(_counter(directories))
    try:
        counting.give(None)
        cluster.look()
        found.problems += cluster.problems()
        _of_cluster(found, cluster)
        _of_topics(found, cluster)
        totals, problems = counting.received()
    finally:
        counting.end()
    found.problems += problems
    counts = list(zip(directories, totals, strict=True))
    _of_partitions(found, counts, now_ms)
    found.damage += (each for _, counted in counts for each in damage(counted))
    for directory, counted in counts:
        found.problems += [*counted.logs_denied(directory.path), *counted.times_denied(directory.path)]
    _of_groups(found, cluster, counts)
    _of_transactions(found, cluster)
    _of_disk(found, cluster, counts, now_ms)
    return found


def _counter(directories: Sequence[DataDirectory]) -> Serve[None, tuple[list[DirectoryCount], list[str]]]:
    """Return the work of a process of its own: the counting takes as long as all else together."""

    def serve(_: None, tell: Callable[[tuple[list[DirectoryCount], list[str]]], None]) -> None:
        problems: list[str] = []
        tell(([count(directory, problems.append) for directory in directories], problems))

    return serve


def _of_cluster(found: Triage, cluster: Cluster) -> None:
    ids, problems = cluster_ids(cluster.directories)
    found.problems += problems
    found.cluster_id = ids[0] if len(ids) == 1 else None
    found.brokers = node_ids(cluster.directories)
    found.registered = sorted(cluster.image.brokers) if cluster.image is not None else []
    found.has_metadata = cluster.image is not None
    found.metadata_ms = cluster.as_of.timestamp if cluster.as_of is not None else None
    found.clean = [directory.is_clean() for directory in cluster.directories]


def _of_topics(found: Triage, cluster: Cluster) -> None:
    try:
        compared = compare_with(cluster.image, cluster.directories)
    except KafkafsError as error:
        found.problems.append(str(error))
        return
    own = {name for name in compared if name != METADATA_TOPIC}
    found.topics = len(own)
    found.missing += (problem for name in sorted(own) for problem in compared[name].problems)


def _of_partitions(found: Triage, counts: Sequence[tuple[DataDirectory, DirectoryCount]], now_ms: int) -> None:
    every = [each for _, counted in counts for each in counted.partitions if each.name.topic != METADATA_TOPIC]
    found.partitions = len({each.name.directory for each in every})
    for each in every:
        newest = each.extent.newest_ms
        if newest is None or each.name.topic in OWN_TOPICS:
            continue
        if newest > now_ms:
            found.future += 1
        elif found.newest_ms is None or newest > found.newest_ms:
            found.newest_ms, found.newest_partition = newest, each.name.directory


def damage(counted: DirectoryCount) -> Iterator[str]:
    """Sentences about damage that the small files, names and sizes of a data directory show."""
    yield from counted.checkpoints
    for each in counted.partitions:
        name, end = each.name.directory, each.extent.end
        yield from (f"{name}: {suspect}" for suspect in each.suspects)
        if each.name.topic == METADATA_TOPIC:
            continue
        if (each.high_watermark or 0) > end:
            yield f"{name} ends at offset {end}, before its high watermark {each.high_watermark}: records are gone"
        elif (each.recovery_point or 0) > end:
            yield f"{name} ends at offset {end}, and was on the disk up to {each.recovery_point}: records are gone"


def _of_groups(found: Triage, cluster: Cluster, counts: Sequence[tuple[DataDirectory, DirectoryCount]]) -> None:
    """The groups that are behind by most records. In time only those are asked that are named."""
    if not cluster.groups.partitions:
        return
    ends = {(each.name.topic, each.name.partition): _ends(each) for _, counted in counts for each in counted.partitions}
    lags: Counter[bytes] = Counter()
    furthest: dict[bytes, tuple[int, Commit]] = {}  # the commit of each group with the largest lag, and that lag
    names = set[bytes]()
    for group in cluster.groups.all():
        names.add(group.name)
        if group.stale:
            continue
        for commit in cluster.groups.commits(group):
            behind = lag(commit, ends.get((commit.topic, commit.partition), Ends()))
            if behind is not None and behind > 0:
                lags[group.name] += behind
                if behind > furthest.get(group.name, (0, commit))[0]:
                    furthest[group.name] = behind, commit
    found.groups = len(names)
    for name, total in sorted(lags.items(), key=lambda item: (-item[1], item[0]))[:MOST]:
        (progress,) = cluster.progress.of([furthest[name][1]])
        found.behind.append(LaggingGroup(os.fsdecode(name), total, progress.lag_ms))


def _ends(counted: CountedPartition) -> Ends:
    extent = counted.extent
    high = extent.end if counted.high_watermark is None else counted.high_watermark
    return Ends(extent.start, high, extent.end, extent.start)


def _of_transactions(found: Triage, cluster: Cluster) -> None:
    if not cluster.transactions.partitions:
        return
    open_now = [each for each, _ in cluster.transactions.all() if each.state not in _SETTLED]
    found.open_transactions = len(open_now)
    for each in sorted(open_now, key=lambda one: (one.start_timestamp or 0, one.transactional_id))[:1]:
        found.oldest_open = each.transactional_id, each.start_timestamp


def _of_disk(
    found: Triage, cluster: Cluster, counts: Sequence[tuple[DataDirectory, DirectoryCount]], now_ms: int
) -> None:
    *rows, found.total = rows_of(counts, cluster.image, Question(now_ms)).rows
    found.largest = list(islice((row for row in rows if row["path"] is None), MOST))
    found.leftovers = sum(row["bytes"] for row in rows if row["path"] is not None)
    if cluster.image is not None:
        _of_tier(found, cluster.image, counts)
    roots = [directory.root for directory, _ in counts]
    disks = [root.descriptor for root in roots if isinstance(root, LocalDirectory)]
    fullest = min(map(os.fstatvfs, disks), key=_free, default=None)
    if fullest is not None:
        found.free, found.capacity = _free(fullest), fullest.f_blocks * fullest.f_frsize


def _of_tier(found: Triage, image: Image, counts: Sequence[tuple[DataDirectory, DirectoryCount]]) -> None:
    """The topics that the metadata call tiered; without metadata nobody knows."""
    tiered, found.in_tier = set[str](), 0
    for directory, counted in counts:
        settings = BrokerSettings(image, directory.node_id())
        here = {each.name.topic for each in counted.partitions} - OWN_TOPICS
        tiered |= {topic for topic in here if settings.of(topic).is_tiered}
        found.in_tier += sum(
            each.name.topic in tiered and each.log_start is not None and each.log_start < each.extent.start
            for each in counted.partitions
        )
    found.tiered = len(tiered)


def _free(about: os.statvfs_result) -> int:
    return about.f_bavail * about.f_frsize
