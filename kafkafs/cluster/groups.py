"""The groups of a cluster, from all partitions of `__consumer_offsets` that are here."""

from collections.abc import Callable, Iterator
from heapq import merge
from typing import NamedTuple

from kafkafs.cluster.coordinators import CoordinatorTopic, GroupPartition, partition_for
from kafkafs.cluster.group_history import Histories, History
from kafkafs.cluster.group_records import Commit, Group, Topics
from kafkafs.cluster.kept_records import KeptRecords
from kafkafs.cluster.row_lines import file_name, named_by
from kafkafs.cluster.topic_names import TopicNames
from kafkafs.format.names import GROUPS_TOPIC
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import ReadOptions


class FoundGroup(NamedTuple):
    """A group, and the partition of `__consumer_offsets` that it was found in.

    `stale`: it is not the group's own; None if nobody knows how many partitions the topic has.
    """

    name: bytes
    partition: int
    group: Group
    stale: bool | None


class Groups(CoordinatorTopic[GroupPartition]):
    """The groups of a cluster. Groups are read on demand, by the thread that holds the cluster's lock."""

    def __init__(self, names: TopicNames, histories: Histories, options: ReadOptions, until_ms: int | None) -> None:
        topics = Topics(names.name_of, names.partition_count)
        super().__init__(GROUPS_TOPIC, lambda number: GroupPartition(number, topics), names, options, until_ms)
        self._histories = histories

    def all(self) -> Iterator[FoundGroup]:
        """All groups, by name; one that is found in two partitions is there twice, its own partition first."""
        found = (self._found_in(number, each.replay) for number, each in self.followed.items())
        return merge(*found, key=lambda each: (each.name, each.stale is True, each.partition))

    def version(self) -> object:
        """A value that changes whenever `all` may return something else."""
        return super().version(), self.names.version(), self.count

    def _found_in(self, number: int, partition: GroupPartition) -> Iterator[FoundGroup]:
        for name, group in partition.groups():
            yield FoundGroup(name, number, group, self._is_stale(name, number))

    def at(self, path: str) -> FoundGroup | None:
        """The group whose directory is called that, as its own partition knows it if that has it; None if there is
        none."""
        name = named_by(path)
        number = None if name is None else self._number_of(name, KeptRecords.has)
        if name is None or number is None:
            return None
        group = self.followed[number].replay.group(name)
        return FoundGroup(name, number, group, self._is_stale(name, number))

    def paths(self) -> list[str]:
        """The names of the groups' directories, in order."""
        names = {name for each in self.followed.values() for name in each.replay.kept.names()}
        return sorted(path for path in map(file_name, names) if path is not None)

    def history_source(self, name: bytes) -> Partition | None:
        """The partition that has records about that group, which may be deleted; None without any."""
        number = self._number_of(name, KeptRecords.had)
        return None if number is None else self.followed[number].partition

    def _number_of(self, name: bytes, has: Callable[[KeptRecords, bytes], bool]) -> int | None:
        """The partition that has a name: its own one, if that does."""
        there = [number for number, each in self.followed.items() if has(each.replay.kept, name)]
        return min(there, key=lambda each: (self._is_stale(name, each) is True, each), default=None)

    def history(self, name: bytes) -> History | None:
        """Each record about that group that is left, though the group may be deleted; None without any."""
        partition = self.history_source(name)
        return None if partition is None else self._histories.of(name, partition)

    def commits(self, found: FoundGroup) -> list[Commit]:
        """The offsets of a group, as they stand where it was found."""
        return self.followed[found.partition].replay.commits(found.name)

    def _is_stale(self, name: bytes, number: int) -> bool | None:
        count = self.count
        return partition_for(name, count) != number if count else None
