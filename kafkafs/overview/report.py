"""Rows about what fills the disk: a topic or a partition each, then leftovers, then the total."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from kafkafs.cluster.image import Image
from kafkafs.format.names import METADATA_TOPIC
from kafkafs.log.data_directory import DataDirectory
from kafkafs.overview.configs import BrokerSettings, TopicSettings
from kafkafs.overview.contents import Contents, add_up
from kafkafs.overview.retention import Limits, Reason, Retention, retention
from kafkafs.overview.scanning import CountedPartition, DirectoryCount, Leftover

_OF_RAFT = TopicSettings("", Limits(False, False, -1, -1), False, ())
"""The metadata log has no topic's settings: Raft deletes what a snapshot holds."""

Row = dict[str, Any]
Value = TypeVar("Value")


_SUMS = ("size", "log_bytes", "index_bytes", "records", "segments", "deletable", "kept")


@dataclass
class Usage:
    """The numbers of a row, for one partition or several together. `policy` or a limit is None if they differ."""

    size: int = 0
    log_bytes: int = 0
    index_bytes: int = 0
    records: int = 0
    oldest_ms: int | None = None
    newest_ms: int | None = None
    segments: int = 0
    policy: str | None = None
    retention_ms: int | None = None
    retention_bytes: int | None = None
    deletable: int = 0
    next_deletion_ms: int | None = None
    kept: Counter[Reason] = field(default_factory=Counter)
    contents: Contents | None = None

    def row(self, topic: str | None, partition: int | None, path: str | None) -> Row:
        """The usage as a line of JSON has it."""
        row = {
            "topic": topic, "partition": partition, "path": path, "bytes": self.size, "logBytes": self.log_bytes,
            "indexBytes": self.index_bytes, "records": self.records, "oldest": self.oldest_ms, "newest": self.newest_ms,
            "segments": self.segments, "policy": self.policy, "retentionMs": self.retention_ms,
            "retentionBytes": self.retention_bytes, "deletable": self.deletable,
            "nextDeletion": self.next_deletion_ms, "kept": dict(sorted(self.kept.items())),
        }  # fmt: skip
        return row if self.contents is None else row | self._deep(self.contents)

    def _deep(self, contents: Contents) -> Row:
        framing = self.log_bytes - contents.stored + contents.unpacked - contents.key - contents.value - contents.header
        return {
            "oldest": contents.oldest_ms, "newest": contents.newest_ms, "keyBytes": contents.key,
            "valueBytes": contents.value, "headerBytes": contents.header, "framingBytes": framing,
            "compressionRatio": contents.unpacked / contents.stored if contents.stored else None,
            "supersededBytes": contents.superseded, "tombstones": contents.tombstones,
            "transactionalIds": len(contents.transactional), "producers": len(contents.producers),
            "schemas": {str(number): count for number, count in sorted(contents.schemas.items())},
        }  # fmt: skip


class UsageReport(NamedTuple):
    """The rows, and the settings for which Kafka's default was taken, with the number of topics that took it."""

    rows: list[Row]
    defaults: Counter[str]


@dataclass(frozen=True)
class Question:
    """The moment that is asked about, the settings that count before all others, and the broker's file."""

    at_ms: int
    asked: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    file: Mapping[str, str] = field(default_factory=dict)
    by_partition: bool = False


Read = Mapping[tuple[DataDirectory, str], Contents]
"""The contents of logs that were read, by data directory and the partition's directory there."""


def rows_of(
    counts: Sequence[tuple[DataDirectory, DirectoryCount]],
    image: Image | None,
    question: Question,
    read: Read | None = None,
) -> UsageReport:
    """The rows of what was counted, with what was read of it: the largest first."""
    replicas = replica_counts(image)
    defaults: dict[str, TopicSettings] = {}
    found: defaultdict[tuple[str, int], list[Usage]] = defaultdict(list)
    leftovers: list[Leftover] = []
    for directory, counted in counts:
        settings = BrokerSettings(image, directory.node_id(), question.asked, question.file)
        known: dict[str, TopicSettings] = {}
        for each in counted.partitions:
            topic = each.name.topic
            if topic not in known:
                known[topic] = _OF_RAFT if topic == METADATA_TOPIC else settings.of(topic)
            has_replicas = replicas.get((topic, each.name.partition), 1) > 1
            usage = _usage(each, known[topic], has_replicas, question.at_ms)
            usage.contents = None if read is None else read[directory, each.name.directory]
            found[topic, each.name.partition].append(usage)
        defaults.update(known)
        leftovers += counted.leftovers
    partitions = {place: together(usages, are_replicas=True) for place, usages in found.items()}
    rows = [usage.row(*place, None) for place, usage in partitions.items()]
    if not question.by_partition:
        rows = [usage.row(topic, None, None) for topic, usage in by_topic(partitions).items()]
    rows.sort(key=lambda row: (-row["bytes"], row["topic"], row["partition"] or 0))
    left = [_left(each, read is not None) for each in leftovers]
    left.sort(key=lambda row: (-row["bytes"], row["path"]))
    total = together([*partitions.values(), *(Usage(size=each.size) for each in leftovers)])
    total.policy = total.retention_ms = total.retention_bytes = None
    sums = total.row(None, None, None)
    for name in ("transactionalIds", "producers") if read is not None else ():
        sums[name] = sum(row[name] for row in rows)  # as all numbers of the total: of one in two topics, two
    names = Counter(name for each in defaults.values() for name in each.defaults)
    return UsageReport([*rows, *left, sums], names)


def replica_counts(image: Image | None) -> dict[tuple[str, int], int]:
    """How many replicas each partition has, by the metadata."""
    topics = image.topics.values() if image is not None else ()
    return {(topic.name, number): len(state.replicas) for topic in topics for number, state in topic.partitions.items()}


def by_topic(partitions: Mapping[tuple[str, int], Usage]) -> dict[str, Usage]:
    """The partitions of each topic together."""
    grouped: defaultdict[str, list[Usage]] = defaultdict(list)
    for (topic, _), usage in partitions.items():
        grouped[topic].append(usage)
    return {topic: together(usages) for topic, usages in grouped.items()}


def _usage(counted: CountedPartition, settings: TopicSettings, has_replicas: bool, at_ms: int) -> Usage:
    extent, limits = counted.extent, settings.limits
    high = (extent.start if counted.high_watermark is None else counted.high_watermark) if has_replicas else None
    if counted.name.topic == METADATA_TOPIC:
        answer = Retention(0, 0, +Counter[Reason]({"unlimited": counted.log_bytes}), None)
    else:
        answer = retention(extent.segments, limits, extent.start, extent.end, high, at_ms)
    start = extent.start if not settings.is_tiered or counted.log_start is None else counted.log_start
    return Usage(
        counted.size, counted.log_bytes, counted.index_bytes, extent.end - start, extent.oldest_ms,
        extent.newest_ms, len(extent.segments), None if settings is _OF_RAFT else settings.policy,
        limits.retention_ms, limits.retention_bytes, answer.deletable, answer.next_deletion_ms, answer.kept,
    )  # fmt: skip


def together(usages: Sequence[Usage], are_replicas: bool = False) -> Usage:
    """The sum of usages. Records of replicas are the same records: those of the longest replica count."""
    if len(usages) == 1:
        return usages[0]
    found = Usage()
    for each in usages:
        add_up(found, each, _SUMS, ("oldest_ms", "next_deletion_ms"), ("newest_ms",))
        if each.contents is not None:
            found.contents = found.contents or Contents()
            found.contents.add(each.contents)
    for name in ("policy", "retention_ms", "retention_bytes"):
        setattr(found, name, _same(getattr(each, name) for each in usages))
    if are_replicas:
        found.records = max(each.records for each in usages)
    return found


def _same(values: Iterable[Value | None]) -> Value | None:
    found = set(values)
    return found.pop() if len(found) == 1 else None


def _left(leftover: Leftover, is_deep: bool) -> Row:
    name = leftover.name
    topic, partition = (None, None) if name is None else (name.topic, name.partition)
    usage = Usage(size=leftover.size, contents=Contents() if is_deep else None)
    return usage.row(topic, partition, leftover.path)
