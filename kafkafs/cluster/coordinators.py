"""What one partition of a coordinator's topic tells: its groups with their offsets, or its transactional ids.

Each is read from its records when it is asked for, and kept until one of its records changes.
"""

from typing import NamedTuple

from kafkafs.cluster.groups import Group, Topics, read_group
from kafkafs.cluster.last_values import LastValues
from kafkafs.cluster.offsets import Commit, read_commits
from kafkafs.cluster.transactions import Transaction, read_transaction
from kafkafs.format.messages.records import InternalTopic

GROUPS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"


class _Read(NamedTuple):
    """A group, and what of its records could not be read."""

    group: Group
    problems: tuple[str, ...]


class GroupPartition:
    """One partition of `__consumer_offsets`."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.values = LastValues(InternalTopic.OFFSETS, f"{GROUPS_TOPIC}-{number}")
        self._read: dict[bytes, _Read] = {}
        self._state: object = None
        self._unchecked: set[bytes] = set()
        self._bad_commits: dict[bytes, tuple[str, ...]] = {}

    def names(self) -> set[bytes]:
        """The groups that are found here."""
        return self.values.names()

    def group(self, name: bytes, topics: Topics, state: object) -> Group:
        """The group of that name. `state` is another one when ids stand for other topics."""
        self._forget_changed(state)
        if name not in self._read:
            problems: list[str] = []
            group = read_group(self.values.of(name), topics, problems.append)
            self._read[name] = _Read(group, tuple(problems))
        return self._read[name].group

    def commits(self, name: bytes) -> list[Commit]:
        """The group's offsets."""
        return read_commits(self.values.of(name), lambda _: None)

    def problems(self, topics: Topics, state: object) -> list[str]:
        """What could not be read. Reads what has changed since the last time."""
        self._forget_changed(state)
        for name in self._unchecked:
            self.group(name, topics, state)
            problems: list[str] = []
            read_commits(self.values.of(name), problems.append)
            self._bad_commits.pop(name, None)
            if problems:
                self._bad_commits[name] = tuple(problems)
        self._unchecked.clear()
        found = [each for read in self._read.values() for each in read.problems]
        found += [each for bad in self._bad_commits.values() for each in bad]
        return [*self.values.sentences(), *(f"{self.values.where}: {each}" for each in found)]

    def _forget_changed(self, state: object) -> None:
        if state != self._state:
            self._read.clear()
            self._state = state
        if self.values.changed:
            for name in self.values.changed:
                self._read.pop(name, None)
                self._bad_commits.pop(name, None)
            self._unchecked |= self.values.changed
            self.values.changed.clear()


class TransactionPartition:
    """One partition of `__transaction_state`."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.values = LastValues(InternalTopic.TRANSACTIONS, f"{TRANSACTIONS_TOPIC}-{number}")
        self._read: dict[bytes, Transaction | None] = {}
        self._problems: dict[bytes, list[str]] = {}

    def transactions(self) -> list[Transaction]:
        """All transactional ids that are found here."""
        for name in self.values.changed:
            self._read.pop(name, None)
            self._problems.pop(name, None)
            problems: list[str] = []
            for key, kept in self.values.of(name):
                self._read[name] = read_transaction(key, kept, problems.append)
            if problems:
                self._problems[name] = problems
        self.values.changed.clear()
        return [each for each in self._read.values() if each is not None]

    def problems(self) -> list[str]:
        """What could not be read."""
        self.transactions()
        found = [f"{self.values.where}: {each}" for problems in self._problems.values() for each in problems]
        return [*self.values.sentences(), *found]
