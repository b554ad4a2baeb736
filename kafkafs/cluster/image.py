"""The cluster's state, from the records of its metadata log. Secrets are dropped here.

No record ends the reading, whatever it says: one that contradicts those before it replaces what they said.
Sources: MetadataDelta and the deltas below it, PartitionRegistration.merge, BrokerRegistration.
"""

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from kafkafs.format.messages.message_values import uuid_bytes
from kafkafs.format.messages.reading import ZERO_UUID
from kafkafs.format.messages.schema import names_by_number
from kafkafs.format.messages.topic_records import Message

NO_LEADER_CHANGE = -2
TOPIC_RESOURCE, BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE = 2, 4, 16, 32
"""Types of resources that have configs. Source: ConfigResource.Type."""

_NOT_A_FEATURE = "kraft.version"

Ids = tuple[int, ...]
Entity = tuple[tuple[str, str | None], ...]


class PartitionState(NamedTuple):
    """One partition. `directories` has the id of each replica's log directory; None if no record gave it."""

    leader: int
    leader_epoch: int
    partition_epoch: int
    replicas: Ids
    isr: Ids
    adding: Ids
    removing: Ids
    eligible: Ids
    last_known: Ids
    directories: tuple[str, ...] | None


class TopicImage(NamedTuple):
    """A topic and its partitions by number."""

    name: str
    topic_id: str
    partitions: dict[int, PartitionState]


class Broker(NamedTuple):
    """A broker's registration. An endpoint is (name, host, port, number of its security protocol)."""

    broker_id: int
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool
    endpoints: tuple[tuple[str, str, int, int], ...]
    incarnation_id: str
    log_dirs: tuple[str, ...]
    epoch: int


class Acl(NamedTuple):
    """An access control entry, numbers as Kafka writes them."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int


_NEEDED_BY_ALL = (
    "FeatureLevelRecord",  # a first snapshot counts only if it has some
    "BeginTransactionRecord",
    "EndTransactionRecord",
    "AbortTransactionRecord",
)


def all_but(*needed: str) -> frozenset[int]:
    """The types of records that an image ignores if it needs only the named ones (`Image.ignored_types`). Every image
    needs the records of transactions and of features."""
    kept = {*needed, *_NEEDED_BY_ALL}
    return frozenset(number for number, name in names_by_number("metadata", "Record").items() if name not in kept)


class Image:
    """All state. `apply` changes it by a record. Values that were handed out never change."""

    ignored_types: frozenset[int] = frozenset((10, 15, 21, 26))
    """Types of records that are not parsed for it: delegation tokens (which are secret), producer ids, and the state of
    a migration from ZooKeeper."""

    def __init__(self) -> None:
        self.topics: dict[str, TopicImage] = {}  # by id
        self.ids: dict[str, str] = {}  # topic ids by name
        self.brokers: dict[int, Broker] = {}
        self.configs: dict[tuple[int, str], dict[str, str]] = {}  # by type and name of the resource
        self.acls: dict[str, Acl] = {}
        self.quotas: dict[Entity, dict[str, float]] = {}
        self.users: dict[tuple[str, int], int] = {}  # user and mechanism -> iterations: all else of them is secret
        self.features: dict[str, int] = {}
        self.renamed = 0
        """Changes whenever a topic comes or goes."""

        self._same: dict[object, Any] = {}

    def apply(self, record: Message) -> None:
        """Apply a record. LookupError if it is about something that does not exist."""
        change = _CHANGES.get(record.name)
        if change is not None:
            change(self, record.value or {})

    def _shared(self, value: Any) -> Any:
        """Return an equal value that is known already. Most partitions have the same lists of replicas."""
        return self._same.setdefault(value, value)

    def _topic(self, value: Mapping[str, Any]) -> None:
        name, topic_id = value["name"], value["topicId"]
        before = self.topics.get(topic_id)
        if before is not None and self.ids.get(before.name) == topic_id:  # no controller renames a topic
            del self.ids[before.name]
        self.topics[topic_id] = TopicImage(name, topic_id, {})
        self.ids[name] = topic_id
        self.renamed += 1

    def _remove_topic(self, value: Mapping[str, Any]) -> None:
        topic = self.topics.pop(value["topicId"])
        if self.ids.get(topic.name) == topic.topic_id:
            del self.ids[topic.name]
        self.configs.pop((TOPIC_RESOURCE, topic.name), None)
        self.renamed += 1

    def _partition(self, value: Mapping[str, Any]) -> None:
        self.topics[value["topicId"]].partitions[value["partitionId"]] = PartitionState(
            value["leader"],
            value["leaderEpoch"],
            value["partitionEpoch"],
            self._shared(value["replicas"]),
            self._shared(value["isr"]),
            self._shared(value["addingReplicas"]),
            self._shared(value["removingReplicas"]),
            self._shared(value.get("eligibleLeaderReplicas") or ()),
            self._shared(value.get("lastKnownElr") or ()),
            self._shared(_known_directories(value.get("directories"))),
        )

    def _change_partition(self, value: Mapping[str, Any]) -> None:
        partitions = self.topics[value["topicId"]].partitions
        before = partitions[value["partitionId"]]
        elected = value["leader"] != NO_LEADER_CHANGE
        partitions[value["partitionId"]] = PartitionState(
            value["leader"] if elected else before.leader,
            before.leader_epoch + elected,
            before.partition_epoch + 1,
            self._changed(value, "replicas", before.replicas),
            self._changed(value, "isr", before.isr),
            self._changed(value, "addingReplicas", before.adding),
            self._changed(value, "removingReplicas", before.removing),
            self._changed(value, "eligibleLeaderReplicas", before.eligible),
            self._changed(value, "lastKnownElr", before.last_known),
            _known_directories(self._changed(value, "directories", before.directories)),
        )

    def _changed(self, value: Mapping[str, Any], field: str, before: Any) -> Any:
        """A field of a change; null means that it stays as it was."""
        new = value.get(field)
        return before if new is None else self._shared(new)

    def _clear_eligible(self, value: Mapping[str, Any]) -> None:
        name = value["topicName"]
        for topic in [self.topics[self.ids[name]]] if name else self.topics.values():
            for number, state in topic.partitions.items():
                if state.eligible or state.last_known:
                    topic.partitions[number] = state._replace(
                        partition_epoch=state.partition_epoch + 1, eligible=(), last_known=()
                    )

    def _register(self, value: Mapping[str, Any]) -> None:
        endpoints = tuple(
            (each["name"], each["host"], each["port"], each["securityProtocol"]) for each in value["endPoints"]
        )
        self.brokers[value["brokerId"]] = Broker(
            value["brokerId"],
            value["rack"],
            value["fenced"],
            value.get("inControlledShutdown", False),
            endpoints,
            value["incarnationId"],
            _in_order(value.get("logDirs", ())),
            value["brokerEpoch"],
        )

    def _unregister(self, value: Mapping[str, Any]) -> None:
        del self.brokers[value["brokerId"]]

    def _fence(self, value: Mapping[str, Any]) -> None:
        self.brokers[value["id"]] = self.brokers[value["id"]]._replace(fenced=True)

    def _unfence(self, value: Mapping[str, Any]) -> None:
        self.brokers[value["id"]] = self.brokers[value["id"]]._replace(fenced=False)

    def _change_registration(self, value: Mapping[str, Any]) -> None:
        before = self.brokers[value["brokerId"]]
        fenced = value["fenced"] > 0 if value["fenced"] else before.fenced
        leaving = before.in_controlled_shutdown or value.get("inControlledShutdown", 0) > 0
        log_dirs = _in_order(value.get("logDirs", ())) or before.log_dirs
        self.brokers[before.broker_id] = before._replace(
            fenced=fenced, in_controlled_shutdown=leaving, log_dirs=log_dirs
        )

    def _config(self, value: Mapping[str, Any]) -> None:
        resource = value["resourceType"], value["resourceName"]
        if value["value"] is not None:
            self.configs.setdefault(resource, {})[value["name"]] = value["value"]
        elif resource in self.configs:
            self.configs[resource].pop(value["name"], None)
            if not self.configs[resource]:
                del self.configs[resource]

    def _quota(self, value: Mapping[str, Any]) -> None:
        entity = tuple(sorted({each["entityType"]: each["entityName"] for each in value["entity"]}.items()))
        quotas = self.quotas.setdefault(entity, {})
        if value["remove"]:
            quotas.pop(value["key"], None)
        else:
            quotas[value["key"]] = value["value"]
        if not quotas:
            del self.quotas[entity]

    def _acl(self, value: Mapping[str, Any]) -> None:
        self.acls[value["id"]] = Acl(
            value["resourceType"],
            value["resourceName"],
            value["patternType"],
            value["principal"],
            value["host"],
            value["operation"],
            value["permissionType"],
        )

    def _remove_acl(self, value: Mapping[str, Any]) -> None:
        del self.acls[value["id"]]

    def _user(self, value: Mapping[str, Any]) -> None:
        self.users[value["name"], value["mechanism"]] = value["iterations"]

    def _remove_user(self, value: Mapping[str, Any]) -> None:
        del self.users[value["name"], value["mechanism"]]

    def _feature(self, value: Mapping[str, Any]) -> None:
        name, level = value["name"], value["featureLevel"]
        if level and name != _NOT_A_FEATURE:
            self.features[name] = level
        else:
            self.features.pop(name, None)


def _known_directories(ids: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The directories of a partition's replicas; None if no record gave them, which a snapshot writes as zeros."""
    return ids if any(each != ZERO_UUID for each in ids or ()) else None


def _in_order(ids: Iterable[str]) -> tuple[str, ...]:
    """Ids of directories in Java's order, as a broker keeps them: two longs with a sign."""
    return tuple(sorted(ids, key=lambda text: struct.unpack(">qq", uuid_bytes(text))))


_CHANGES: Mapping[str, Callable[[Image, Mapping[str, Any]], None]] = {
    "TopicRecord": Image._topic,
    "RemoveTopicRecord": Image._remove_topic,
    "PartitionRecord": Image._partition,
    "PartitionChangeRecord": Image._change_partition,
    "ClearElrRecord": Image._clear_eligible,
    "RegisterBrokerRecord": Image._register,
    "UnregisterBrokerRecord": Image._unregister,
    "FenceBrokerRecord": Image._fence,
    "UnfenceBrokerRecord": Image._unfence,
    "BrokerRegistrationChangeRecord": Image._change_registration,
    "ConfigRecord": Image._config,
    "ClientQuotaRecord": Image._quota,
    "AccessControlEntryRecord": Image._acl,
    "RemoveAccessControlEntryRecord": Image._remove_acl,
    "UserScramCredentialRecord": Image._user,
    "RemoveUserScramCredentialRecord": Image._remove_user,
    "FeatureLevelRecord": Image._feature,
}
