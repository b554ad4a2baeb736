"""The data directories that are read together: one disk may have the metadata of another disk's tier."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol
from weakref import ref

from kafkafs.format.names import REMOTE_LOG_METADATA, PartitionName
from kafkafs.log.checkpoint_files import CheckpointFiles
from kafkafs.log.partition import Partition


class SiblingDirectory(Protocol):
    """A data directory, as far as the others ask it."""

    @property
    def checkpoints(self) -> CheckpointFiles:
        """The broker's checkpoint files there."""

    def names_on_disk(self) -> dict[str, PartitionName]:
        """The partition directories, by directory name."""

    def last_on_disk(self) -> dict[str, PartitionName]:
        """The partition directories, by directory name; those that were known before if the disk fails."""

    def partition(self, directory: str) -> Partition:
        """The partition in the directory of that name."""

    def topic_id_on_disk(self, directory: str) -> str | None:
        """The topic id by the partition's partition.metadata; None if it tells none."""


class DisksTogether:
    """The data directories that are read together. The references are weak, else none of the disks would ever be
    closed."""

    def __init__(self, disk: SiblingDirectory) -> None:
        """Read this disk alone, until `replace`."""
        self._disks = [ref(disk)]

    def replace(self, disks: Sequence[SiblingDirectory]) -> None:
        """Read these disks together from now on."""
        self._disks = [ref(disk) for disk in disks]

    def __iter__(self) -> Iterator[SiblingDirectory]:
        return filter(None, (held() for held in self._disks))

    def is_first(self, disk: SiblingDirectory) -> bool:
        """True if that disk answers for the tier that all of them have."""
        return self._disks[0]() is disk

    def names(self) -> dict[str, PartitionName]:
        """The partitions on all disks, by directory name; of a disk that fails, what was known before."""
        return {name: parsed for disk in self for name, parsed in disk.last_on_disk().items() if not parsed.mark}

    def topic_id(self, directories: Iterable[str]) -> str | None:
        """The topic id that the first of those partitions has which has one."""
        found = (disk.topic_id_on_disk(each) for each in directories for disk in [*self] if each in disk.last_on_disk())
        return next(filter(None, found), None)

    def topic_id_of(self, topic: str) -> str | None:
        """The id of a topic by its name, as a partition of it on one of the disks has it."""
        return self.topic_id(name for name, each in self.names().items() if each.topic == topic)

    def tier_metadata(self) -> list[Partition]:
        """The partitions of the tier's metadata topic."""
        return [
            disk.partition(directory)
            for disk in self
            for directory, name in disk.names_on_disk().items()
            if name.topic == REMOTE_LOG_METADATA and not name.mark
        ]
