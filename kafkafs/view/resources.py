"""The common part of all views of one tree: its options, and the caches and budgets that its readers have together.

One value for each tree, made by its root and handed down. Two trees in one process share no setting and no budget. They
also share the process's own pools, which change no answer: pools of buffers (`format.memory`), and the turn to
measure what unpacks to too much (`format.codecs`).
"""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from kafkafs.disk import prefetch
from kafkafs.disk.budget import Budget
from kafkafs.disk.cached_value import made_once
from kafkafs.format.memory import MemoryBudget
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.meta_properties import of_one_cluster
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import ReadOptions
from kafkafs.search.partition_keys import KEY_MEMORY
from kafkafs.view import made
from kafkafs.view.exact import ExactTexts
from kafkafs.view.streams import USUAL, TextBudget, TextLimits
from kafkafs.view.topic_access import TopicAccess

if TYPE_CHECKING:
    from kafkafs.cluster.schema_topic import SchemaTopic


WARNINGS = 64
"""How many of the last ones in the log are remembered, not to be given again."""


class Resources:
    """The options, caches and budgets that all views of one tree share."""

    def __init__(self, options: ReadOptions, directories: Sequence[DataDirectory], limits: TextLimits = USUAL) -> None:
        """`directories` are all that the tree shows."""
        self.options = options
        self.partitions: WeakKeyDictionary[Partition, Any] = WeakKeyDictionary()  # a PartitionCache each
        self.answers = made.LastMade(made.ANSWERS)  # answers of points: see `partition_view.PointView`
        self.prefetch = Budget(prefetch.MEMORY, options.clock)
        self.text = TextBudget(options.clock, limits=limits)
        self.exact = ExactTexts(options.clock, limits)
        self.made = made.MadeTexts(options.exact)
        self.dumps: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()  # the files of each that is open
        self.keys = Budget(KEY_MEMORY, options.clock)
        self.warned: tuple[str, ...] = ()  # at most WARNINGS; a new one with each, as any thread may warn
        self._directories = directories
        if isinstance(options.memory, MemoryBudget):
            options.memory.reclaim_with(self._release_idle)

    def _release_idle(self) -> None:
        self.text.release_idle()
        self.exact.budget.release_idle()

    @made_once
    def schemas(self) -> "SchemaTopic":
        """The topic with all schemas on these disks; made, and imported, when it is first asked for."""
        from kafkafs.cluster.schema_topic import SchemaTopic

        return SchemaTopic(of_one_cluster(self._directories), self.options)

    @made_once
    def schema_access(self) -> TopicAccess:
        """The rights that the topic grants."""
        return TopicAccess(self.schemas.partition, self.options.clock)
