"""`meta.properties` of data directories: which cluster and which node they belong to. Source: MetaProperties."""

from collections.abc import Iterable, Sequence

from kafkafs.errors import UNREADABLE, NotFound, UsageError
from kafkafs.format.java_properties import parse_properties
from kafkafs.format.names import META_PROPERTIES
from kafkafs.log.data_directory import DataDirectory

NODE_KEYS = ("node.id", "broker.id")
"""What a node's id is called: under KRaft, under ZooKeeper."""

_DIGITS = 10
LARGEST_NODE = 2**31 - 1
"""An id is a Java int of at most so many digits: what is none tells no node."""


def cluster_ids(directories: Iterable[DataDirectory]) -> tuple[list[str], list[str]]:
    """The ids of all clusters that these directories are of, and what is wrong with that, in sentences."""
    ids, problems = [], []
    for directory in directories:
        try:
            told = properties(directory).get("cluster.id")
        except NotFound:
            continue
        except UNREADABLE as error:
            problems.append(f"{META_PROPERTIES} of {str(directory.path)!r} cannot be read: {error}")
            continue
        if told is not None and told not in ids:
            ids.append(told)
    if len(ids) > 1:
        problems.append(f"these directories are of {len(ids)} clusters ({', '.join(ids)}): nothing is told of any")
    return ids, problems


def cluster_id(directory: DataDirectory) -> str | None:
    """The id of the cluster that the directory is of; None where nothing tells it."""
    try:
        return properties(directory).get("cluster.id")
    except UNREADABLE:
        return None


def telling(directories: Sequence[DataDirectory]) -> Sequence[DataDirectory]:
    """Those that tell of the cluster: all of them, but none where they are of several clusters."""
    return directories if len(cluster_ids(directories)[0]) < 2 else ()


def check_one_cluster(directories: Iterable[DataDirectory]) -> None:
    """UsageError where two are of different clusters: partitions of one name are no replicas of each other there."""
    known: tuple[DataDirectory, str] | None = None
    for directory in directories:
        told = cluster_id(directory)
        if told is None:
            continue
        if known is not None and told != known[1]:
            raise UsageError(
                f"{str(known[0].path)!r} is of the cluster {known[1]} and {str(directory.path)!r} of {told}; name the"
                " directories of one cluster"
            )
        known = known or (directory, told)


def node_ids(directories: Iterable[DataDirectory]) -> list[int]:
    """The ids of all nodes that these directories are of, in their order."""
    told = (node_id(directory) for directory in directories)
    return list(dict.fromkeys(number for number in told if number is not None))


def node_id(directory: DataDirectory) -> int | None:
    """The id of the node that the directory is of; None where nothing tells it."""
    try:
        told = properties(directory)
    except UNREADABLE:
        return None
    word = next((told[key] for key in NODE_KEYS if key in told), "")
    is_number = word.isascii() and word.isdigit() and len(word) <= _DIGITS
    return int(word) if is_number and int(word) <= LARGEST_NODE else None


def properties(directory: DataDirectory) -> dict[str, str]:
    """Parse `meta.properties`. Raise NotFound if there is none."""
    return parse_properties(directory.root.read_whole(META_PROPERTIES).decode("utf-8", "replace"))
