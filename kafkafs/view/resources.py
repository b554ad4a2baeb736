"""What all views of one tree share: its options, and the caches and budgets that its readers have together.

One value for each tree, made by its root and handed down. Two trees in one process share no setting and no budget.
What they share is the process's own, and changes no answer: pools of buffers (`format.memory`), the turn to
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
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.segment import Segment
from kafkafs.search.partition_keys import KEY_MEMORY, PartitionKeys
from kafkafs.view.exact import ExactTexts
from kafkafs.view.made import MadeTexts
from kafkafs.view.node import KEEP_S
from kafkafs.view.permissions import Access, TopicAccess
from kafkafs.view.streams import TextBudget
from kafkafs.view.targets import LogLook

if TYPE_CHECKING:
    from kafkafs.cluster.schema_topic import SchemaTopic
import threading
from collections import OrderedDict
from typing import Generic, TypeVar
from weakref import ReferenceType, ref

from kafkafs.format.batch import Batch

BUDGET = 16 << 20
"""Bytes of answers that are kept; one that is larger is made again."""

OVERHEAD = 2048
"""Bytes that an answer takes besides itself, more or less."""

Answer = TypeVar("Answer")


class RecordAnswer(NamedTuple):
    """The record that a point leads to, without the batch's bytes, and what a view shows of it; None for null."""

    segment: Segment
    batch: Batch
    offset: int
    timestamp: int
    shown: bytes | None


class Explained(NamedTuple):
    """How the batch of a point was found, as text; its timestamp is -1 where it has none."""

    segment: Segment
    timestamp: int
    text: bytes


class AnswerCache(Generic[Answer]):
    """What was answered last, for the `open` that follows a lookup: by what gave it and what of, the newest answers, up
    to `BUDGET` bytes together.

    A lookup has to know the size of what it names, so it has the content in hand; the open a moment later would make it
    once more. The nodes themselves hold nothing: a kernel with memory to spare keeps a million of them. (Without it,
    open, read and close of a `.jsonl` point in batches of 16 KB take 1.3 to 1.4 times as long.)
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: OrderedDict[object, tuple[ReferenceType[object], Answer, int]] = OrderedDict()
        self._size = 0

    def get(self, node: object, state: object) -> Answer | None:
        """What `node` answered while the log was in this `state`; None where that is forgotten."""
        with self._lock:
            known = self._answers.get(node)
            return known[1] if known is not None and known[0]() is state else None

    def put(self, node: object, state: object, answer: Answer, size: int) -> None:
        """Remember an answer of `size` bytes, and forget the oldest ones for it."""
        if size > BUDGET:
            return
        with self._lock:
            before = self._answers.pop(node, None)
            self._answers[node] = (ref(state), answer, size)
            self._size += size - (before[2] if before is not None else 0)
            while self._size > BUDGET:
                _, (_, _, forgotten) = self._answers.popitem(last=False)
                self._size -= forgotten


WARNINGS = 64
"""How many of the last ones in the log are remembered, not to be given again."""


class SharedAccess(NamedTuple):
    """What the logs of so many segments grant together, and when the last was written; None where one has gone."""

    segments: Sequence[Segment]
    access: tuple[Access, int] | None


class PartitionCache:
    """What is remembered of one partition.

    `_look` is written by any thread, at once and without a lock: two make one of the same log, and the later stays.
    """

    def __init__(self, partition: Partition, options: ReadOptions, keys: PartitionKeys) -> None:
        self.partition = partition
        self.keys = keys
        self.shared_access: CachedValue[SharedAccess] = CachedValue(KEEP_S, options.clock)
        self._options = options
        self._look: LogLook | None = None

    def look_at(self, log: Log) -> LogLook:
        """That log, seen through the options."""
        look = self._look
        if look is None or look.log is not log:
            look = self._look = LogLook(log, self._options, self.partition.transactions, self.keys)
        return look


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
