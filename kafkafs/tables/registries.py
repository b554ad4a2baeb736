"""The registry in data directories, for the processes of a job."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from kafkafs.cluster.registry import Registry
from kafkafs.cluster.schema_topic import SchemaTopic
from kafkafs.disk.data_paths import data_path
from kafkafs.errors import UsageError
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.read_options import ReadOptions
from kafkafs.tables.locations import data_directories


def registry_of(paths: Sequence[str | Path]) -> Registry:
    """The registry in `_schemas-0` of these data directories now, of several replicas the furthest; UsageError."""
    return _topic(tuple(data_directories(map(data_path, paths)))).registry(now=True)


def registry_with_schemas(paths: Sequence[str | Path]) -> Registry:
    """The schema registry of data directories; UsageError if there is none, or if it is empty."""
    found = registry_of(paths)
    if not len(found):
        raise UsageError("there is no schema: name the data directories that have _schemas-0 too")
    return found


@lru_cache(8)
def _topic(directories: tuple[DataDirectory, ...]) -> SchemaTopic:
    """The topic, read once in a process of Spark's and then followed."""
    return SchemaTopic(directories, ReadOptions())
