"""What `info.json` tells of a partition's replicas: each that is on the mounted disks, and which of them counts."""

from collections.abc import Sequence
from typing import NamedTuple

from kafkafs.log.meta_properties import node_id
from kafkafs.log.replicas import progress
from kafkafs.view.partition_view import PartitionView, ShownReplica


class Replica(NamedTuple):
    """A line of `replicas`, by the names of its fields; unknown is None."""

    name: str
    broker: int | None
    dataDirectory: str
    lastLeaderEpoch: int | None
    logEndOffset: int | None
    chosen: bool


def shown_replicas(found: Sequence[ShownReplica]) -> list[Replica]:
    """The replicas in the order of their data directories. Chosen is the furthest, of equals the first."""
    reached = [progress(replica.partition) for replica in found]
    furthest = reached.index(max(reached)) if reached else -1
    return [
        Replica(
            shown_as,
            node_id(directory),
            str(directory.path),
            epoch if epoch >= 0 else None,
            end if end >= 0 else None,
            number == furthest,
        )
        for number, ((shown_as, directory, _), (epoch, end)) in enumerate(zip(found, reached, strict=True))
    ]


def twins(view: PartitionView, replicas: Sequence[Replica]) -> list[str]:
    """Sentences about the same partition in another directory of the same broker, where it should be once."""
    here, path = node_id(view.data_directory), str(view.data_directory.path)
    return [
        f"{other.dataDirectory} holds this partition too; it is shown as {other.name}"
        for other in replicas
        if other.dataDirectory != path and (here is None or other.broker is None or other.broker == here)
    ]
