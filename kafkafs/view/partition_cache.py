"""What a tree remembers of the partitions that were looked at last: few of them, see `resources`."""

from collections.abc import Sequence
from typing import NamedTuple

from kafkafs.disk.cached_value import CachedValue
from kafkafs.log.log import Log
from kafkafs.log.options import ReadOptions
from kafkafs.log.partition import Partition
from kafkafs.log.segment import Segment
from kafkafs.search.partition_keys import PartitionKeys
from kafkafs.view.node import KEEP_S
from kafkafs.view.permissions import Access
from kafkafs.view.targets import LogSnapshot


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
