"""Committed offsets of a group, and how far behind the partitions' ends they are. Source: OffsetMetadataManager."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from kafkafs.cluster.groups import Problem
from kafkafs.cluster.kept import NO_PRODUCER, LastValue
from kafkafs.cluster.last_values import OFFSET_COMMIT, kind_of
from kafkafs.cluster.lines import known
from kafkafs.cluster.problems import what_is_wrong
from kafkafs.format.messages.records import InternalTopic, Unreadable, parse_record

_ZERO_ID = "A" * 22


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


def read_commits(records: Iterable[tuple[bytes, LastValue]], problem: Problem) -> list[Commit]:
    """The offsets among the records of a group, by topic and partition; what is pending behind what is in effect."""
    commits = []
    for key, kept in records:
        if kind_of(key) != OFFSET_COMMIT:
            continue
        message = parse_record(InternalTopic.OFFSETS, key, kept.value)
        if isinstance(message, Unreadable):
            problem((kept.offset, what_is_wrong(message)))
            continue
        commits.append(_commit(message.key or {}, message.value or {}, kept.producer_id))
    return sorted(commits, key=lambda each: (each.topic, each.partition, -1 if each.producer_id is None else 0))


def _commit(key: dict[str, Any], value: dict[str, Any], producer_id: int) -> Commit:
    topic_id = value.get("topicId", _ZERO_ID)
    return Commit(
        key["topic"],
        key["partition"],
        value["offset"],
        None if topic_id == _ZERO_ID else topic_id,
        known(value.get("leaderEpoch", -1)),
        value["metadata"],
        known(value.get("commitTimestamp", -1)),
        known(value.get("expireTimestamp", -1)),
        None if producer_id == NO_PRODUCER else producer_id,
    )
