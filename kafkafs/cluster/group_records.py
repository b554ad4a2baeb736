"""Groups, of all four types, from the records that are left of them. Sources: GroupMetadataManager and the classes of
groups and members beside it.

The disk has a classic group as of its last rebalance. A group that had members then is Stable. The newer types keep
each member in records of its own, and their state follows from the epochs; what a member is to give back is still its
own, as Kafka's tools tell it. Beside them are the offsets that they committed, and how far those are behind the
partitions' ends. Source of that: OffsetMetadataManager.
"""

import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from kafkafs.cluster.following import problem_of
from kafkafs.cluster.kept_records import NO_PRODUCER, LastValue
from kafkafs.cluster.last_values import OFFSET_COMMIT, kind_of
from kafkafs.cluster.row_lines import known
from kafkafs.format.messages.reading import ZERO_UUID
from kafkafs.format.messages.schema import names_by_number
from kafkafs.format.messages.topic_records import InternalTopic, Message, Unreadable, parse_fields, parse_record
from kafkafs.format.strings import java_hash

GroupKind = Literal["classic", "consumer", "share", "streams"]
TellProblem = Callable[[tuple[int, str]], None]
"""Hears of a record that cannot be read: its offset, and what is wrong with it."""


def not_reported(_: tuple[int, str]) -> None:
    """Do nothing: somebody else reports the records that cannot be read."""


class Topics(NamedTuple):
    """Questions about topics: the name of a topic with an id, and its number of partitions. The answer is None if
    unknown."""

    name: Callable[[str], str | None]
    partitions: Callable[[str], int | None]


_CONSUMER_PROTOCOL = "consumer"
_VERSION = struct.Struct(">h")
_STABLE = {"consumer": 0, "streams": 1}
"""The state of a member, on disk, that has all it was assigned and nothing to give back."""

_FIRST_EPOCH = 1
"""The epoch of a newer group if no record tells it, as of a share group whose offsets were reset before anybody
joined. Sources: ModernGroup, TargetAssignmentMetadata."""

_PREFIXES: Mapping[GroupKind, str] = {"consumer": "ConsumerGroup", "share": "ShareGroup", "streams": "StreamsGroup"}


@dataclass(frozen=True, slots=True)
class Assigned:
    """Partitions of one topic; of a topic whose name is not known, None."""

    topic: str | None
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Member:
    """A member. `topics` and `assignment` are None if its protocol is not Kafka's consumers'."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    topics: tuple[str, ...] | None
    assignment: tuple[Assigned, ...] | None
    member_epoch: int | None


@dataclass(frozen=True, slots=True)
class Group:
    """The content of the records of one group. A "simple" group is a classic one that only has offsets.

    If one of its records cannot be read, `state` is None. If that record names the members, they are None.
    """

    kind: GroupKind
    state: str | None
    protocol_type: str | None = None
    protocol: str | None = None
    generation: int | None = None
    leader: str | None = None
    state_timestamp: int | None = None
    members: tuple[Member, ...] | None = ()


SIMPLE = Group("classic", "Empty")


class _Found:
    """The records of one group by the names of their types; `offset` is that of the newest of a type.

    `is_whole`: all of them could be read.
    """

    def __init__(self) -> None:
        self.is_whole = True
        self.messages: defaultdict[str, list[Message]] = defaultdict(list)
        self.offset: dict[str, int] = {}

    def one(self, name: str) -> Mapping[str, Any] | None:
        """The record of a type that a group has one of; None if it has none."""
        return self.messages[name][-1].value if name in self.messages else None

    def by_member(self, name: str) -> dict[str, Mapping[str, Any]]:
        """The records of a type that each member has one of, by member id; empty if there are no such records."""
        return {str((each.key or {})["memberId"]): each.value or {} for each in self.messages.get(name, ())}


def read_group(
    records: Iterable[tuple[bytes, LastValue]], topics: Topics, problem: TellProblem = not_reported
) -> Group:
    """The group of which these records are left."""
    found = _Found()
    for key, kept in records:
        if kind_of(key) == OFFSET_COMMIT:
            continue
        message = parse_record(InternalTopic.OFFSETS, key, kept.value)
        if isinstance(message, Unreadable):
            problem((kept.offset, problem_of(message)))
            found.is_whole = False
            name = _record_name(kind_of(key))
        else:
            name = message.name
            found.messages[name].append(message)
        found.offset[name] = max(kept.offset, found.offset.get(name, -1))
    kind = _kind(found)
    if kind != "classic":
        group = _newer(kind, found, topics)
        return group if found.is_whole else replace(group, state=None)
    value = found.one("GroupMetadata")
    if value is not None:
        return _classic(value)
    return SIMPLE if found.is_whole else replace(SIMPLE, state=None, members=None)


def _record_name(kind: int) -> str:
    """The name of a record type, which is that of its key."""
    return names_by_number(InternalTopic.OFFSETS.value, "Key")[kind].removesuffix("Key")


def _kind(found: _Found) -> GroupKind:
    """The type that was written last, since a group can be moved from one protocol to the other."""
    heads: dict[str, GroupKind] = {"GroupMetadata": "classic"}
    heads.update((f"{prefix}Metadata", kind) for kind, prefix in _PREFIXES.items())
    there = [name for name in heads if name in found.offset]
    if there:
        return heads[max(there, key=found.offset.__getitem__)]
    for kind, prefix in _PREFIXES.items():
        if any(name.startswith(prefix) for name in found.offset):
            return kind
    return "classic"


def _classic(value: Mapping[str, Any]) -> Group:
    protocol_type = value["protocolType"] or None
    is_consumers = protocol_type == _CONSUMER_PROTOCOL
    members = tuple(_classic_member(each, is_consumers) for each in value["members"])
    return Group(
        "classic",
        "Stable" if members else "Empty",
        protocol_type,
        value["protocol"] or None,
        None if protocol_type is None else known(value["generation"]),
        value["leader"] or None,
        known(value.get("currentStateTimestamp", -1)),
        _sorted(members),
    )


def _classic_member(member: Mapping[str, Any], is_consumers: bool) -> Member:
    topics = assignment = None
    if is_consumers:
        subscription = _embedded("ConsumerProtocolSubscription", member["subscription"])
        topics = None if subscription is None else tuple(sorted(subscription["topics"]))
        assigned = _embedded("ConsumerProtocolAssignment", member["assignment"])
        if assigned is not None:
            assignment = _assignment((each["topic"], each["partitions"]) for each in assigned["assignedPartitions"])
        elif not member["assignment"]:
            assignment = ()
    return Member(
        member["memberId"],
        member.get("groupInstanceId"),
        member["clientId"],
        member["clientHost"],
        topics,
        assignment,
        None,
    )


def _embedded(name: str, data: bytes) -> Mapping[str, Any] | None:
    """A message that a client put into a record, behind its version; None if it is none."""
    if len(data) < _VERSION.size:
        return None
    (version,) = _VERSION.unpack_from(data)
    return None if version < 0 else parse_fields("clients", name, version, data[_VERSION.size :])


def _newer(kind: GroupKind, found: _Found, about: Topics) -> Group:
    prefix = _PREFIXES[kind]
    head = found.one(f"{prefix}Metadata") or {}
    target = found.one(f"{prefix}TargetAssignmentMetadata") or {}
    described = found.by_member(f"{prefix}MemberMetadata")
    current = found.by_member(f"{prefix}CurrentMemberAssignment")
    sources = _task_topics(found) if kind == "streams" else {}
    resolved = {
        (each.key or {})["regularExpression"]: (each.value or {})["topics"]
        for each in found.messages.get("ConsumerGroupRegularExpression", ())
    }
    members = []
    for member_id, member in described.items():
        now = current.get(member_id, {})
        if kind == "streams":
            topics = {topic for names in sources.values() for topic in names}
            assigned: list[tuple[str | None, Sequence[int]]] = [
                (topic, _existing(task["partitions"], about.partitions(topic)))
                for task in now.get("activeTasks", ())
                for topic in sources.get(task["subtopologyId"], ())
            ]
        else:
            topics = {*(member["subscribedTopicNames"] or ()), *resolved.get(member.get("subscribedTopicRegex"), ())}
            assigned = [
                (about.name(each["topicId"]), each["partitions"])
                for field in ("assignedPartitions", "partitionsPendingRevocation")
                for each in now.get(field, ())
            ]
        members.append(
            Member(
                member_id,
                member.get("instanceId"),
                member["clientId"],
                member["clientHost"],
                tuple(sorted(topics)),
                _assignment(assigned),
                known(now.get("memberEpoch", -1)),
            )
        )
    epoch = head.get("epoch", -1 if f"{prefix}Metadata" in found.offset else _FIRST_EPOCH)
    assignors = Counter(member["serverAssignor"] for member in described.values() if member.get("serverAssignor"))
    return Group(
        kind,
        _state(kind, epoch, target.get("assignmentEpoch", _FIRST_EPOCH), [current.get(each, {}) for each in described])
        if kind != "streams" or not described or _has_valid_topology(found, head)
        else "NotReady",
        protocol_type=kind,
        protocol=min(assignors, key=lambda name: (-assignors[name], _place(name))) if assignors else None,
        generation=known(epoch),
        members=_sorted(members),
    )


def _place(name: str) -> int:
    """Return its place in Kafka's table of assignors, of which the first one counts. Source: BaseHashTable.findSlot."""
    return java_hash(name) * -7046029254386353131 % 2**64


def _state(kind: GroupKind, epoch: int, assignment_epoch: int, members: Sequence[Mapping[str, Any]]) -> str:
    if not members:
        return "Empty"
    if kind == "share":
        return "Stable"
    if epoch > assignment_epoch:
        return "Assigning"
    stable = _STABLE[kind]
    settled = all(
        each.get("state", stable) == stable and each.get("memberEpoch", 0) == assignment_epoch for each in members
    )
    return "Stable" if settled else "Reconciling"


def _has_valid_topology(found: _Found, head: Mapping[str, Any]) -> bool:
    """True if the coordinator found the topics of the streams group's newest topology. One of 4.1 wrote nothing about
    that, nor about settings, as later ones always do; without the topics it gave nobody a task."""
    topology, validated = found.one("StreamsGroupTopology"), head.get("validatedTopologyEpoch", -1)
    if validated == -1 and not head.get("lastAssignmentConfigs"):
        targets = found.by_member("StreamsGroupTargetAssignmentMember").values()
        return topology is not None and any(each["activeTasks"] for each in targets)
    return topology is not None and topology["epoch"] == validated


def _task_topics(found: _Found) -> dict[str, tuple[str, ...]]:
    """The topics whose partitions the tasks of each subtopology read."""
    topology = found.one("StreamsGroupTopology") or {}
    return {
        each["subtopologyId"]: (*each["sourceTopics"], *(source["name"] for source in each["repartitionSourceTopics"]))
        for each in topology.get("subtopologies", ())
    }


def _existing(numbers: Iterable[int], count: int | None) -> list[int]:
    """A task reads the partition of its number of each topic that has so many."""
    return [number for number in numbers if count is None or number < count]


def _assignment(topics: Iterable[tuple[str | None, Iterable[int]]]) -> tuple[Assigned, ...]:
    together: defaultdict[str | None, set[int]] = defaultdict(set)
    for topic, partitions in topics:
        together[topic].update(partitions)
    ordered = sorted(together, key=lambda topic: (topic is None, topic or ""))
    return tuple(Assigned(topic, tuple(sorted(together[topic]))) for topic in ordered)


def _sorted(members: Iterable[Member]) -> tuple[Member, ...]:
    return tuple(sorted(members, key=lambda member: member.member_id))


class Commit(NamedTuple):
    """An offset that a group committed. `producer_id` is that of a transaction that is still open, else None."""

    topic: str
    partition: int
    offset: int
    topic_id: str | None
    leader_epoch: int | None
    metadata: str
    commit_timestamp: int | None
    expire_timestamp: int | None
    producer_id: int | None


def read_commits(records: Iterable[tuple[bytes, LastValue]], problem: TellProblem = not_reported) -> list[Commit]:
    """The offsets among the records of a group, by topic and partition; what is pending behind what is in effect."""
    commits = []
    for key, kept in records:
        if kind_of(key) != OFFSET_COMMIT:
            continue
        message = parse_record(InternalTopic.OFFSETS, key, kept.value)
        if isinstance(message, Unreadable):
            problem((kept.offset, problem_of(message)))
            continue
        commits.append(_commit(message.key or {}, message.value or {}, kept.producer_id))
    return sorted(commits, key=lambda each: (each.topic, each.partition, -1 if each.producer_id is None else 0))


def _commit(key: dict[str, Any], value: dict[str, Any], producer_id: int) -> Commit:
    topic_id = value.get("topicId", ZERO_UUID)
    return Commit(
        key["topic"],
        key["partition"],
        value["offset"],
        None if topic_id == ZERO_UUID else topic_id,
        known(value.get("leaderEpoch", -1)),
        value["metadata"],
        known(value.get("commitTimestamp", -1)),
        known(value.get("expireTimestamp", -1)),
        None if producer_id == NO_PRODUCER else producer_id,
    )
