"""Values of this package as rows: fields with the names, and in the order, of docs/after-an-incident.md."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from kafkafs.cluster.group_records import Commit, Group, Member
from kafkafs.cluster.image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    Acl,
    Broker,
    Entity,
    Image,
    PartitionState,
)
from kafkafs.cluster.row_lines import Row, file_name, known, text_field
from kafkafs.cluster.transactions import Producer, Transaction
from kafkafs.format.messages.message_json import is_secret_config
from kafkafs.format.names import INTERNAL_TOPICS

RESOURCES = {
    TOPIC_RESOURCE: "topic", BROKER_RESOURCE: "broker", 8: "broker-logger", CLIENT_METRICS_RESOURCE: "client-metrics",
    GROUP_RESOURCE: "group",
}  # fmt: skip
"""The types of resources that can have configs."""

_MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_ACL_RESOURCES = {2: "TOPIC", 3: "GROUP", 4: "CLUSTER", 5: "TRANSACTIONAL_ID", 6: "DELEGATION_TOKEN", 7: "USER"}
_PATTERNS = {3: "LITERAL", 4: "PREFIXED"}
_OPERATIONS = dict(enumerate((
    "ANY", "ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION", "DESCRIBE_CONFIGS",
    "ALTER_CONFIGS", "IDEMPOTENT_WRITE", "CREATE_TOKENS", "DESCRIBE_TOKENS", "TWO_PHASE_COMMIT",
), 1))  # fmt: skip
_PERMISSIONS = {2: "DENY", 3: "ALLOW"}
_UNKNOWN = "UNKNOWN"
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


NO_OFFSET = -1
"""A client may commit that. Source: OffsetFetchResponse.INVALID_OFFSET."""


class Ends(NamedTuple):
    """The beginning and the end of a partition. None if the partition is not on these disks, or does not tell.
    `first_here` is the first offset that can be read: behind the start of a log that begins in a tier, where that is
    not read."""

    log_start: int | None = None
    high_watermark: int | None = None
    log_end: int | None = None
    first_here: int | None = None


def group_row(name: bytes, partition: int, group: Group, stale: bool | None) -> Row:
    """A line of `groups.jsonl`."""
    path = file_name(name)
    return text_field("group", name) | {
        "type": group.kind,
        "state": group.state,
        "protocolType": group.protocol_type,
        "protocol": group.protocol,
        "generation": group.generation,
        "leader": group.leader,
        "members": None if group.members is None else len(group.members),
        "stateTimestamp": group.state_timestamp,
        "coordinatorPartition": partition,
        "stale": stale,
        "path": None if path is None else f"groups/{path}",
    }


def group_with_members(name: bytes, partition: int, group: Group, stale: bool | None) -> Row:
    """`group.json`."""
    return group_row(name, partition, group, stale) | {
        "members": None if group.members is None else [_member(each) for each in group.members]
    }


def _member(member: Member) -> Row:
    assignment = member.assignment
    return {
        "memberId": member.member_id,
        "groupInstanceId": member.group_instance_id,
        "clientId": member.client_id,
        "clientHost": member.client_host,
        "topics": None if member.topics is None else list(member.topics),
        "assignment": None
        if assignment is None
        else [{"topic": each.topic, "partitions": list(each.partitions)} for each in assignment],
        "memberEpoch": member.member_epoch,
    }


def offset_row(
    name: bytes, commit: Commit, ends: Ends, next_timestamp: int | None = None, lag_ms: int | None = None
) -> Row:
    """A line of `offsets.jsonl`."""
    pending = commit.producer_id is not None
    return text_field("group", name) | {
        "topic": commit.topic,
        "topicId": commit.topic_id,
        "partition": commit.partition,
        "offset": commit.offset,
        "leaderEpoch": commit.leader_epoch,
        "metadata": commit.metadata,
        "commitTimestamp": commit.commit_timestamp,
        "expireTimestamp": commit.expire_timestamp,
        "pending": pending,
        "producerId": commit.producer_id,
        "logStartOffset": ends.log_start,
        "highWatermark": ends.high_watermark,
        "logEndOffset": ends.log_end,
        "lag": lag(commit, ends),
        "nextTimestamp": next_timestamp,
        "lagMs": lag_ms,
    }


def lag(commit: Commit, ends: Ends) -> int | None:
    """The LAG of `kafka-consumer-groups.sh`. It is null if that tool prints none, and for pending offsets."""
    if ends.high_watermark is None or commit.producer_id is not None or commit.offset == NO_OFFSET:
        return None
    return ends.high_watermark - commit.offset


def transaction_row(transaction: Transaction, partition: int) -> Row:
    """A line of `transactions.jsonl`."""
    return {
        "transactionalId": transaction.transactional_id,
        "producerId": transaction.producer_id,
        "producerEpoch": transaction.producer_epoch,
        "state": transaction.state,
        "timeoutMs": transaction.timeout_ms,
        "startTimestamp": transaction.start_timestamp,
        "lastUpdateTimestamp": transaction.last_update_timestamp,
        "partitions": [{"topic": topic, "partition": number} for topic, number in transaction.partitions],
        "coordinatorPartition": partition,
    }


def open_transaction_row(found: Producer) -> Row:
    """A line of `open-transactions.jsonl`."""
    state = found.state
    return {
        "topic": found.topic,
        "partition": found.partition,
        "producerId": state.producer_id,
        "producerEpoch": state.producer_epoch,
        "coordinatorEpoch": state.coordinator_epoch if state.coordinator_epoch >= 0 else None,
        "firstOffset": state.transaction_first_offset,
        "lastTimestamp": state.timestamp if state.timestamp >= 0 else None,
        "transactionalId": found.transactional_id,
        "hanging": found.hanging,
    }


def producer_row(found: Producer) -> Row:
    """A line of `producers.jsonl`."""
    state = found.state
    return {
        "topic": found.topic,
        "partition": found.partition,
        "producerId": state.producer_id,
        "producerEpoch": known(state.producer_epoch),
        "coordinatorEpoch": known(state.coordinator_epoch),
        "lastSequence": known(state.last_sequence),
        "lastTimestamp": known(state.timestamp),
        "currentTransactionStartOffset": known(state.transaction_first_offset),
        "transactionalId": found.transactional_id,
    }


def topic_row(image: Image, name: str) -> Row:
    """A line of `topics.jsonl`."""
    topic_id, configs = image.ids[name], image.configs.get((TOPIC_RESOURCE, name), {})
    partitions = image.topics[topic_id].partitions
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


def partition_row(topic: str, number: int, state: PartitionState, here: bool) -> Row:
    """A line of `partitions.jsonl`."""
    return {
        "topic": topic,
        "partition": number,
        "leader": state.leader,
        "leaderEpoch": state.leader_epoch,
        "partitionEpoch": state.partition_epoch,
        "replicas": list(state.replicas),
        "isr": list(state.isr),
        "addingReplicas": list(state.adding),
        "removingReplicas": list(state.removing),
        "eligibleLeaderReplicas": list(state.eligible),
        "lastKnownElr": list(state.last_known),
        "directories": None if state.directories is None else list(state.directories),
        "here": here,
    }


def config_row(resource: tuple[int, str], key: str, value: str) -> Row:
    """A line of `configs.jsonl`."""
    kind, name = resource
    secret = is_secret_config(kind, key)
    return {
        "type": RESOURCES.get(kind, str(kind)),
        "name": name,
        "key": key,
        "value": None if secret else value,
        "redacted": secret,
    }


def broker_row(broker: Broker) -> Row:
    """A line of `brokers.jsonl`."""
    return {
        "id": broker.broker_id,
        "rack": broker.rack,
        "fenced": broker.fenced,
        "inControlledShutdown": broker.in_controlled_shutdown,
        "endpoints": [
            {"name": name, "host": host, "port": port, "securityProtocol": _named(_PROTOCOLS, protocol)}
            for name, host, port, protocol in broker.endpoints
        ],
        "incarnationId": broker.incarnation_id,
        "logDirs": list(broker.log_dirs),
        "epoch": broker.epoch,
    }


def _named(names: Sequence[str], number: int) -> str:
    return names[number] if 0 <= number < len(names) else _UNKNOWN


def acl_row(acl: Acl) -> Row:
    """A line of `acls.jsonl`."""
    return {
        "resourceType": _ACL_RESOURCES.get(acl.resource_type, _UNKNOWN),
        "resourceName": acl.resource_name,
        "patternType": _PATTERNS.get(acl.pattern_type, _UNKNOWN),
        "principal": acl.principal,
        "host": acl.host,
        "operation": _OPERATIONS.get(acl.operation, _UNKNOWN),
        "permission": _PERMISSIONS.get(acl.permission, _UNKNOWN),
    }


def quota_row(entity: Entity, key: str, value: float) -> Row:
    """A line of `quotas.jsonl`. A number that is not finite is a text, because JSON has no form for it."""
    return {"entity": dict(entity), "key": key, "value": value if math.isfinite(value) else _NOT_FINITE[str(value)]}


def user_row(user: str, mechanism: int, iterations: int) -> Row:
    """A line of `users.jsonl`."""
    return {"user": user, "mechanism": _MECHANISMS.get(mechanism, _UNKNOWN), "iterations": iterations}
