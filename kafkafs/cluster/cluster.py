"""A cluster, as the topics tell it that it keeps for itself on these disks. One of these a mount, or a command.

`look` brings it up to date: every internal partition is scanned once and then followed. Later questions are answered as
of that time, or as of a named moment before it. All of it is for one thread at a time, which holds `lock`; but any
thread may call `replicas` and `progress.ends` whenever it likes.
"""

import threading
from collections.abc import Iterator, Sequence

from kafkafs.cluster.chosen_replicas import ChosenReplicas
from kafkafs.cluster.connect import Connect
from kafkafs.cluster.following import Following, Replay, until
from kafkafs.cluster.group_history import Histories
from kafkafs.cluster.groups import Groups
from kafkafs.cluster.image import Image
from kafkafs.cluster.metadata import AsOf, Metadata
from kafkafs.cluster.progress import GroupProgress
from kafkafs.cluster.topic_names import TopicNames
from kafkafs.cluster.transactional_ids import Producers, TransactionalIds
from kafkafs.disk.cached_value import CachedValue
from kafkafs.errors import UNREADABLE
from kafkafs.format.names import GROUPS_TOPIC, METADATA_LOG, PartitionName
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import ReadOptions


class Cluster:
    """See the module. A caller holds `lock` while it asks."""

    def __init__(self, directories: Sequence[DataDirectory], options: ReadOptions, until_ms: int | None = None) -> None:
        """`until_ms`: the time for which the state is wanted; None for now."""
        self.directories = tuple(directories)
        self.lock = threading.Lock()
        self._options = options
        self._until_ms = until_ms
        self._sources: dict[str, Following] = {}
        self._unread: dict[str, str] = {}  # by directory name, a sentence
        self._looked: CachedValue[bool] = CachedValue(options.log_fresh_s, options.clock)
        self.topics = TopicNames(self.directories)
        self.replicas = ChosenReplicas(self.directories, self.topics)
        self.progress = GroupProgress(self.replicas.of, options)
        self.groups = Groups(self.topics, Histories(options, until_ms, self.progress.ends_then), self._unread)
        self.transactions = TransactionalIds(self.topics, self._unread, is_as_of_then=until_ms is not None)
        self.producers = Producers(self.replicas, self.transactions)
        self.connect = Connect(options)

    @property
    def image(self) -> Image | None:
        """Topics, brokers and settings; None if no metadata log is here, or it cannot be understood."""
        return self.topics.image

    @property
    def as_of(self) -> AsOf | None:
        """How far the metadata log was read."""
        return self.topics.metadata.as_of if self.topics.metadata else None

    def look(self) -> None:
        """Brings all up to date, unless a look has begun a moment ago: one command asks several times."""
        if not self._looked.fresh():
            begun = self._options.clock()
            self._look()
            self._looked.store(True, fresh_until=begun + self._options.log_fresh_s)

    def _look(self) -> None:
        names = self.replicas.source_names()
        for name in [*self._sources]:
            if name not in names:
                self._forget(name)
        self._unread.clear()
        for name, parsed in names.items():
            chosen = self.replicas.source(name)
            if chosen is None:
                continue
            known = self._sources.get(name)
            if known is None or known.partition is not chosen:
                known = self._sources[name] = Following(chosen, self._replay(parsed, chosen), self._options)
            try:
                known.catch_up()
            except UNREADABLE as error:
                self._unread[name] = f"{name} cannot be read: {error}"

    def _replay(self, name: PartitionName, partition: Partition) -> Replay:
        if name.directory == METADATA_LOG:
            self.topics.metadata = Metadata(partition, self._options, until_ms=self._until_ms)
            return until(self._until_ms, self.topics.metadata)
        if name.topic == GROUPS_TOPIC:
            return until(self._until_ms, self.groups.add(name.partition, partition).values)
        return until(self._until_ms, self.transactions.add(name.partition).values)

    def _forget(self, name: str) -> None:
        partition = self._sources.pop(name).partition.name
        if name == METADATA_LOG:
            self.topics.metadata = None
        elif partition.topic == GROUPS_TOPIC:
            self.groups.remove(partition.partition)
        else:
            self.transactions.remove(partition.partition)

    def problems(self) -> Iterator[str]:
        """All that could not be read, in sentences."""
        yield from (said for name, said in self._unread.items() if not name.startswith(f"{GROUPS_TOPIC}-"))
        if self.topics.metadata is not None:
            yield from self.topics.metadata.problems
        yield from self.groups.problems()
        yield from self.transactions.problems()
