"""The files of `.cluster/`: the rows of each, and the topics that they come from. Callers hold `Cluster.lock`."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kafkafs.cluster import rows
from kafkafs.cluster.cluster import Cluster
from kafkafs.cluster.connect import connector_row
from kafkafs.cluster.coordinators import CoordinatorTopic
from kafkafs.cluster.group_records import Commit
from kafkafs.cluster.groups import FoundGroup
from kafkafs.cluster.image import Image
from kafkafs.cluster.progress import CommitProgress
from kafkafs.cluster.row_lines import Json, Row, known, line
from kafkafs.cluster.schema_topic import SchemaTopic
from kafkafs.format.names import GROUPS_TOPIC, METADATA_LOG, METADATA_TOPIC, TRANSACTIONS_TOPIC
from kafkafs.log.meta_properties import cluster_ids, node_ids
from kafkafs.log.partition import Partition


class ListFile(NamedTuple):
    """A file of lines, read from `topics`. It exists if the first of them exists and gives a line.

    Without topics it is read from all partitions.
    """

    topics: tuple[str, ...]
    rows: Callable[[Cluster], Iterable[Row] | None]
    version: Callable[[Cluster], object] = lambda _: None
    """A value that changes whenever the rows may be others; None if nobody can tell."""

    sources: Callable[[Cluster], Sequence[Partition]] | None = None
    """The partitions that tell it, where their topics have any name: it is there if there are some."""

    def lines(self, cluster: Cluster) -> Iterator[bytes] | None:
        """The lines, each made when it is asked for; None if nothing is left to read them from."""
        found = self.rows(cluster)
        return None if found is None else map(line, found)


def state(cluster: Cluster, schemas: SchemaTopic) -> Row:
    """`state.json`."""
    as_of = cluster.as_of
    ids, problems = cluster_ids(cluster.directories)
    nodes = node_ids(cluster.directories) if len(ids) < 2 else []
    if len(ids) < 2:
        problems += _problems(cluster, schemas)
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


def _problems(cluster: Cluster, schemas: SchemaTopic) -> Iterator[str]:
    yield from cluster.problems()
    schemas.registry()
    yield from schemas.problems()
    cluster.connect.connectors()
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


def offsets(cluster: Cluster, found: FoundGroup) -> Iterator[bytes]:
    """The lines of a group's `offsets.jsonl`. They are made without the cluster."""
    commits = cluster.groups.commits(found)
    return offset_lines(found.name, commits, cluster.progress.of(commits))


def offset_lines(name: bytes, commits: Iterable[Commit], progress: Iterable[CommitProgress]) -> Iterator[bytes]:
    """The lines of a group's offsets, each with where it is."""
    return (line(rows.offset_row(name, commit, *there)) for commit, there in zip(commits, progress, strict=True))


def _partitions(cluster: Cluster) -> Iterator[Row] | None:
    image = cluster.image
    if image is None:
        return None
    here = {name for directory in cluster.directories for name in directory.names()}
    return (
        rows.partition_row(topic, number, state, f"{topic}-{number}" in here)
        for topic, topic_id in sorted(image.ids.items())
        for number, state in sorted(image.topics[topic_id].partitions.items())
    )


def _quotas(image: Image) -> Iterator[Row]:
    by_name = sorted(image.quotas.items(), key=lambda item: [(kind, name or "") for kind, name in item[0]])
    return (rows.quota_row(entity, key, value) for entity, values in by_name for key, value in sorted(values.items()))


def _of_image(make: Callable[[Image], Iterable[Row]]) -> ListFile:
    """A file of the metadata, which is not there where that cannot be understood."""
    return ListFile((METADATA_TOPIC,), lambda cluster: None if cluster.image is None else make(cluster.image))


LISTS: Mapping[str, ListFile] = {
    "groups.jsonl": ListFile(
        (GROUPS_TOPIC, METADATA_TOPIC),
        lambda cluster: (rows.group_row(*found) for found in cluster.groups.all()),
        lambda cluster: cluster.groups.version(),
    ),
    "transactions.jsonl": ListFile(
        (TRANSACTIONS_TOPIC,),
        lambda cluster: (rows.transaction_row(*found) for found in cluster.transactions.all()),
        lambda cluster: cluster.transactions.version(),
    ),
    "open-transactions.jsonl": ListFile(
        (), lambda cluster: map(rows.open_transaction_row, cluster.producers.open_transactions())
    ),
    "producers.jsonl": ListFile((), lambda cluster: map(rows.producer_row, cluster.producers.all())),
    "connectors.jsonl": ListFile(
        (),
        lambda cluster: map(connector_row, cluster.connect.connectors()),
        sources=lambda cluster: cluster.connect.sources(),
    ),
    "topics.jsonl": _of_image(lambda image: (rows.topic_row(image, name) for name in sorted(image.ids))),
    "partitions.jsonl": ListFile((METADATA_TOPIC,), _partitions),
    "configs.jsonl": _of_image(
        lambda image: (
            rows.config_row(resource, key, value)
            for resource, values in sorted(image.configs.items())
            for key, value in sorted(values.items())
        )
    ),
    "brokers.jsonl": _of_image(lambda image: (rows.broker_row(each) for _, each in sorted(image.brokers.items()))),
    "acls.jsonl": _of_image(lambda image: map(rows.acl_row, sorted(image.acls.values()))),
    "quotas.jsonl": _of_image(_quotas),
    "users.jsonl": _of_image(lambda image: (rows.user_row(*who, count) for who, count in sorted(image.users.items()))),
    "features.jsonl": _of_image(
        lambda image: ({"feature": name, "level": level} for name, level in sorted(image.features.items()))
    ),
}
"""Each file of lines at the top, by its name."""
