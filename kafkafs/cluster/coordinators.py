"""The content of one partition of a coordinator's topic: its groups with their offsets, or its transactional ids.

A group is read from its records when it is asked for; transactional ids are kept until one of their records changes.
"""

from collections.abc import Iterator

from kafkafs.cluster.following import Problems
from kafkafs.cluster.group_records import Commit, Group, Topics, read_commits, read_group
from kafkafs.cluster.last_values import LastValues
from kafkafs.cluster.row_lines import text_of
from kafkafs.cluster.transactions import Transaction, read_transaction
from kafkafs.format.messages.topic_records import InternalTopic
from kafkafs.format.names import GROUPS_TOPIC, TRANSACTIONS_TOPIC
from kafkafs.format.strings import java_hash

_Unreadable = dict[bytes, list[tuple[int, str]]]
"""By name the records that cannot be read: offset, and what is wrong."""


class GroupPartition:
    """One partition of `__consumer_offsets`."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.values = LastValues(InternalTopic.OFFSETS, f"{GROUPS_TOPIC}-{number}")
        self._unreadable: _Unreadable = {}  # of groups

    def names(self) -> list[bytes]:
        """The groups that are found here, sorted."""
        return self.values.kept.names()

    def group(self, name: bytes, topics: Topics) -> Group:
        """The group of that name."""
        return read_group(self.values.kept.of(name), topics, _not_reported)

    def groups(self, topics: Topics) -> Iterator[tuple[bytes, Group]]:
        """All groups, by name."""
        return ((name, read_group(kept, topics, _not_reported)) for name, kept in self.values.kept.by_name())

    def commits(self, name: bytes) -> list[Commit]:
        """The group's offsets."""
        return read_commits(self.values.kept.of(name), _not_reported)

    def problems(self, topics: Topics) -> list[str]:
        """The records that could not be read. Reads what has changed since the last time."""
        changed = self.values.changed()
        if changed is None:
            self._unreadable.clear()
            changed = self.values.kept.by_name()
        for name, kept in changed:
            said: list[tuple[int, str]] = []
            read_group(kept, topics, said.append)
            read_commits(kept, said.append)
            self._unreadable.pop(name, None)
            if said:
                self._unreadable[name] = said
        return [*self.values.sentences(), *_sentences(self.values.where, self._unreadable)]


def _not_reported(_: tuple[int, str]) -> None:
    """Do nothing: `problems` returns them."""


def _sentences(where: str, unreadable: _Unreadable) -> Problems:
    """Thousands of records with the same problem count as one, both for a first read and for a later one."""
    found = Problems()
    for offset, what in sorted(each for records in unreadable.values() for each in records):
        found.add_record(where, offset, what)
    return found


class TransactionPartition:
    """One partition of `__transaction_state`."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.values = LastValues(InternalTopic.TRANSACTIONS, f"{TRANSACTIONS_TOPIC}-{number}")
        self._read: dict[bytes, Transaction | None] = {}
        self._unreadable: _Unreadable = {}

    def transactions(self) -> list[Transaction]:
        """All transactional ids that are found here."""
        changed = self.values.changed()
        if changed is None:
            self._read.clear()
            self._unreadable.clear()
            changed = self.values.kept.by_name()
        for name, records in changed:
            self._read.pop(name, None)
            self._unreadable.pop(name, None)
            said: list[tuple[int, str]] = []
            for key, kept in records:
                self._read[name] = read_transaction(key, kept, said.append)
            if said:
                self._unreadable[name] = said
        return [each for each in self._read.values() if each is not None]

    def problems(self) -> list[str]:
        """The records that could not be read."""
        self.transactions()
        return [*self.values.sentences(), *_sentences(self.values.where, self._unreadable)]


def partition_for(name: bytes, partitions: int) -> int:
    """The partition of a coordinator's topic that holds all records of the group, or transactional id, of that name.
    Sources: String.hashCode, Utils.abs, partitionFor."""
    code = java_hash(text_of(name))
    return (0 if code == -(2**31) else abs(code)) % partitions
