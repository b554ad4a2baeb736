"""What all views of one tree share: its options, and the caches and budgets that its readers have together.

One value for each tree, made by its root and handed down. Two trees in one process share no setting and no budget.
What they share is the process's own, and changes no answer: pools of buffers (`format.buffers`), the turn to
measure what unpacks to too much (`format.codecs`), and hints, each of one file system (`disk.page_cache`) or of one
state of one log (`log.batch_runs`).
"""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

from kafkafs.disk.budget import Budget
from kafkafs.disk.cached_value import CachedValue, LruCache, MadeOnce
from kafkafs.disk.prefetch import PrefetchBudget
from kafkafs.format.memory import MemoryBudget
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.log import Log
from kafkafs.log.meta_properties import telling
from kafkafs.log.options import ReadOptions
from kafkafs.log.partition import Partition
from kafkafs.log.segment import Segment
from kafkafs.search.partition_keys import KEY_MEMORY, PartitionKeys
from kafkafs.view.answer_cache import AnswerCache, Explained, RecordAnswer
from kafkafs.view.exact import ExactTexts
from kafkafs.view.made import MadeTexts
from kafkafs.view.node import KEEP_S
from kafkafs.view.permissions import Access
from kafkafs.view.streams import TextBudget
from kafkafs.view.targets import LogSnapshot
from kafkafs.view.topic_access import TopicAccess

if TYPE_CHECKING:
    from kafkafs.cluster.schema_topic import SchemaTopic


WARNINGS = 64
"""How many of the last ones in the log are remembered, not to be given again."""


class SharedAccess(NamedTuple):
    """What the logs of so many segments grant together, and when the last was written; None where one has gone."""

    segments: Sequence[Segment]
    access: tuple[Access, int] | None


class PartitionCache:
    """What is remembered of one partition.

    `_snapshot` is written by any thread, at once and without a lock: two make one of the same log, and the later stays.
    """

    def __init__(self, partition: Partition, options: ReadOptions, keys: PartitionKeys) -> None:
        self.partition = partition
        self.keys = keys
        self.shared_access: CachedValue[SharedAccess] = CachedValue(KEEP_S, options.clock)
        self._options = options
        self._snapshot: LogSnapshot | None = None

    def snapshot_of(self, log: Log) -> LogSnapshot:
        """That log, seen through the options."""
        snapshot = self._snapshot
        if snapshot is None or snapshot.log is not log:
            snapshot = self._snapshot = LogSnapshot(log, self._options, self.partition.transactions, self.keys)
        return snapshot


class Resources:
    """See the module."""

    def __init__(self, options: ReadOptions, directories: Sequence[DataDirectory]) -> None:
        """`directories` are all that the tree shows."""
        self.options = options
        self.partitions: LruCache[PartitionCache] = LruCache()
        self.answers: AnswerCache[RecordAnswer] = AnswerCache()
        self.explanations: AnswerCache[Explained] = AnswerCache()
        self.prefetch = PrefetchBudget(options.clock)
        self.text = TextBudget(options.clock)
        self.exact = ExactTexts(options.clock)
        self.made = MadeTexts(options.exact)
        self.dumps: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()  # the files of each that is open
        self.keys = Budget(KEY_MEMORY, options.clock)
        self.warned: tuple[str, ...] = ()  # at most WARNINGS; a new one with each, as any thread may warn
        self._directories = directories
        self._schemas: MadeOnce[SchemaTopic] = MadeOnce()
        self._schema_access: MadeOnce[TopicAccess] = MadeOnce()
        if isinstance(options.memory, MemoryBudget):
            options.memory.reclaim_with(self._release_idle)

    def _release_idle(self) -> None:
        self.text.release_idle()
        self.exact.budget.release_idle()

    @property
    def schemas(self) -> "SchemaTopic":
        """The topic with all schemas on these disks; made, and imported, when it is first asked for."""
        return self._schemas.get(self._schema_topic)

    @property
    def schema_access(self) -> TopicAccess:
        """What that topic grants."""
        return self._schema_access.get(lambda: TopicAccess(self.schemas.partition, self.options.clock))

    def _schema_topic(self) -> "SchemaTopic":
        from kafkafs.cluster.schema_topic import SchemaTopic

        return SchemaTopic(telling(self._directories), self.options)
