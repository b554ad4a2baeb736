"""The plan as a value: made of small files and directory listings, before the first log is read.

`--plan` scans the logs besides, and prints what `revive.json` would say of them.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from kafkafs.cluster.cluster import Cluster
from kafkafs.disk.data_paths import without_links
from kafkafs.disk.objects import is_bucket
from kafkafs.errors import CorruptData, UsageError
from kafkafs.log.read_options import ReadOptions, TierSource
from kafkafs.revive.copying import Method
from kafkafs.revive.disks import Disks, open_disks
from kafkafs.revive.kept_parts import log_size
from kafkafs.revive.metadata_log import ClusterMetadata, read_metadata
from kafkafs.revive.metadata_snapshot import Node
from kafkafs.revive.place import check_apart
from kafkafs.revive.releases import Release, fitted, newest_for, release
from kafkafs.revive.scan_state import Corrupt
from kafkafs.revive.topics import RevivedPartition, RevivedTopic, choose_topics, made_up_id
from kafkafs.revive.unread import below_start, only_in_checkpoints, unread_files
from kafkafs.revive.whole_image import WholeImage

_GROUPS = "group.version"
_FEATURES = {"share": "share.version", "streams": "streams.version"}
"""The feature that a broker needs for each kind of group; all other kinds need `_GROUPS`."""

_PRODUCER_BLOCK = 1000
"""Number of producer ids in the block that a broker gets to hand out."""


Retention = Literal["off", "as-is"]
"""Retention of topics without a `retention.ms` of their own: off, or by the brokers' settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """The choices of the command line."""

    to: Path
    node_id: int | None = None
    topics: tuple[str, ...] | None = None
    kafka: str | None = None
    until_ms: int | None = None
    corrupt: Corrupt = "refuse"
    host: str = "127.0.0.1"
    port: int = 9092
    method: Method | None = None
    tiered: TierSource | None = None
    include: tuple[str, ...] = ()
    retention: Retention = "off"

    @property
    def reading(self) -> ReadOptions:
        """Nobody writes there, and what was read is copied a moment later."""
        return ReadOptions(cache_keep=True, log_fresh_s=3600.0, names_fresh_s=3600.0, tiered=self.tiered)

    def request(self, paths: Sequence[Path]) -> dict[str, Any]:
        """The choices that make another command the same one."""
        return asdict(replace(self, tiered=None)) | {
            "dataDirectories": [str(without_links(path)) for path in paths],
            "to": str(without_links(self.to)),
            "tiered": None if self.tiered is None else self.tiered.shown_as,
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """The parts of the cluster that are revived. `sentences`: what is left out, lowered or made up; `problems`: what
    cannot be read."""

    disks: Disks
    metadata: ClusterMetadata
    topics: tuple[RevivedTopic, ...]
    release: Release
    features: Mapping[str, int]
    node: Node
    cluster_id: str
    next_producer_id: int
    size: int
    remote_size: int
    sentences: tuple[str, ...]
    problems: tuple[str, ...]
    cluster: Cluster

    def partitions(self) -> Iterator[tuple[RevivedTopic, RevivedPartition]]:
        """All partitions, each with its topic, in order."""
        return ((topic, each) for topic in self.topics for each in topic.partitions)

    def report(self) -> dict[str, Any]:
        """The beginning of `--plan` and of `revive.json`."""
        partitions = [each for _, each in self.partitions()]
        return {
            "kafka": self.release.name,
            "clusterId": self.cluster_id,
            "nodeId": self.node.number,
            "listen": f"{self.node.host}:{self.node.port}",
            "features": dict(sorted(self.features.items())),
            "topics": len(self.topics),
            "partitions": len(partitions),
            "lostPartitions": sum(each.replica is None for each in partitions),
            "logBytes": self.size,
            "remoteBytes": self.remote_size,
            "nextProducerId": self.next_producer_id,
            "leftOut": list(self.sentences),
            "problems": list(self.problems),
        }


def make_plan(paths: Sequence[Path], choices: Choices) -> Plan:
    """Looks at the disks. UsageError and CorruptData say why they cannot be revived."""
    options = choices.reading
    disks = open_disks(paths, options)
    read = [each.path for each in disks.directories]
    if choices.tiered is not None and not is_bucket(choices.tiered.place):
        read.append(Path(choices.tiered.place))
    check_apart(choices.to, read)
    metadata = read_metadata(disks.directories, options, choices.until_ms)
    if metadata.problems and choices.corrupt == "refuse":
        raise CorruptData(
            f"the cluster's metadata is not whole: {metadata.problems[0]}; --corrupt skip goes on with what there is"
        )
    image = metadata.image
    cluster_id = disks.cluster_id or made_up_id("cluster", *sorted(str(each.path) for each in disks.directories))
    chosen = choose_topics(disks.directories, image, choices.topics, cluster_id, choices.include)
    if not chosen.topics:
        raise UsageError(f"there is nothing to revive: {_why_nothing(image, choices, chosen.sentences)}")
    segments = [each for topic in chosen.topics for each in topic.segments()]
    features = dict(image.features) if image else {}
    target = newest_for(features) if choices.kafka is None else release(choices.kafka)
    kept, sentences = fitted(features, target)
    cluster = Cluster(disks.directories, options, choices.until_ms)
    if not target.has_new_groups or _GROUPS not in kept or image is None:
        cluster.look()  # this reads all of Kafka's own topics
        sentences += _groups(cluster, target, kept)
    end = cluster if choices.until_ms is None else Cluster(disks.directories, options)
    if image is None:
        end.look()  # an id is given out once, whatever the moment
        sentences += only_in_checkpoints(disks.directories, choices.topics)
    if disks.cluster_id is None:
        sentences.append("the cluster's id is unknown, so it gets a new id")
    return Plan(
        disks, metadata, tuple(chosen.topics), target, kept, _node(disks, choices, image, cluster_id), cluster_id,
        _next_producer_id(end, image.next_producer_id if image else 0), sum(map(log_size, segments)),
        sum(log_size(each) for each in segments if each.object is not None),
        (*metadata.sentences, *_strangers(disks), *chosen.sentences, *_unread(disks, chosen.topics), *sentences,
         *_lacking(metadata)),
        (*disks.problems, *metadata.problems, *_checkpoint_problems(disks)), cluster,
    )  # fmt: skip


def _why_nothing(image: WholeImage | None, choices: Choices, sentences: Sequence[str]) -> str:
    if image is None:
        why = "no metadata, and no directory in use is a topic's partition"
    elif image.ids:
        why = "no topic of the metadata can be"
    else:
        why = f"the metadata{'' if choices.until_ms is None else ' of that moment'} know no topic"
    more = f", and {len(sentences) - 1} more" if len(sentences) > 1 else ""
    return f"{why}; {sentences[0]}{more}" if sentences else why


def _lacking(metadata: ClusterMetadata) -> list[str]:
    """The facts about the cluster that the metadata do not tell."""
    if metadata.image is None and metadata.problems:
        return ["of the metadata nothing can be read: settings, rights, quotas and users are left out"]
    lacking = "settings, rights, quotas and users of the cluster are not on these disks"
    if metadata.image is None:
        return [f"no metadata: {lacking}"]
    if metadata.image.is_in_zookeeper:
        return [f"the migration from ZooKeeper had not copied the metadata yet: {lacking}"]
    return []


def _node(disks: Disks, choices: Choices, image: WholeImage | None, cluster_id: str) -> Node:
    """The one node; its ids are the same whenever it is made at the same place."""
    number = choices.node_id if choices.node_id is not None else (disks.nodes or (1,))[0]
    where = (cluster_id, str(without_links(choices.to)), str(number))
    before = image.brokers.get(number) if image else None
    return Node(
        number, made_up_id("directory", *where), made_up_id("incarnation", *where), choices.host, choices.port,
        before.rack if before else None,
    )  # fmt: skip


def _strangers(disks: Disks) -> list[str]:
    return [f"{str(each.path)!r}: {what}, and left out" for each in disks.directories for what in each.unserved]


def _unread(disks: Disks, topics: Sequence[RevivedTopic]) -> list[str]:
    replicas = (each.replica for topic in topics for each in topic.partitions)
    return [*unread_files(disks.directories), *below_start([each.partition for each in replicas if each is not None])]


def _checkpoint_problems(disks: Disks) -> list[str]:
    """A log start that cannot be read brings back what was deleted."""
    return [f"{each.path}: {problem}" for each in disks.directories for problem in each.checkpoints.read().problems]


def _groups(cluster: Cluster, target: Release, features: dict[str, int]) -> list[str]:
    """The behaviour of the target for groups of newer protocols. UsageError if it would lose what they have read."""
    kinds = {found.name: found.group.kind for found in cluster.groups.all() if found.group.kind != "classic"}
    shared = sorted(name for name, kind in kinds.items() if kind == "share")
    if shared and not target.has_new_groups:
        raise UsageError(
            f"Kafka {target.name} has no share groups and would lose what {len(shared)} have read"
            f" ({os.fsdecode(shared[0])!r} is one); name a newer one by --kafka"
        )
    if target.has_new_groups:
        for kind in sorted({*kinds.values()}):
            features.setdefault(_FEATURES.get(kind, _GROUPS), 1)
        return []
    return [
        f"the {kind} group {os.fsdecode(name)!r} keeps its offsets, and its members come as those of a classic one"
        for name, kind in sorted(kinds.items())
    ]


def _next_producer_id(cluster: Cluster, next_id: int) -> int:
    """The first id that may be given out: behind all that the metadata, or without it transactions, tell of."""
    used = [each for transaction, _ in cluster.transactions.all() for each in transaction.producer_ids]
    return max(next_id, *(next_block(each) for each in used)) if used else next_id


def next_block(producer_id: int) -> int:
    """The first id behind the block that this one may be of."""
    return (producer_id // _PRODUCER_BLOCK + 1) * _PRODUCER_BLOCK
