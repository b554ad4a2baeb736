"""What lies beyond an end: records behind the end of the metadata, and offsets of groups behind that of a partition."""

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from kafkafs.cluster.cluster import Cluster
from kafkafs.revive.metadata_log import ClusterMetadata
from kafkafs.revive.topics import RevivedTopic

_AT_ONCE_MS = 1000
"""A broker that is idle notes every half second in the metadata that it is there: records a moment behind the end of
the metadata are no sign that anything is missing. Source: metadata.max.idle.interval.ms."""

_MAY_BE_MISSING = "rights, users, quotas, settings and topics that were made or changed later may be missing"


def behind_metadata(
    metadata: ClusterMetadata, topics: Sequence[RevivedTopic], told: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """A sentence if the metadata are older than the records. `told`: what was found of each partition, by name."""
    end = metadata.as_of.timestamp if metadata.as_of is not None else None
    newest = max((each["newestTimestamp"] or -1 for each in told.values()), default=-1)
    if end is not None and newest > end + _AT_ONCE_MS:
        return [f"metadata end at {_moment(end)}, records go on to {_moment(newest)}: {_MAY_BE_MISSING}"]
    for topic in topics if metadata.image is not None else ():
        for each in topic.partitions:
            name = f"{topic.name}-{each.number}"
            epoch = told[name]["leaderEpoch"] if name in told else -1
            if each.state is not None and epoch > each.state.leader_epoch:
                return [
                    f"the metadata are older than the logs: {name} has leader epoch {epoch}, and they know"
                    f" {each.state.leader_epoch}: {_MAY_BE_MISSING}"
                ]
    return []


def _moment(timestamp_ms: int) -> str:
    """In ISO 8601; a number where no calendar has it."""
    try:
        moment = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(timestamp_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def groups_beyond(cluster: Cluster, ends: Mapping[tuple[str, int], int]) -> Iterator[str]:
    """A sentence for each group and partition of which the group has committed an offset behind the end."""
    cluster.look()
    for found in cluster.groups():
        for each in cluster.commits(found) if found.stale is not True else ():
            end = ends.get((each.topic, each.partition))
            if end is not None and each.producer_id is None and each.offset > end:
                yield (
                    f"the group {os.fsdecode(found.name)!r} has committed offset {each.offset} of"
                    f" {each.topic}-{each.partition}, which ends at {end}: its consumers begin where their"
                    " auto.offset.reset says"
                )
