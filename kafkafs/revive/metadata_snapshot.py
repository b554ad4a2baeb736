"""The snapshot of the metadata from which the new controller starts: `<offset>-<epoch>.checkpoint`.

Header, data and footer are batches of their own; where the quorum is a dynamic one its voters are beside the header.
The order of records is that in which a controller replays them: what others refer to first. Much of what could be
missing is missed in silence: without a replica in sync, a directory of the node, or a registration whose epoch is that
of `.kafka_cleanshutdown`, a partition has no leader for ever; with a next producer id that was given out already, the
first record of a new producer is acknowledged and not there. Sources: Snapshots, RecordsSnapshotWriter, ImageWriter.
"""

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kafkafs.cluster.image import BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from kafkafs.cluster.metadata import METADATA_VERSION
from kafkafs.format.batch import Pair, batch_bytes
from kafkafs.format.control import ControlType
from kafkafs.format.messages.writing import message_bytes, metadata_record
from kafkafs.revive.refused_rights import refused_rights
from kafkafs.revive.refused_settings import is_taken_of_broker
from kafkafs.revive.releases import Release, record_version
from kafkafs.revive.topics import RevivedTopic
from kafkafs.revive.whole_image import WholeImage

_RECORDS_AT_ONCE, _BYTES_AT_ONCE = 500, 1 << 20
_CLIENTS = "clients"
TOKEN_KEY = "delegation.token.secret.key"
BROKER_EPOCH = 1
"""Of the registration, and of `.kafka_cleanshutdown`: where the two differ, a broker lost what it had not written."""

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


class Config(NamedTuple):
    """A setting of a topic, a broker, a group: the resource's type and name, the setting's name and value."""

    kind: int
    resource: str
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class State:
    """The content of the snapshot. `leader_epochs` are those of partitions' logs, by directory name."""

    node: Node
    features: Mapping[str, int]
    topics: Sequence[RevivedTopic]
    leader_epochs: Mapping[str, int]
    configs: Sequence[Config]
    image: WholeImage | None
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
    if state.image is not None:
        for name, fields in _rights(state.image):
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
        in_log = state.leader_epochs.get(f"{topic.name}-{each.number}", -1)
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


def _rights(image: WholeImage) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Quotas, access control, users and delegation tokens, as the old records have them."""
    refused = refused_rights(image)
    for entity, quotas in image.quotas.items():
        if entity in refused.quotas:
            continue
        named = tuple({"entityType": kind, "entityName": name} for kind, name in entity)
        for key, value in quotas.items():
            yield "ClientQuotaRecord", {"entity": named, "key": key, "value": value, "remove": False}
    for acl_id, acl in image.acls.items():
        if acl_id in refused.acls:
            continue
        yield "AccessControlEntryRecord", {
            "id": acl_id, "resourceType": acl.resource_type, "resourceName": acl.resource_name,
            "patternType": acl.pattern_type, "principal": acl.principal, "host": acl.host,
            "operation": acl.operation, "permissionType": acl.permission,
        }  # fmt: skip
    for user, fields in image.credentials.items():
        if user not in refused.credentials:
            yield "UserScramCredentialRecord", fields
    for token, fields in image.tokens.items():
        if token not in refused.tokens:
            yield "DelegationTokenRecord", fields


def kept_configs(
    image: WholeImage | None, topics: Sequence[RevivedTopic], node: int, settings: frozenset[str], target: Release
) -> tuple[list[Config], list[str]]:
    """The configs that go along, and in sentences what does not. `settings`: what the new node's own file says, which a
    config of the cluster would overrule."""
    kept = [Config(TOPIC_RESOURCE, each.name, name, value) for each in topics for name, value in each.configs.items()]
    sentences = [
        f"the setting {each.name}={each.value} of {each.resource} is left out: Kafka {target.name} does not know it"
        for each in kept if each.name in target.refused
    ]  # fmt: skip
    kept = [each for each in kept if each.name not in target.refused]
    for (kind, resource), configs in sorted(image.configs.items()) if image else ():
        if kind == TOPIC_RESOURCE:
            continue
        for name, value in configs.items():
            config = Config(kind, resource, name, value)
            sentence = _left_out(config, node, settings, target)
            if sentence is None:
                kept.append(config)
            else:
                sentences.append(sentence)
    fitting = [each._replace(value=target.takes(each.name, each.value)) for each in kept]
    sentences += [
        f"the setting {before.name}={before.value} of {_whose(before.kind, before.resource)} becomes {after.value}, the"
        f" least for Kafka {target.name}"
        for before, after in zip(kept, fitting, strict=True) if before != after
    ]  # fmt: skip
    refused = refused_rights(image) if image is not None else None
    if refused is not None:
        sentences += refused.sentences
    tokens = len(image.tokens) - len(refused.tokens) if image is not None and refused is not None else 0
    if tokens:
        sentences.append(
            f"{tokens} delegation tokens are copied, but {TOKEN_KEY} is not on these disks: uncomment its"
            " line in server.properties, and write the old key there; until then, tokens let nobody in, and each"
            " change of the metadata logs an ERROR of DelegationToken changes (Invalid key to HMAC computation)"
        )
    return fitting, sentences


def _left_out(config: Config, node: int, settings: frozenset[str], target: Release) -> str | None:
    """The sentence about a setting of no topic that does not go along; None if it does."""
    kind, resource, name, value = config
    if kind == BROKER_RESOURCE and resource not in ("", str(node)):
        return f"the setting {name} of broker {resource} is left out: the new cluster has node {node} alone"
    if kind == BROKER_RESOURCE and (name in settings or _is_of_a_machine(name, value)):
        why = "the new node has its own" if name in settings else "it belongs to the old machine"
        return f"the setting {name} of {_whose(kind, resource)} is left out: {why}"
    if kind == BROKER_RESOURCE:
        if is_taken_of_broker(name, value):
            return None
        return f"the setting {name}={value!r} of {_whose(kind, resource)} is left out: no Kafka takes such a value"
    if kind not in (CLIENT_METRICS_RESOURCE, GROUP_RESOURCE) or not resource:
        return f"the setting {name}={value!r} of {resource!r} is left out: Kafka has no such resource (type {kind})"
    if kind == GROUP_RESOURCE and not target.has_new_groups:
        return f"the setting {name}={value} of group {resource} is left out: the release has no such groups"
    return None


def _whose(kind: int, resource: str) -> str:
    if kind == TOPIC_RESOURCE:
        return resource
    return f"broker {resource}" if resource else "all brokers"


_OF_A_MACHINE = re.compile(
    r"(listener|ssl|sasl|config\.providers|password\.encoder|zookeeper|controller|rsm\.config|rlmm\.config|metrics?)\..*"
    r"|.*(listeners|reporters|\.dirs?|\.path|\.location|\.file|\.url|\.cmd|\.class|\.classes|\.class\.names?|providers)",
    re.ASCII,
)  # fmt: skip
"""Names of settings that tell of addresses, files, programs or jars. Sources: BrokerSecurityConfigs, SslConfigs,
SaslConfigs, ServerLogConfigs, RemoteLogManagerConfig."""


def _is_of_a_machine(name: str, value: str) -> bool:
    """True if the setting is about a machine's own addresses, files or jars, or takes its value from there."""
    is_name = re.fullmatch(r"[\w.-]+", name, re.ASCII) is not None
    return not is_name or _OF_A_MACHINE.fullmatch(name) is not None or value.startswith(("/", "file:", "${"))
