"""The snapshot of the metadata from which the new controller starts: `<offset>-<epoch>.checkpoint`.

Header, data and footer are batches of their own. If the quorum is dynamic, its voters are beside the header. A
controller replays the records in their order, so what others refer to comes first. It misses much in silence. Without a
replica in sync, a directory of the node, or a registration whose epoch is that of `.kafka_cleanshutdown`, a partition
never has a leader. If the next producer id was given out already, the first record of a new producer is acknowledged
and not there. Sources: Snapshots, RecordsSnapshotWriter, ImageWriter.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafkafs.cluster.metadata import METADATA_VERSION
from kafkafs.format.batch import Pair, batch_bytes
from kafkafs.format.control import ControlType
from kafkafs.format.messages.writing import message_bytes, metadata_record
from kafkafs.revive.kept_configs import Config
from kafkafs.revive.kept_rights import Right
from kafkafs.revive.releases import record_version
from kafkafs.revive.topics import RevivedTopic

_RECORDS_AT_ONCE, _BYTES_AT_ONCE = 500, 1 << 20
_CLIENTS = "clients"
BROKER_EPOCH = 1
"""The epoch in the registration and in `.kafka_cleanshutdown`. If the two differ, a broker lost data that it had not
written yet."""

_NONE: tuple[int, ...] = ()
_NO_LEADER = -1
"""Until the node is there: the controller elects it then. Named leader before, it would begin to lead twice."""


@dataclass(frozen=True, slots=True)
class Node:
    """The one node of the new cluster. Its controller listens one port further. `rack`: that of the node before."""

    number: int
    directory_id: str
    incarnation_id: str
    host: str
    port: int
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class State:
    """The content of the snapshot. `leader_epochs` are those of partitions' logs, by directory name."""

    node: Node
    features: Mapping[str, int]
    topics: Sequence[RevivedTopic]
    leader_epochs: Mapping[str, int]
    configs: Sequence[Config]
    rights: Sequence[Right]
    next_producer_id: int
    timestamp_ms: int
    epoch: int
    is_dynamic: bool


def snapshot_name(offset: int, epoch: int) -> str:
    """The file that holds the state of all records below `offset`."""
    return f"{offset:020}-{epoch:010}.checkpoint"


def snapshot_bytes(state: State) -> bytes:
    """The whole file."""
    made, offset = bytearray(), 0

    def add(records: Sequence[Pair], is_control: bool = False) -> None:
        nonlocal offset
        made.extend(batch_bytes(records, offset, timestamp=state.timestamp_ms, leader_epoch=state.epoch,
                                is_control=is_control))  # fmt: skip
        offset += len(records)

    add(_head(state), is_control=True)
    waiting, size = list[Pair](), 0
    for value in _records(state):
        if waiting and (len(waiting) >= _RECORDS_AT_ONCE or size + len(value) > _BYTES_AT_ONCE):
            add(waiting)
            waiting, size = [], 0
        waiting.append((None, value))
        size += len(value)
    add(waiting)
    add([_control(ControlType.SNAPSHOT_FOOTER, "SnapshotFooterRecord", {})], is_control=True)
    return bytes(made)


def _head(state: State) -> list[Pair]:
    header = {"lastContainedLogTimestamp": state.timestamp_ms}
    head = [_control(ControlType.SNAPSHOT_HEADER, "SnapshotHeaderRecord", header)]
    if state.is_dynamic:
        node = state.node
        voter = {
            "voterId": node.number,
            "voterDirectoryId": node.directory_id,
            "endpoints": ({"name": "CONTROLLER", "host": node.host, "port": node.port + 1},),
            "kRaftVersionFeature": {"minSupportedVersion": 0, "maxSupportedVersion": 1},
        }
        head.append(_control(ControlType.KRAFT_VERSION, "KRaftVersionRecord", {"kRaftVersion": 1}))
        head.append(_control(ControlType.KRAFT_VOTERS, "VotersRecord", {"voters": (voter,)}))
    return head


def _control(kind: ControlType, name: str, fields: Mapping[str, Any]) -> Pair:
    return struct.pack(">hh", 0, kind), message_bytes(_CLIENTS, name, 0, fields)


def _records(state: State) -> Iterator[bytes]:
    level = state.features[METADATA_VERSION]

    def record(name: str, fields: Mapping[str, Any]) -> bytes:
        return metadata_record(name, record_version(name, level), fields)

    for feature in sorted(state.features, key=lambda name: (name != METADATA_VERSION, name)):
        yield record("FeatureLevelRecord", {"name": feature, "featureLevel": state.features[feature]})
    yield record("RegisterBrokerRecord", _registration(state.node, level))
    for topic in state.topics:
        yield record("TopicRecord", {"name": topic.name, "topicId": topic.topic_id})
        for fields in _partitions(topic, state):
            yield record("PartitionRecord", fields)
    for each in state.configs:
        yield record("ConfigRecord", {"resourceType": each.kind, "resourceName": each.resource, "name": each.name,
                                      "value": each.value})  # fmt: skip
    for name, fields in state.rights:
        yield record(name, fields)
    yield record("ProducerIdsRecord", {"brokerId": state.node.number, "brokerEpoch": BROKER_EPOCH,
                                       "nextProducerId": state.next_producer_id})  # fmt: skip


def _registration(node: Node, level: int) -> Mapping[str, Any]:
    plaintext = 0
    return {
        "brokerId": node.number,
        "incarnationId": node.incarnation_id,
        "brokerEpoch": BROKER_EPOCH,
        "endPoints": ({"name": "PLAINTEXT", "host": node.host, "port": node.port, "securityProtocol": plaintext},),
        "features": ({"name": METADATA_VERSION, "minSupportedVersion": min(7, level), "maxSupportedVersion": level},),
        "rack": node.rack,
        "fenced": True,
        "logDirs": (node.directory_id,),
    }


def _partitions(topic: RevivedTopic, state: State) -> Iterator[Mapping[str, Any]]:
    """One replica each, in sync; epochs go on behind all that were ever seen."""
    here = (state.node.number,)
    for each in topic.partitions:
        known = each.state
        in_log = state.leader_epochs.get(each.name, -1)
        yield {
            "partitionId": each.number,
            "topicId": topic.topic_id,
            "replicas": here,
            "isr": here,
            "removingReplicas": _NONE,
            "addingReplicas": _NONE,
            "leader": _NO_LEADER,
            "leaderEpoch": max(0, in_log, known.leader_epoch if known else 0),
            "partitionEpoch": known.partition_epoch + 1 if known else 0,
            "directories": (state.node.directory_id,),
        }
