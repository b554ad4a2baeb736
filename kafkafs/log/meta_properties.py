"""`meta.properties` of data directories: which cluster and which node they belong to. Source: MetaProperties."""

from collections.abc import Iterable, Sequence

from kafkafs.errors import UNREADABLE, NotFound, UsageError
from kafkafs.format.names import META_PROPERTIES
from kafkafs.log.data_directory import DataDirectory


def cluster_ids(directories: Iterable[DataDirectory]) -> tuple[list[str], list[str]]:
    """The ids of all clusters that these directories are of, and what is wrong with that, in sentences."""
    ids, problems = [], []
    for directory in directories:
        try:
            cluster_id = directory.meta_properties().get("cluster.id")
        except NotFound:
            continue
        except UNREADABLE as error:
            problems.append(f"{META_PROPERTIES} of {str(directory.path)!r} cannot be read: {error}")
            continue
        if cluster_id is not None and cluster_id not in ids:
            ids.append(cluster_id)
    if len(ids) > 1:
        problems.append(
            f"these directories are of {len(ids)} clusters ({', '.join(ids)}): name the directories of one cluster"
        )
    return ids, problems


def of_one_cluster(directories: Sequence[DataDirectory]) -> Sequence[DataDirectory]:
    """The directories that tell of the cluster: all of them, but none if they are of several clusters."""
    return directories if len(cluster_ids(directories)[0]) < 2 else ()


def check_one_cluster(directories: Iterable[DataDirectory]) -> None:
    """UsageError if two are of different clusters: partitions of one name are no replicas of each other there."""
    known: tuple[DataDirectory, str] | None = None
    for directory in directories:
        cluster_id = directory.cluster_id()
        if cluster_id is None:
            continue
        if known is not None and cluster_id != known[1]:
            raise UsageError(
                f"{str(known[0].path)!r} is of the cluster {known[1]} and {str(directory.path)!r} of {cluster_id};"
                " name the directories of one cluster"
            )
        known = known or (directory, cluster_id)


def node_ids(directories: Iterable[DataDirectory]) -> list[int]:
    """The ids of all nodes that these directories are of, in their order."""
    numbers = (directory.node_id() for directory in directories)
    return list(dict.fromkeys(number for number in numbers if number is not None))
