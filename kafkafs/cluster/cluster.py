"""A cluster, as the topics tell it that it keeps for itself on these disks. One of these a mount, or a command.

`look` brings it up to date: every internal partition is scanned once and then followed. Later questions are answered as
of that time, or as of a named moment before it. All of it is for one thread at a time, which holds `lock`; but any
thread may call `replicas` and `progress.ends` whenever it likes.
"""

import threading
from collections.abc import Iterator, Sequence

from kafkafs.cluster.chosen_replicas import ChosenReplicas
from kafkafs.cluster.connect import Connect
from kafkafs.cluster.group_history import Histories
from kafkafs.cluster.groups import Groups
from kafkafs.cluster.image import Image
from kafkafs.cluster.metadata import AsOf
from kafkafs.cluster.progress import GroupProgress
from kafkafs.cluster.topic_names import TopicNames
from kafkafs.cluster.transactional_ids import Producers, TransactionalIds
from kafkafs.disk.cached_value import CachedValue
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.read_options import ReadOptions


class Cluster:
    """A cluster, as its internal topics on these disks tell it. A caller holds `lock` while it asks."""

    def __init__(self, directories: Sequence[DataDirectory], options: ReadOptions, until_ms: int | None = None) -> None:
        """`until_ms`: the time for which the state is wanted; None for now."""
        self.directories = tuple(directories)
        self.lock = threading.Lock()
        self._options = options
        self._looked: CachedValue[bool] = CachedValue(options.log_fresh_s, options.clock)
        self.topics = TopicNames(self.directories, options, until_ms)
        self.replicas = ChosenReplicas(self.directories, self.topics)
        self.progress = GroupProgress(self.replicas.of, options)
        self.groups = Groups(self.topics, Histories(options, until_ms, self.progress.ends_then), options, until_ms)
        self.transactions = TransactionalIds(self.topics, options, until_ms)
        self.producers = Producers(self.replicas, self.transactions)
        self.connect = Connect(self.replicas, options)

    @property
    def image(self) -> Image | None:
        """Topics, brokers and settings; None if no metadata log is here, or it cannot be understood."""
        return self.topics.image

    @property
    def as_of(self) -> AsOf | None:
        """How far the metadata log was read."""
        return self.topics.as_of

    def look(self) -> None:
        """Brings all up to date, unless a look has begun a moment ago: one command asks several times."""
        if not self._looked.fresh():
            begun = self._options.clock()
            self.topics.look(self.replicas.metadata())
            self.groups.look(self.replicas)
            self.transactions.look(self.replicas)
            self._looked.store(True, fresh_until=begun + self._options.log_fresh_s)

    def problems(self) -> Iterator[str]:
        """All that could not be read, in sentences."""
        yield from self.topics.problems()
        yield from self.groups.problems()
        yield from self.transactions.problems()
