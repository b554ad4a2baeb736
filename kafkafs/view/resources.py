"""What all views of one tree share: its options, and the caches and budgets that its readers have together.

One value for each tree, made by its root and handed down. Nothing of it is a module's own: two trees in one process
have nothing in common but the processors.
"""

from typing import Any

from kafkafs.cluster.schema_topic import SchemaTopic
from kafkafs.disk.lru_cache import LruCache
from kafkafs.disk.prefetch import PrefetchBudget
from kafkafs.format.memory import MemoryBudget
from kafkafs.log.options import ReadOptions
from kafkafs.search.key_memory import KeyMemory
from kafkafs.view.answer_cache import AnswerCache
from kafkafs.view.text_budget import TextBudget


class Resources:
    """See the module. `partitions` and `answers` are typed where they are used (`partition_view`, `decoded`)."""

    def __init__(self, options: ReadOptions, schemas: SchemaTopic | None = None) -> None:
        """`schemas` is the topic with all schemas on these disks."""
        self.options = options
        self.schemas = schemas
        self.partitions: LruCache[Any] = LruCache()
        self.answers: AnswerCache[Any] = AnswerCache()
        self.prefetch = PrefetchBudget()
        self.text = TextBudget()
        self.keys = KeyMemory()
        if isinstance(options.memory, MemoryBudget):
            options.memory.reclaim_with(self.text.release_idle)
