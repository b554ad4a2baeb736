"""The files of `.cluster/`: what each one's lines are, and which topics tell it.

Under `Cluster.lock` a file is a list of values, which do not change any more; a row is made of each when it is read.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kafkafs.cluster import rows
from kafkafs.cluster.cluster import Cluster
from kafkafs.cluster.connect import connector_row
from kafkafs.cluster.coordinators import CoordinatorTopic
from kafkafs.cluster.group_records import Commit, Group
from kafkafs.cluster.groups import FoundGroup
from kafkafs.cluster.image import TOPIC_RESOURCE, Image, PartitionState
from kafkafs.cluster.progress import CommitProgress
from kafkafs.cluster.row_lines import Json, Row, known, line
from kafkafs.format.messages.message_json import is_secret_config
from kafkafs.format.names import GROUPS_TOPIC, INTERNAL_TOPICS, METADATA_LOG, METADATA_TOPIC, TRANSACTIONS_TOPIC
from kafkafs.log.meta_properties import cluster_ids, node_ids
from kafkafs.log.partition import Partition


class Rows(NamedTuple):
    """The values behind a file's lines, and how one becomes a row."""

    values: Sequence[Any]
    row: Callable[[Any], Row]

    def all_lines(self) -> Iterator[bytes]:
        """The lines, each made when it is asked for."""
        return (line(self.row(value)) for value in self.values)

    def lines(self, first: int, stop: int) -> bytes:
        """Some of the lines."""
        return b"".join(line(self.row(value)) for value in self.values[first:stop])


class ListFile(NamedTuple):
    """A file of lines, read from `topics`. It exists if the first of them exists and gives a line.

    Without topics it is read from all partitions.
    """

    topics: tuple[str, ...]
    lines: Callable[[Cluster], Iterator[bytes] | None]
    version: Callable[[Cluster], object] = lambda _: None
    """Another one whenever the lines may be others; None if nobody can tell."""

    sources: Callable[[Cluster], Sequence[Partition]] | None = None
    """The partitions that tell it, where their topics have any name: it is there if there are some."""


def state(cluster: Cluster) -> Row:
    """`state.json`."""
    as_of = cluster.as_of
    ids, problems = cluster_ids(cluster.directories)
    nodes = node_ids(cluster.directories) if len(ids) < 2 else []
    if len(ids) < 2:
        problems += _problems(cluster)
    return {
        "clusterId": ids[0] if len(ids) == 1 else None,
        "nodeId": nodes[0] if len(cluster.directories) == 1 and nodes else list(nodes) or None,
        "metadata": None
        if as_of is None
        else {
            "asOfOffset": known(as_of.offset),
            "asOfTimestamp": as_of.timestamp,
            "epoch": as_of.epoch,
            "snapshot": as_of.snapshot,
        },
        "groups": _here(cluster.groups),
        "transactions": _here(cluster.transactions),
        "problems": list[Json](problems),
    }


def _problems(cluster: Cluster) -> Iterator[str]:
    yield from cluster.problems()
    cluster.connect.connectors(cluster.replicas.directories)
    yield from cluster.connect.problems()
    if cluster.replicas.metadata() is None:
        yield (
            f"no {METADATA_LOG} is on these disks: topics, configs, brokers and rights are unknown, and so is the"
            " number of partitions of a coordinator's topic"
        )
    yield from cluster.groups.missing()
    yield from cluster.transactions.missing()


def _here(topic: CoordinatorTopic[Any]) -> Json:
    return {"partitions": list[Json](topic.partitions), "of": topic.count} if topic.partitions else None


def groups(cluster: Cluster) -> Iterator[bytes]:
    """`groups.jsonl`: lines, each made when it is asked for."""
    return (line(rows.group_row(*_parts(found))) for found in cluster.groups.all())


def group(found: FoundGroup) -> Row:
    """`group.json`."""
    return rows.group_with_members(*_parts(found))


def _parts(found: FoundGroup) -> tuple[bytes, Group, int, bool | None]:
    return found.name, found.group, found.partition, found.stale


def offsets(cluster: Cluster, found: FoundGroup) -> Rows:
    """`offsets.jsonl` of a group."""
    commits = cluster.groups.commits(found)
    return offset_rows(found.name, commits, cluster.progress.of(commits))


def offset_rows(name: bytes, commits: Sequence[Commit], standings: Sequence[CommitProgress]) -> Rows:
    """The lines of a group's offsets, each with where it is."""
    return Rows(list(zip(commits, standings, strict=True)), lambda pair: rows.offset_row(name, pair[0], *pair[1]))


def transactions(cluster: Cluster) -> Iterator[bytes]:
    """`transactions.jsonl`: lines, each made when it is asked for."""
    return (line(rows.transaction_row(*found)) for found in cluster.transactions.all())


def _topics(image: Image) -> Rows:
    found = [
        (name, topic_id, dict(image.topics[topic_id].partitions), dict(image.configs.get((TOPIC_RESOURCE, name), {})))
        for name, topic_id in sorted(image.ids.items())
    ]
    return Rows(found, lambda value: _topic_row(*value))


def _topic_row(name: str, topic_id: str, partitions: Mapping[int, PartitionState], configs: Mapping[str, str]) -> Row:
    return {
        "topic": name,
        "topicId": topic_id,
        "partitions": len(partitions),
        "replicationFactor": len(partitions[0].replicas) if 0 in partitions else None,
        "internal": name in INTERNAL_TOPICS,
        "configs": {
            key: None if is_secret_config(TOPIC_RESOURCE, key) else value for key, value in sorted(configs.items())
        },
    }


def _partitions(cluster: Cluster) -> Iterator[bytes] | None:
    image = cluster.image
    if image is None:
        return None
    here = {name for directory in cluster.directories for name in directory.names()}
    found = [
        (topic, number, state)
        for topic, topic_id in sorted(image.ids.items())
        for number, state in sorted(image.topics[topic_id].partitions.items())
    ]

    def row(value: tuple[str, int, PartitionState]) -> Row:
        topic, number, state = value
        return rows.partition_row(topic, number, state, f"{topic}-{number}" in here)

    return Rows(found, row).all_lines()


def _configs(image: Image) -> Rows:
    found = [
        (resource, key, value)
        for resource, values in sorted(image.configs.items())
        for key, value in sorted(values.items())
    ]
    return Rows(found, lambda it: rows.config_row(it[0], it[1], it[2], is_secret_config(it[0][0], it[1])))


def _quotas(image: Image) -> Rows:
    by_name = sorted(image.quotas.items(), key=lambda item: [(kind, name or "") for kind, name in item[0]])
    found = [(entity, key, value) for entity, values in by_name for key, value in sorted(values.items())]
    return Rows(found, lambda value: rows.quota_row(*value))


def _of_image(make: Callable[[Image], Rows]) -> ListFile:
    """A file of the metadata, which is not there where that cannot be understood."""
    return ListFile(
        (METADATA_TOPIC,), lambda cluster: None if cluster.image is None else make(cluster.image).all_lines()
    )


LISTS: Mapping[str, ListFile] = {
    "groups.jsonl": ListFile((GROUPS_TOPIC, METADATA_TOPIC), groups, lambda cluster: cluster.groups.version()),
    "transactions.jsonl": ListFile((TRANSACTIONS_TOPIC,), transactions, lambda cluster: cluster.transactions.version()),
    "open-transactions.jsonl": ListFile(
        (), lambda cluster: Rows(cluster.producers.open_transactions(), rows.open_transaction_row).all_lines()
    ),
    "producers.jsonl": ListFile(
        (), lambda cluster: (line(rows.producer_row(each)) for each in cluster.producers.all())
    ),
    "connectors.jsonl": ListFile(
        (),
        lambda cluster: Rows(cluster.connect.connectors(cluster.replicas.directories), connector_row).all_lines(),
        sources=lambda cluster: cluster.connect.sources(cluster.replicas.directories),
    ),
    "topics.jsonl": _of_image(_topics),
    "partitions.jsonl": ListFile((METADATA_TOPIC,), _partitions),
    "configs.jsonl": _of_image(_configs),
    "brokers.jsonl": _of_image(
        lambda image: Rows([each for _, each in sorted(image.brokers.items())], rows.broker_row)
    ),
    "acls.jsonl": _of_image(lambda image: Rows(sorted(image.acls.values()), rows.acl_row)),
    "quotas.jsonl": _of_image(_quotas),
    "users.jsonl": _of_image(
        lambda image: Rows([(*who, count) for who, count in sorted(image.users.items())], lambda it: rows.user_row(*it))
    ),
    "features.jsonl": _of_image(
        lambda image: Rows(sorted(image.features.items()), lambda it: {"feature": it[0], "level": it[1]})
    ),
}
"""Each file of lines at the top, by its name."""
