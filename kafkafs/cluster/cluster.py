"""A cluster, as the topics tell it that it keeps for itself on these disks. One of these a mount, or a command.

`look` brings it up to date: every internal partition is scanned once and then followed. Later questions are answered as
of that time, or as of a named moment before it. All of it is for one thread at a time, which holds `lock`; but
`sources`, `partitions`, `partition` and `progress.ends` ask the data directories, and of what was found by `look` topic
ids alone, and any thread may call them whenever it likes.
"""

import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from heapq import merge
from typing import NamedTuple

from kafkafs.cluster.connect import Connect
from kafkafs.cluster.coordinators import GroupPartition, TransactionPartition, partition_for
from kafkafs.cluster.following import Following, Replay, until
from kafkafs.cluster.group_history import Histories, History
from kafkafs.cluster.group_records import Commit, Group, Topics
from kafkafs.cluster.image import Image
from kafkafs.cluster.metadata import AsOf, Metadata
from kafkafs.cluster.progress import GroupProgress
from kafkafs.cluster.row_lines import file_name, named_by
from kafkafs.cluster.transactions import Open, Owners, Producer, ProducerScans, Transaction
from kafkafs.disk.cached_value import CachedValue, same_objects
from kafkafs.errors import UNREADABLE
from kafkafs.format.checkpoints import parse_partition_metadata
from kafkafs.format.names import GROUPS_TOPIC, METADATA_LOG, PARTITION_METADATA, TRANSACTIONS_TOPIC, PartitionName
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.meta_properties import of_one_cluster
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.replicas import furthest, replicas


class FoundGroup(NamedTuple):
    """A group, and the partition of `__consumer_offsets` that it was found in.

    `stale`: it is not the group's own; None if nobody knows how many partitions the topic has.
    """

    name: bytes
    partition: int
    group: Group
    stale: bool | None


class Cluster:
    """See the module. A caller holds `lock` while it asks."""

    def __init__(self, directories: Sequence[DataDirectory], options: ReadOptions, until_ms: int | None = None) -> None:
        """`until_ms`: the time for which the state is wanted; None for now."""
        self._until_ms = until_ms
        self.directories = tuple(directories)
        self.lock = threading.Lock()
        self._options = options
        self._sources: dict[str, Following] = {}
        self._metadata: Metadata | None = None
        self._groups: dict[int, GroupPartition] = {}
        self._transactions: dict[int, TransactionPartition] = {}
        self._problems: dict[str, str] = {}
        self._producers = ProducerScans()
        self.progress = GroupProgress(self.partition, options)
        self.connect = Connect(options)
        self._histories = Histories(options, until_ms)
        self._looked: CachedValue[bool] = CachedValue(options.log_fresh_s, options.clock)
        self._topics = Topics(self.topic_name, self.partition_count)
        self._named: dict[str, str] = {}
        self._named_of: list[dict[str, PartitionName]] = []

    def look(self) -> None:
        """Brings all up to date, unless a look has begun a moment ago: one command asks several times."""
        if not self._looked.fresh():
            begun = self._options.clock()
            self._look()
            self._looked.store(True, fresh_until=begun + self._options.log_fresh_s)

    def _look(self) -> None:
        names = self._source_names()
        for name in [*self._sources]:
            if name not in names:
                self._forget(name)
        self._problems.clear()
        for name, parsed in names.items():
            chosen = furthest(replicas(self.state_directories, name))
            if chosen is None:
                continue
            known = self._sources.get(name)
            if known is None or known.partition is not chosen:
                known = self._sources[name] = Following(chosen, self._replay(parsed, chosen), self._options)
            try:
                known.catch_up()
            except UNREADABLE as error:
                self._problems[name] = f"{name} cannot be read: {error}"

    @cached_property
    def state_directories(self) -> Sequence[DataDirectory]:
        """The directories from which the state is read; empty if they are of several clusters."""
        return of_one_cluster(self.directories)

    def sources(self, topic: str) -> list[Partition]:
        """The partitions on these disks that tell about groups, transactions or metadata: those of that topic."""
        names = (name for name, parsed in self._source_names().items() if parsed.topic == topic)
        found = (furthest(replicas(self.state_directories, name)) for name in names)
        return [each for each in found if each is not None]

    def _source_names(self) -> dict[str, PartitionName]:
        found = {}
        for directory in self.state_directories:
            for name, parsed in directory.names().items():
                if not parsed.mark and (name == METADATA_LOG or parsed.topic in (GROUPS_TOPIC, TRANSACTIONS_TOPIC)):
                    found[name] = parsed
        return dict(sorted(found.items(), key=lambda item: (item[0] != METADATA_LOG, item[1].topic, item[1].partition)))

    def _replay(self, name: PartitionName, partition: Partition) -> Replay:
        if name.directory == METADATA_LOG:
            self._metadata = Metadata(partition, self._options, until_ms=self._until_ms)
            return until(self._until_ms, self._metadata)
        if name.topic == GROUPS_TOPIC:
            made = self._groups[name.partition] = GroupPartition(name.partition)
            return until(self._until_ms, made.values)
        kept = self._transactions[name.partition] = TransactionPartition(name.partition)
        return until(self._until_ms, kept.values)

    def _forget(self, name: str) -> None:
        partition = self._sources.pop(name).partition.name
        if name == METADATA_LOG:
            self._metadata = None
        elif partition.topic == GROUPS_TOPIC:
            self._groups.pop(partition.partition, None)
        else:
            self._transactions.pop(partition.partition, None)

    # Metadata

    @property
    def image(self) -> Image | None:
        """Topics, brokers and settings; None if no metadata log is here, or it cannot be understood."""
        return self._metadata.image if self._metadata else None

    @property
    def as_of(self) -> AsOf | None:
        """How far the metadata log was read."""
        return self._metadata.as_of if self._metadata else None

    def partition_count(self, topic: str) -> int | None:
        """How many partitions a topic has; None if that is not known."""
        image, topic_id = self.image, self._topic_id(topic)
        return len(image.topics[topic_id].partitions) if image and topic_id else None

    def _topic_id(self, topic: str) -> str | None:
        image = self.image
        return image.ids.get(topic) if image else None

    def topic_name(self, topic_id: str) -> str | None:
        """The topic's name, as the metadata or the directories on these disks tell it; None of one that was deleted
        where another has its name now."""
        image = self.image
        if image and topic_id in image.topics:
            return image.topics[topic_id].name
        name = self._ids_here().get(topic_id)
        return None if image and name in image.ids else name

    def _ids_here(self) -> dict[str, str]:
        """Names of topics by id, from `partition.metadata` of the directories here."""
        names = [directory.names() for directory in self.directories]
        if not same_objects(names, self._named_of):
            found: dict[str, str] = {}
            for directory, here in zip(self.directories, names, strict=True):
                for name in here:
                    if (topic_id := directory.topic_id(name)) is not None:
                        found.setdefault(topic_id, here[name].topic)
            self._named_of, self._named = names, found
        return self._named

    # Groups

    @property
    def group_partitions(self) -> list[int]:
        """The partitions of `__consumer_offsets` that are here."""
        return sorted(self._groups)

    def groups(self) -> Iterator[FoundGroup]:
        """All groups, by name; one that is found in two partitions is there twice, its own partition first.

        They are read on demand, by the thread that holds `lock`.
        """
        found = map(self._found_in, self._groups.values())
        return merge(*found, key=lambda each: (each.name, each.stale is True, each.partition))

    def groups_version(self) -> object:
        """Another one whenever `groups` may say something else."""
        replayed = tuple((number, each.values.version) for number, each in sorted(self._groups.items()))
        return replayed, self._naming(), self.partition_count(GROUPS_TOPIC)

    def _found_in(self, partition: GroupPartition) -> Iterator[FoundGroup]:
        for name, group in partition.groups(self._topics):
            yield FoundGroup(name, partition.number, group, self._is_stale(name, partition.number))

    def group(self, path: str) -> FoundGroup | None:
        """The group whose directory is called that, as its own partition knows it if that has it; None if there is
        none."""
        name = named_by(path)
        there = [] if name is None else [each for each in self._groups.values() if each.values.kept.has(name)]
        if name is None or not there:
            return None
        return self._found(name, min(there, key=lambda each: (self._is_stale(name, each.number), each.number)))

    def group_paths(self) -> list[str]:
        """The names of the groups' directories, in order."""
        names = {name for partition in self._groups.values() for name in partition.names()}
        return sorted(path for path in map(file_name, names) if path is not None)

    def history_source(self, name: bytes) -> Partition | None:
        """The partition that has records about that group, which may be deleted; None without any."""
        there = [each.number for each in self._groups.values() if each.values.kept.had(name)]
        number = min(there, key=lambda each: (self._is_stale(name, each) is True, each), default=None)
        return None if number is None else self._sources[f"{GROUPS_TOPIC}-{number}"].partition

    def history(self, name: bytes) -> History | None:
        """Each record about that group that is left, though the group may be deleted; None without any."""
        partition = self.history_source(name)
        return None if partition is None else self._histories.of(name, partition, self.progress.ends_then)

    def commits(self, found: FoundGroup) -> list[Commit]:
        """The offsets of a group, as they stand where it was found."""
        return self._groups[found.partition].commits(found.name)

    def _found(self, name: bytes, partition: GroupPartition) -> FoundGroup:
        group = partition.group(name, self._topics)
        return FoundGroup(name, partition.number, group, self._is_stale(name, partition.number))

    def _is_stale(self, name: bytes, number: int) -> bool | None:
        count = self.partition_count(GROUPS_TOPIC)
        return partition_for(name, count) != number if count else None

    def _naming(self) -> object:
        return (id(self.image), self.image.renamed) if self.image else None

    # Transactions

    @property
    def transaction_partitions(self) -> list[int]:
        """The partitions of `__transaction_state` that are here."""
        return sorted(self._transactions)

    def transactions(self) -> list[tuple[Transaction, int]]:
        """All transactional ids, each with the partition it was found in."""
        found = [(each, number) for number, one in self._transactions.items() for each in one.transactions()]
        return sorted(found, key=lambda item: (item[0].transactional_id, item[1]))

    def transactions_version(self) -> object:
        """Another one whenever `transactions` may say something else."""
        return tuple((number, each.values.version) for number, each in sorted(self._transactions.items()))

    def open_transactions(self) -> list[Open]:
        """The open transactions of all partitions on these disks, by topic and partition."""
        owners, partitions = self.owners(), self.partitions()
        self._producers.keep_only(partitions)
        return [
            owners.join(partition.name.topic, partition.name.partition, each)
            for partition in partitions
            for each in self._producers.open_in(partition)
        ]

    def producers(self) -> Iterator[Producer]:
        """The producers of all partitions on these disks, by topic, partition and id, as they are asked for."""
        owners, partitions = self.owners(), self.partitions()
        self._producers.keep_only(partitions)
        for partition in partitions:
            for state in self._producers.of(partition):
                owner = owners.owner(state.producer_id)
                name = partition.name
                yield Producer(name.topic, name.partition, state, None if owner is None else owner.transactional_id)

    def owners(self) -> Owners:
        """Return the holders of the open transactions."""
        count = self.partition_count(TRANSACTIONS_TOPIC)
        if count is None and self.image is not None and self._until_ms is not None:
            return Owners([], all_here=True)  # the topic was made later
        return Owners([each for each, _ in self.transactions()], count is not None and self._are_whole(count))

    def _are_whole(self, count: int) -> bool:
        """True if all partitions of the transactions' topic are here, and could be read from end to end."""
        if self.transaction_partitions != list(range(count)):
            return False
        names = (f"{TRANSACTIONS_TOPIC}-{number}" for number in range(count))
        return not any(name in self._problems for name in names) and not any(
            each.problems() for each in self._transactions.values()
        )

    # Partitions and problems

    def partitions(self) -> list[Partition]:
        """All partitions on these disks that clients may write, each as the replica that counts."""
        names = {
            name: (parsed.topic, parsed.partition)
            for directory in self.state_directories
            for name, parsed in directory.names().items()
            if not parsed.mark and name != METADATA_LOG
        }
        found = (self._counting(name, names[name][0]) for name in sorted(names, key=names.__getitem__))
        return [each for each in found if each is not None]

    def partition(self, topic: str, number: int) -> Partition | None:
        """The replica on these disks that counts; None if none is here."""
        return self._counting(f"{topic}-{number}", topic)

    def _counting(self, name: str, topic: str) -> Partition | None:
        """That of those which are of the topic that the metadata knows: a broker that was down when it was deleted and
        created again still has the former one."""
        found, topic_id = replicas(self.state_directories, name), self._topic_id(topic)
        best = furthest(found)
        if best is None or len(found) < 2 or topic_id is None or _is_of(best, topic_id):
            return best
        return furthest([each for each in found if _is_of(each, topic_id)]) or best

    def group_problems(self) -> Iterator[str]:
        """Sentences about groups and offsets that could not be read, and are left out."""
        yield from (said for name, said in self._problems.items() if name.startswith(f"{GROUPS_TOPIC}-"))
        for number in sorted(self._groups):
            yield from self._groups[number].problems(self._topics)

    def problems(self) -> Iterator[str]:
        """All that could not be read, in sentences."""
        yield from (said for name, said in self._problems.items() if not name.startswith(f"{GROUPS_TOPIC}-"))
        if self._metadata is not None:
            yield from self._metadata.problems
        yield from self.group_problems()
        for number in sorted(self._transactions):
            yield from self._transactions[number].problems()


def _is_of(replica: Partition, topic_id: str) -> bool:
    """True if the metadata do not name another topic than that one."""
    try:
        return parse_partition_metadata(replica.read_small_file(PARTITION_METADATA)) == topic_id
    except UNREADABLE:
        return True
