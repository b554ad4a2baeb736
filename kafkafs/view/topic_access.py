"""The rights to read an internal topic's content: those of the users who may read all files of its partition.

`.cluster` shows what such topics tell, and a decoded view names schemas and fields that stand in `_schemas-0` only.
"""

from collections.abc import Callable

from kafkafs.disk.access import Access, common
from kafkafs.disk.blocking import may_block
from kafkafs.disk.cached_value import CachedValue
from kafkafs.errors import Denied, DiskError, NotFound, Vanished
from kafkafs.log.partition import Partition
from kafkafs.view.node import Attributes

GONE = (NotFound, Denied, DiskError, Vanished)
"""The errors of a partition that is deleted, or that nobody can read."""

_KEEP_S = 0.2
_EMPTY_SNAPSHOT = f"{0:020}-"  # the snapshot at offset 0 is empty


def partition_access(partition: Partition) -> tuple[Access, int]:
    """The rights to read all logs and snapshots of a partition, and the time at which the newest was written [ns]. One
    of GONE."""
    root, name = partition.root, partition.name.directory
    granted = [root.attributes_at_once(name)[1].for_entries_below()]
    newest = 0
    for file_name in partition.listing().names:
        if file_name.endswith((".log", ".checkpoint")) and not file_name.startswith(_EMPTY_SNAPSHOT):
            file = root.open_now(f"{name}/{file_name}")
            about = file.stat()
            granted.append(file.access(about))
            newest = max(newest, about.st_mtime_ns)
    return common([granted[-1], *granted[:-1]]), newest


class TopicAccess:
    """The rights that one partition grants, asked for some times a second. Any thread may ask."""

    def __init__(self, find: Callable[[], Partition | None], clock: Callable[[], float]) -> None:
        """`find` returns the partition; None if it does not exist."""
        self._find = find
        self._known: CachedValue[tuple[Access, ...]] = CachedValue(_KEEP_S, clock)

    def restricted(self, about: Attributes) -> Attributes:
        """Return `about` for users only who may read the partition too. Return it as it is if there is no partition."""
        known = self._known.fresh()
        if known is None:
            may_block()
            known = self._known.store(self._look())
        return about.granting(common([about.access, *known]))

    def _look(self) -> tuple[Access, ...]:
        """The known rights stay while the topic cannot be looked at, because its content is remembered as well."""
        try:
            partition = self._find()
            return () if partition is None else (partition_access(partition)[0],)
        except NotFound:
            return ()
        except GONE:
            return self._known.latest or ()
