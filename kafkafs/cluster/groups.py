"""The groups of a cluster, from all partitions of `__consumer_offsets` that are here."""

from collections.abc import Iterator, Mapping
from heapq import merge
from typing import NamedTuple

from kafkafs.cluster.coordinators import GroupPartition, partition_for
from kafkafs.cluster.group_history import Histories, History
from kafkafs.cluster.group_records import Commit, Group, Topics
from kafkafs.cluster.row_lines import file_name, named_by
from kafkafs.cluster.topic_names import TopicNames
from kafkafs.format.names import GROUPS_TOPIC
from kafkafs.log.partition import Partition


class FoundGroup(NamedTuple):
    """A group, and the partition of `__consumer_offsets` that it was found in.

    `stale`: it is not the group's own; None if nobody knows how many partitions the topic has.
    """

    name: bytes
    partition: int
    group: Group
    stale: bool | None


class _Source(NamedTuple):
    """A partition of `__consumer_offsets`: its groups, and the replica that they are read from."""

    groups: GroupPartition
    replica: Partition


class Groups:
    """See the module. Groups are read on demand, by the thread that holds the cluster's lock."""

    def __init__(self, names: TopicNames, histories: Histories, unread: Mapping[str, str]) -> None:
        """`unread`: sentences about partitions that could not be read, by directory name."""
        self._names = names
        self._topics = Topics(names.name_of, names.partition_count)
        self._histories = histories
        self._unread = unread
        self._sources: dict[int, _Source] = {}

    def add(self, number: int, replica: Partition) -> GroupPartition:
        """A partition that is read from that replica from now on, empty as yet."""
        made = GroupPartition(number)
        self._sources[number] = _Source(made, replica)
        return made

    def remove(self, number: int) -> None:
        """That partition is not here any more."""
        self._sources.pop(number, None)

    @property
    def partitions(self) -> list[int]:
        """The partitions of `__consumer_offsets` that are here."""
        return sorted(self._sources)

    def all(self) -> Iterator[FoundGroup]:
        """All groups, by name; one that is found in two partitions is there twice, its own partition first."""
        found = (self._found_in(each.groups) for each in self._sources.values())
        return merge(*found, key=lambda each: (each.name, each.stale is True, each.partition))

    def version(self) -> object:
        """Another one whenever `all` may say something else."""
        replayed = tuple((number, each.groups.values.version) for number, each in sorted(self._sources.items()))
        return replayed, self._names.version(), self._names.partition_count(GROUPS_TOPIC)

    def _found_in(self, partition: GroupPartition) -> Iterator[FoundGroup]:
        for name, group in partition.groups(self._topics):
            yield FoundGroup(name, partition.number, group, self._is_stale(name, partition.number))

    def at(self, path: str) -> FoundGroup | None:
        """The group whose directory is called that, as its own partition knows it if that has it; None if there is
        none."""
        name = named_by(path)
        if name is None:
            return None
        there = [number for number, each in self._sources.items() if each.groups.values.kept.has(name)]
        if not there:
            return None
        number = min(there, key=lambda each: (self._is_stale(name, each), each))
        group = self._sources[number].groups.group(name, self._topics)
        return FoundGroup(name, number, group, self._is_stale(name, number))

    def paths(self) -> list[str]:
        """The names of the groups' directories, in order."""
        names = {name for each in self._sources.values() for name in each.groups.names()}
        return sorted(path for path in map(file_name, names) if path is not None)

    def history_source(self, name: bytes) -> Partition | None:
        """The partition that has records about that group, which may be deleted; None without any."""
        there = [number for number, each in self._sources.items() if each.groups.values.kept.had(name)]
        number = min(there, key=lambda each: (self._is_stale(name, each) is True, each), default=None)
        return None if number is None else self._sources[number].replica

    def history(self, name: bytes) -> History | None:
        """Each record about that group that is left, though the group may be deleted; None without any."""
        partition = self.history_source(name)
        return None if partition is None else self._histories.of(name, partition)

    def commits(self, found: FoundGroup) -> list[Commit]:
        """The offsets of a group, as they stand where it was found."""
        return self._sources[found.partition].groups.commits(found.name)

    def _is_stale(self, name: bytes, number: int) -> bool | None:
        count = self._names.partition_count(GROUPS_TOPIC)
        return partition_for(name, count) != number if count else None

    def problems(self) -> Iterator[str]:
        """Sentences about groups and offsets that could not be read, and are left out."""
        yield from (said for name, said in self._unread.items() if name.startswith(f"{GROUPS_TOPIC}-"))
        for _, source in sorted(self._sources.items()):
            yield from source.groups.problems(self._topics)
