"""A coordinator's topic: those of its partitions that are here, each with its groups or its transactional ids.

A group is read from its records when it is asked for; transactional ids are kept until one of their records changes.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Generic, TypeVar

from kafkafs.cluster.chosen_replicas import ChosenReplicas
from kafkafs.cluster.following import Following, Problems, follow
from kafkafs.cluster.group_records import Commit, Group, TellProblem, Topics, read_commits, read_group
from kafkafs.cluster.kept_records import Kept
from kafkafs.cluster.last_values import LastValues
from kafkafs.cluster.row_lines import text_of
from kafkafs.cluster.topic_names import TopicNames
from kafkafs.cluster.topic_partitions import many
from kafkafs.cluster.transactions import Transaction, read_transaction
from kafkafs.format.messages.topic_records import InternalTopic
from kafkafs.format.names import GROUPS_TOPIC, TRANSACTIONS_TOPIC
from kafkafs.format.strings import java_hash
from kafkafs.log.read_options import ReadOptions

Found = TypeVar("Found")


class _Partition(LastValues, Generic[Found]):
    """One partition, and what its records were read as."""

    def __init__(self, topic: InternalTopic, where: str) -> None:
        super().__init__(topic, where)
        self._found: dict[bytes, Found] = {}
        self._unreadable: dict[bytes, list[tuple[int, str]]] = {}  # offset, and what is wrong

    @abstractmethod
    def _read(self, kept: list[Kept], problem: TellProblem) -> Found | None:
        """The result for one name, decoded from its last records; None if they have none."""

    def _current(self) -> Mapping[bytes, Found]:
        """The results by name. Names of which something has changed since the last time are read again."""
        changed = self.changed()
        if changed is None:
            self._found.clear()
            self._unreadable.clear()
            changed = self.kept.by_name()
        for name, kept in changed:
            said: list[tuple[int, str]] = []
            found = self._read(kept, said.append)
            self._found.pop(name, None)
            self._unreadable.pop(name, None)
            if found is not None:
                self._found[name] = found
            if said:
                self._unreadable[name] = said
        return self._found

    def check(self) -> list[str]:
        """Sentences about all that cannot be read. Thousands of records with the same problem count as one, both for a
        first read and for a later one."""
        self._current()
        found = Problems()
        for offset, what in sorted(each for records in self._unreadable.values() for each in records):
            found.add_record(self.where, offset, what)
        return [*self.sentences(), *found]


class GroupPartition(_Partition[None]):
    """One partition of `__consumer_offsets`."""

    def __init__(self, number: int, topics: Topics) -> None:
        super().__init__(InternalTopic.OFFSETS, f"{GROUPS_TOPIC}-{number}")
        self._topics = topics

    def group(self, name: bytes) -> Group:
        """The group of that name."""
        return read_group(self.kept.of(name), self._topics)

    def groups(self) -> Iterator[tuple[bytes, Group]]:
        """All groups, by name."""
        return ((name, read_group(kept, self._topics)) for name, kept in self.kept.by_name())

    def commits(self, name: bytes) -> list[Commit]:
        """The group's offsets."""
        return read_commits(self.kept.of(name))

    def _read(self, kept: list[Kept], problem: TellProblem) -> None:
        read_group(kept, self._topics, problem)
        read_commits(kept, problem)


class TransactionPartition(_Partition[Transaction]):
    """One partition of `__transaction_state`."""

    def __init__(self, number: int) -> None:
        super().__init__(InternalTopic.TRANSACTIONS, f"{TRANSACTIONS_TOPIC}-{number}")

    def transactions(self) -> list[Transaction]:
        """All transactional ids that are found here."""
        return list(self._current().values())

    def _read(self, kept: list[Kept], problem: TellProblem) -> Transaction | None:
        """The transactional id of one name. The last record counts; only a newer Kafka writes several."""
        found = None
        for key, last in kept:
            found = read_transaction(key, last, problem)
        return found


Partition = TypeVar("Partition", GroupPartition, TransactionPartition)


class CoordinatorTopic(Generic[Partition]):
    """A coordinator's topic, with its partitions that are here. For the thread that holds the cluster's lock."""

    def __init__(
        self,
        topic: str,
        make: Callable[[int], Partition],
        names: TopicNames,
        options: ReadOptions,
        until_ms: int | None,
    ) -> None:
        """`make`: a partition of a number, without records. `until_ms`: the earlier time as of which they are wanted;
        None for now."""
        self.topic = topic
        self.names = names
        self.followed: dict[int, Following[Partition]] = {}
        self._make: Callable[[int], Partition] = make
        self._options = options
        self._until_ms = until_ms

    def look(self, replicas: ChosenReplicas) -> None:
        """Bring all partitions that are here up to date."""
        found = {}
        for replica in replicas.sources(self.topic):
            number = replica.name.partition
            made = partial(self._make, number)
            found[number] = follow(self.followed.get(number), replica, made, self._options, self._until_ms)
        self.followed = found
        for each in found.values():
            each.look()

    @property
    def partitions(self) -> list[int]:
        """The partitions that are here."""
        return sorted(self.followed)

    @property
    def count(self) -> int | None:
        """How many partitions the topic has; None if that is not known."""
        return self.names.partition_count(self.topic)

    def version(self) -> object:
        """A value that changes whenever records have come."""
        return tuple((number, each.replay.version) for number, each in sorted(self.followed.items()))

    def problems(self) -> Iterator[str]:
        """Sentences about partitions and records that could not be read, and are left out."""
        yield from (each.unread for _, each in sorted(self.followed.items()) if each.unread)
        for _, each in sorted(self.followed.items()):
            yield from each.replay.check()

    def missing(self) -> Iterator[str]:
        """Return a sentence about the partitions that are not on these disks."""
        here, count = self.partitions, self.count
        if not here and self.names.image is not None and count is None:
            yield f"the cluster has no topic {self.topic}"
        elif not here:
            yield f"no partition of {self.topic} is on these disks"
        elif count is not None and (others := sorted(set(range(count)) - set(here))):
            yield f"of {self.topic} {many(others)} of {count} {'are' if len(others) > 1 else 'is'} not on these disks"


def partition_for(name: bytes, partitions: int) -> int:
    """The partition of a coordinator's topic that holds all records of the group, or transactional id, of that name.
    Sources: String.hashCode, Utils.abs, partitionFor."""
    code = java_hash(text_of(name))
    return (0 if code == -(2**31) else abs(code)) % partitions
