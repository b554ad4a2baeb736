"""Offsets of groups beyond the end of a partition."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kafkafs.cluster.cluster import Cluster
from kafkafs.errors import UNREADABLE
from kafkafs.format.messages.topic_records import InternalTopic, Message, parse_record
from kafkafs.format.names import SHARE_TOPIC
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import ReadOptions
from kafkafs.revive.plan import Plan
from kafkafs.revive.topics import RevivedTopic

_NOT_REVIVED = "is not revived: no disk has it, or another line says why"


def offsets_beyond(
    cluster: Cluster, plan: Plan, ends: Mapping[tuple[str, int], int], wanted: Sequence[str] | None = None
) -> Iterator[str]:
    """A sentence for each group and partition of which the group has committed an offset behind the end. `cluster` is
    that of the disks, or of the new directory. `wanted`: the only topics that were to be revived. Without metadata, a
    group may be the only one that still knows the last partitions of a topic."""
    cluster.look()
    for found in cluster.groups.all():
        for each in cluster.groups.commits(found) if found.stale is not True else ():
            end = ends.get((each.topic, each.partition))
            if each.producer_id is not None or each.offset <= (0 if end is None else end):
                continue
            about = (
                f"the group {os.fsdecode(found.name)!r} has committed offset {each.offset} of"
                f" {each.topic}-{each.partition}, which"
            )
            if end is not None:
                yield f"{about} ends at {end}: its consumers begin where their auto.offset.reset says"
            elif wanted is None or each.topic in wanted:
                yield f"{about} {_NOT_REVIVED}"
    shared = [(each.number, each.replica) for topic, each in plan.partitions() if topic.name == SHARE_TOPIC]
    here = [(number, replica.partition) for number, replica in shared if replica is not None]
    if cluster is not plan.cluster:
        (new,) = cluster.directories
        here = [(number, new.partition(f"{SHARE_TOPIC}-{number}")) for number, _ in here]
    yield from _share_groups([partition for _, partition in here], plan.topics, ends)


def _share_groups(
    partitions: Iterable[Partition], topics: Sequence[RevivedTopic], ends: Mapping[tuple[str, int], int]
) -> Iterator[str]:
    """Sentences about share groups that have read too far. Their first offset is in `__share_group_state`: `partitions`
    are that topic's."""
    names = {each.topic_id: each.name for each in topics}
    starts: dict[tuple[str, str, int], int] = {}
    for partition in partitions:
        try:
            for message in _messages(partition):
                key = (message.key or {})["groupId"], (message.key or {})["topicId"], (message.key or {})["partition"]
                starts[key] = message.value["startOffset"] if message.value is not None else -1
        except UNREADABLE:
            continue  # a loss of that partition, which is reported
    for (group, topic_id, number), start in sorted(starts.items()):
        name = names.get(topic_id)
        end = ends.get((name or "", number))
        if name is not None and start > (0 if end is None else end):
            outcome = _NOT_REVIVED if end is None else f"ends at {end}"
            yield f"the share group {group!r} is at offset {start} of {name}-{number}, which {outcome}"


def _messages(partition: Partition) -> Iterator[Message]:
    for records in partition.look_as(ReadOptions()).visible.records(0):
        for row in range(len(records)):
            key, value = records.key(row), records.value(row)
            pair = (None if each is None else bytes(each) for each in (key, value))
            message = parse_record(InternalTopic.SHARE_STATE, *pair)
            if isinstance(message, Message):
                yield message
