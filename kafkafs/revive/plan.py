"""What is to be revived, as a value: made of small files and directory listings, before the first log is read.

`--plan` scans the logs besides, and prints what `revive.json` would say of them.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kafkafs.cluster.cluster import Cluster
from kafkafs.errors import CorruptData, DiskError, UsageError
from kafkafs.log.options import ReadOptions
from kafkafs.revive.copying import Method, can_reflink
from kafkafs.revive.disks import Disks, open_disks
from kafkafs.revive.place import Target, check_apart
from kafkafs.revive.releases import Release, fitted, newest_for, release
from kafkafs.revive.scanning import Corrupt
from kafkafs.revive.snapshot import Node
from kafkafs.revive.topics import RevivedPartition, RevivedTopic, choose_topics, made_up_id
from kafkafs.revive.whole_image import ClusterMetadata, read_metadata

_GROUPS = "group.version"
_BLOCK, _OF_ALL, _OF_PARTITION, _OF_SEGMENT = 4096, 16, 4, 3
"""Bytes that a small file takes, and how many there are of all, of each partition, of each segment."""

_PRODUCER_BLOCK = 1000
"""So many producer ids at once a broker is given to hand out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What the command line says."""

    to: Path
    node_id: int | None = None
    topics: tuple[str, ...] | None = None
    kafka: str | None = None
    until_ms: int | None = None
    corrupt: Corrupt = "refuse"
    host: str = "127.0.0.1"
    port: int = 9092
    method: Method | None = None

    def request(self, paths: Sequence[Path]) -> dict[str, Any]:
        """What makes another command the same one."""
        told = {name: str(value) if isinstance(value, Path) else value for name, value in asdict(self).items()}
        return {"dataDirectories": [str(path.resolve()) for path in paths], **told, "to": str(self.to.resolve())}


@dataclass(frozen=True, slots=True)
class Plan:
    """See the module. `sentences`: what is left out, lowered or made up; `problems`: what cannot be read."""

    disks: Disks
    metadata: ClusterMetadata
    topics: tuple[RevivedTopic, ...]
    release: Release
    features: Mapping[str, int]
    node: Node
    cluster_id: str
    next_producer_id: int
    size: int
    sentences: tuple[str, ...]
    problems: tuple[str, ...]
    cluster: Cluster

    def partitions(self) -> Iterator[tuple[RevivedTopic, RevivedPartition]]:
        """All partitions, each with its topic, in order."""
        return ((topic, each) for topic in self.topics for each in topic.partitions)

    def told(self) -> dict[str, Any]:
        """What `--plan` and `revive.json` begin with."""
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
            "nextProducerId": self.next_producer_id,
            "leftOut": list(self.sentences),
            "problems": list(self.problems),
        }


def make_plan(paths: Sequence[Path], choices: Choices, options: ReadOptions) -> Plan:
    """Looks at the disks. UsageError and CorruptData say why they cannot be revived."""
    disks = open_disks(paths, options)
    check_apart(choices.to, disks.directories)
    metadata = read_metadata(disks.directories, options, choices.until_ms)
    if metadata.problems and choices.corrupt == "refuse":
        raise CorruptData(
            f"the cluster's metadata is not whole: {metadata.problems[0]}; --corrupt skip goes on with what there is"
        )
    image = metadata.image
    cluster_id = disks.cluster_id or made_up_id("cluster", *sorted(str(each.path) for each in disks.directories))
    chosen = choose_topics(disks.directories, image, choices.topics, cluster_id)
    if not chosen.topics:
        raise UsageError("there is nothing to revive: no metadata, and no directory that is a topic's partition")
    features = dict(image.features) if image else {}
    target = newest_for(features) if choices.kafka is None else release(choices.kafka)
    kept, sentences = fitted(features, target)
    cluster = Cluster(disks.directories, options)
    if not target.has_new_groups or _GROUPS not in kept or image is None:
        cluster.look()  # which reads all of Kafka's own topics
        sentences += _groups(cluster, target, kept)
    number = choices.node_id if choices.node_id is not None else (disks.nodes or (1,))[0]
    where = (cluster_id, str(choices.to.resolve()), str(number))
    before = image.brokers.get(number) if image else None
    node = Node(
        number, made_up_id("directory", *where), made_up_id("incarnation", *where), choices.host, choices.port,
        before.rack if before else None,
    )  # fmt: skip
    if disks.cluster_id is None:
        sentences.append("nothing tells the cluster's id, so it gets one")
    if image is None:
        sentences.append("no metadata: settings, rights, quotas and users of the cluster are not on these disks")
    return Plan(
        disks, metadata, tuple(chosen.topics), target, kept, node, cluster_id,
        _next_producer_id(cluster, image.next_producer_id if image else 0), _size(chosen.topics),
        (*metadata.sentences, *chosen.sentences, *sentences),
        (*disks.problems, *metadata.problems, *_checkpoint_problems(disks)), cluster,
    )  # fmt: skip


def _checkpoint_problems(disks: Disks) -> list[str]:
    """A log start that cannot be read brings back what was deleted."""
    return [f"{each.path}: {problem}" for each in disks.directories for problem in each.checkpoints.read().problems]


def _groups(cluster: Cluster, target: Release, features: dict[str, int]) -> list[str]:
    """What the target makes of groups of newer protocols. UsageError where it would lose what they have read."""
    kinds = {found.name: found.group.kind for found in cluster.groups() if found.group.kind != "classic"}
    shared = sorted(name for name, kind in kinds.items() if kind == "share")
    if shared and not target.has_new_groups:
        raise UsageError(
            f"Kafka {target.name} has no share groups and would lose what {len(shared)} have read"
            f" ({os.fsdecode(shared[0])!r} is one); name a newer one by --kafka"
        )
    if target.has_new_groups:
        if kinds:
            features[_GROUPS] = target.features[_GROUPS]
        return []
    return [
        f"the {kind} group {os.fsdecode(name)!r} keeps its offsets, and its members come as those of a classic one"
        for name, kind in sorted(kinds.items())
    ]


def _next_producer_id(cluster: Cluster, told: int) -> int:
    """The first id that may be given out: behind all that the metadata, or without it transactions, tell of."""
    used = [each for transaction, _ in cluster.transactions() for each in transaction.producer_ids]
    return max(told, *(next_block(each) for each in used)) if used else told


def next_block(producer_id: int) -> int:
    """The first id behind the block that this one may be of."""
    return (producer_id // _PRODUCER_BLOCK + 1) * _PRODUCER_BLOCK


def _size(topics: Sequence[RevivedTopic]) -> int:
    """Bytes of the logs that are to be read."""
    replicas = (each.replica for topic in topics for each in topic.partitions)
    return sum(
        segment.listed["log"].size
        for replica in replicas if replica is not None
        for segment in replica.partition.visible_segments()
    )  # fmt: skip


def choose_method(plan: Plan, wanted: Method | None, target: Target) -> Method:
    """Blocks are shared where the file system can; UsageError where they must be and it cannot."""
    if wanted in ("copy", "link"):
        return wanted
    replicas = (each.replica for topic in plan.topics for each in topic.partitions)
    files = (
        segment.log()
        for replica in replicas if replica is not None
        for segment in replica.partition.visible_segments() if segment.listed["log"].size
    )  # fmt: skip
    first = next(files, None)
    if first is None or can_reflink(first, target):
        return "reflink"
    if wanted == "reflink":
        raise UsageError(
            f"the file system of {str(target.path)!r} cannot share blocks with the disks; leave --reflink out to copy"
        )
    return "copy"


def check_room(plan: Plan, method: Method, place: Path, done: int) -> None:
    """DiskError where the disk will not hold it: logs unless they are shared, and indexes of a hundredth."""
    about = os.statvfs(place)
    free = about.f_bavail * about.f_frsize
    beside = _BLOCK * (_OF_ALL + sum(
        _OF_PARTITION + _OF_SEGMENT * len(each.replica.partition.visible_segments() if each.replica else ())
        for _, each in plan.partitions()
    ))  # fmt: skip

    def needed(size: int) -> int:
        """For logs of so many bytes, of which some are there already."""
        left = max(0, size - done)
        return (left if method == "copy" else 0) + left // 100 + beside

    if needed(plan.size) > free and (most := needed(_allocated(plan))) > free:
        raise DiskError(
            f"{most:,} bytes are needed and the disk of {str(place)!r} has {free:,} free; name a larger one, or with"
            " --topics fewer topics"
        )


def _allocated(plan: Plan) -> int:
    """Bytes that the logs take on their disks: a preallocated one is larger than what stands in it."""
    replicas = (each.replica for _, each in plan.partitions())
    return sum(
        replica.directory.root.stat(f"{replica.partition.name.directory}/{segment.log_name}").st_blocks * 512
        for replica in replicas if replica is not None
        for segment in replica.partition.visible_segments()
    )  # fmt: skip
