"""Replicas: one partition in the data directories of several brokers, and which of them counts.

A controller that knows no in-sync replicas would elect the one that got furthest: the largest leader epoch of a last
batch, then the largest log end offset. Directories of deleted, stray and future replicas never count.
"""

from collections.abc import Iterable, Sequence

from kafkafs.errors import UNREADABLE, UsageError
from kafkafs.format.names import NODE_KEYS
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.partition import Partition, progress


def replicas(directories: Iterable[DataDirectory], name: str) -> list[Partition]:
    """The partition of that directory name in each data directory that has one, in their order."""
    return [directory.partition(name) for directory in directories if name in directory.names()]


def furthest(found: Sequence[Partition]) -> Partition | None:
    """The replica that counts, of equals the first; None of none. One that cannot be read counts least."""
    if len(found) < 2:
        return found[0] if found else None
    return max(found, key=progress)


def broker_of(directory: DataDirectory) -> tuple[str, str] | None:
    """The cluster's and the broker's id, from the directory's meta.properties; None if it has none."""
    try:
        properties = directory.meta_properties()
    except UNREADABLE:
        return None
    broker = next((properties[key] for key in NODE_KEYS if key in properties), None)
    return None if broker is None else (properties.get("cluster.id", ""), broker)


def of_one_broker(directories: Iterable[DataDirectory]) -> tuple[DataDirectory, DataDirectory] | None:
    """The first two directories that tell of the same broker, where such are among them: it has no partition twice."""
    known: dict[tuple[str, str], DataDirectory] = {}
    for directory in directories:
        broker = broker_of(directory)
        other = known.setdefault(broker, directory) if broker is not None else directory
        if other is not directory:
            return other, directory
    return None


def read_from(directories: Sequence[DataDirectory], name: str, refuse: bool = False) -> DataDirectory:
    """The data directory whose replica of a partition counts; each of them has one.

    UsageError if two are of one broker, since nothing shows which one is current, or if replicas are refused.
    """
    if len(directories) == 1:
        return directories[0]
    twins = of_one_broker(directories)
    if twins is None and refuse:
        twins = directories[0], directories[1]
    if twins is not None:
        one, other = (repr(str(directory.path)) for directory in twins)
        raise UsageError(f"{name} is both in {one} and in {other}; read one of them at a time")
    found = [directory.partition(name) for directory in directories]
    best = furthest(found)
    return next(directory for directory, each in zip(directories, found, strict=True) if each is best)
