"""One partition as the mount shows it: its log seen through the mount's options, and the attributes its views share."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar
from weakref import ReferenceType, ref

from kafkafs.disk.access import Access, common
from kafkafs.disk.cached_value import CachedValue
from kafkafs.disk.data_file import DataFile
from kafkafs.errors import NoData, NotFound, Vanished
from kafkafs.format.batch import Batch
from kafkafs.log.health import LogAttributes, attributes_of_logs
from kafkafs.log.look import Look
from kafkafs.log.partition import Partition
from kafkafs.log.places import PointTarget
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.segment import Segment
from kafkafs.search.key_indexes import KeyIndexes
from kafkafs.search.partition_keys import PartitionKeys
from kafkafs.view.made import OVERHEAD
from kafkafs.view.missing_partitions import MissingPartitions
from kafkafs.view.node import KEEP_S, Attributes, BytesContent
from kafkafs.view.replica_directories import ReplicaPlace, ShownReplica
from kafkafs.view.resources import Resources

_MANY = 16
"""Logs of a view from which on they are looked at together: before, most are open already."""

_NS_PER_MS = 1_000_000
_MAX_MS = (2**63 - 1) // _NS_PER_MS
Answer = TypeVar("Answer")


class SharedAccess(NamedTuple):
    """The rights that the logs of these segments grant together, and the time at which the last one was written. None
    if one is not there as it was listed."""

    segments: Sequence[Segment]
    granted: LogAttributes | None


class PartitionCache:
    """The facts about one partition that its views remember."""

    def __init__(self, options: ReadOptions, keys: PartitionKeys) -> None:
        self.keys = keys
        self.shared_access: CachedValue[SharedAccess] = CachedValue(KEEP_S, options.clock)


class PartitionView:
    """One partition as the mount shows it. There is one for each partition directory, under the name that the mount
    shows it by.

    The kernel may hold thousands of them, so a view itself remembers next to nothing.
    """

    def __init__(
        self,
        place: ReplicaPlace,
        shown_as: str,
        resources: Resources,
        find_replicas: Callable[[], Sequence[ShownReplica]],
        missing: MissingPartitions,
    ) -> None:
        """`find_replicas` finds where the same partition is, here among them; `missing`, which partitions of its
        topic are not here."""
        self.data_directory = place.directory
        self.shown_as = shown_as
        self.key = os.path.join(place.directory.path, place.name)  # no other replica of the tree has it
        self.resources = resources
        self.options = options = resources.options
        self.find_replicas = find_replicas
        self.missing = missing
        self._name = place.name
        # the last one, weakly: a view keeps none alive. Saves 4 of 33 us of a stat through a mount
        self._partition: CachedValue[ReferenceType[Partition]] = CachedValue(0.0, options.clock)
        self._directory: CachedValue[Attributes] = CachedValue(KEEP_S / 4, options.clock)

    @property
    def partition(self) -> Partition:
        """The partition that has the directory's name now."""
        known = self._partition.fresh()
        partition = known() if known is not None else None
        if partition is None:
            partition = self.data_directory.partition(self._name)
            self._partition.store(ref(partition), fresh_until=self.data_directory.fresh_until)
        return partition

    def path_of(self, name: str) -> str:
        """Return the path of one of the partition's own files, from the data directory."""
        return f"{self.partition.name.directory}/{name}"

    @property
    def _cache(self) -> PartitionCache:
        caches, partition = self.resources.partitions, self.partition
        known: PartitionCache | None = caches.get(partition)
        return known or caches.setdefault(partition, PartitionCache(self.options, self._keys()))

    @property
    def keys(self) -> PartitionKeys:
        """The partition's keys, as far as readers have looked for them."""
        return self._cache.keys

    def _keys(self) -> PartitionKeys:
        directory, fresh_s = self.data_directory.indexes, self.options.indexes_fresh_s
        indexes = None if directory is None else KeyIndexes(directory, self._name, fresh_s)
        return PartitionKeys(self.resources.keys, indexes)

    @property
    def lane(self) -> str:
        """The disk that answers wait for (see `node.HasLane`)."""
        return os.fspath(self.data_directory.path)

    def ask(self, question: Callable[[Look], Answer]) -> Answer:
        """`question` asked of the log as it is; asked again where files were replaced meanwhile."""
        return self.partition.ask(question)

    def ask_open(self, question: Callable[[Look], Answer]) -> Answer:
        """As `ask`, for a reader that has begun: a partition that is gone is no missing name to it."""
        try:
            return self.ask(question)
        except NotFound as error:
            raise Vanished(f"{self.shown_as} was deleted while it was read") from error

    def directory_attributes(self) -> Attributes:
        """The attributes of the partition's directory, which its views' directories share."""
        known = self._directory.fresh()
        if known is None:
            about, access = self.data_directory.root.attributes_at_once(self.data_directory.place_of(self._name))
            uid, gid, mode = access.less_writing()
            found = Attributes("directory", mode, uid, gid, 0, about.st_mtime_ns, KEEP_S / 2)
            known = self._directory.store(found)
        return known

    def link_attributes(self) -> Attributes:
        """The attributes of a symbolic link in the partition's directory. It moves with the log."""
        about = self.directory_attributes()
        return Attributes("symlink", 0o777, about.uid, about.gid, 0, about.mtime_ns, 0.0)

    def point_attributes(self, log: DataFile, size: int, timestamp_ms: int, keep_s: float) -> Attributes:
        """The attributes of a view of one place in a log: as `file_attributes` has them."""
        about = log.stat_lately()
        return _of_file(log.access(about), about.st_mtime_ns, size, timestamp_ms, keep_s)

    def file_attributes(self, files: Iterable[DataFile], size: int, timestamp_ms: int, keep_s: float) -> Attributes:
        """The attributes of a view over `files`: what all of them grant. A negative timestamp: the last file's own.

        It holds no blocks: those are counted where the files themselves are shown, in `segments/`.
        Without files: those of the directory, less search.
        """
        granted, about = [], None
        for file in files:
            about = file.stat_lately()
            granted.append(file.access(about))
        if about is None:
            whole = self.directory_attributes()
            return _of_file(whole.access, whole.mtime_ns, 0, -1, keep_s)
        return _of_file(common(granted), about.st_mtime_ns, size, timestamp_ms, keep_s)

    def stream_attributes(self, look: Look, start: int, end: int | None) -> Attributes:
        """The attributes of a stream over the offsets [start, end), of no size; `None` for the log end."""
        between = [*look.log.segments_between(start, end)]
        timestamp_ms = look.log.indexed_timestamp(start, end, between)
        segments = between or look.log.growing()
        return self.attributes_over(segments, (segment.log() for segment in segments), timestamp_ms)

    def attributes_over(self, segments: Sequence[Segment], logs: Iterable[DataFile], timestamp_ms: int) -> Attributes:
        """The attributes of a stream over those segments, as `file_attributes` has them of their logs.

        If there are many logs, none stays open. `logs` opens them one by one if they are few or were replaced
        meanwhile. The first remote segment stands for all of them, because they are alike.
        """
        remote = [segment for segment in segments if segment.object is not None]
        if len(remote) > 1:
            segments = [remote[0], *(segment for segment in segments if segment.object is None)]
            logs = (segment.log() for segment in segments)
        shared = self._shared_access(segments) if len(segments) > _MANY else None
        if shared is None:
            return self.file_attributes(logs, 0, timestamp_ms, 0.0)
        return _of_file(shared.access, shared.mtime_ns, 0, timestamp_ms, 0.0)

    def note_logs(self, segments: Sequence[Segment], logs: Sequence[LogAttributes]) -> None:
        """A look at all of these logs has just met these: they are not asked again in a moment."""
        self._cache.shared_access.store(SharedAccess(segments, _granted_together(logs)))

    def _shared_access(self, segments: Sequence[Segment]) -> LogAttributes | None:
        """See `SharedAccess`. Known for a moment, as every tool asks for attributes several times."""
        shared = self._cache.shared_access
        known = shared.fresh()
        if known is None or known.segments != segments:
            known = shared.store(SharedAccess(segments, granted_by_all(segments)))
        return known.granted


def granted_by_all(segments: Sequence[Segment]) -> LogAttributes | None:
    """See `SharedAccess`."""
    logs = attributes_of_logs(segments)
    return None if logs is None else _granted_together(logs)


def _granted_together(logs: Sequence[LogAttributes]) -> LogAttributes:
    """Most are alike."""
    return LogAttributes(common([*dict.fromkeys(log.access for log in logs)]), logs[-1].mtime_ns)


def _of_file(granted: Access, changed_ns: int, size: int, timestamp_ms: int, keep_s: float) -> Attributes:
    uid, gid, mode = granted
    mtime_ns = timestamp_ms * _NS_PER_MS if 0 <= timestamp_ms <= _MAX_MS else changed_ns
    return Attributes("file", mode & 0o444, uid, gid, size, mtime_ns, keep_s)


@dataclass(slots=True, weakref_slot=True)
class PointAnswer:
    """A view's answer for a point, and the segment that has it. The answer is valid while the log has this segment."""

    segment: Segment
    timestamp: int  # -1: none
    data: bytes | None  # None for null
    batch: Batch | None = None  # the record's batch, in a view of one record
    offset: int = -1


class PointView:
    """The common part of the views of one point. An `open` gives the answer that `attributes` found: `latest` may lead
    elsewhere a moment later, and the size that is known be another's."""

    _keep_s = KEEP_S
    _last: ReferenceType[PointAnswer] | None = None

    def __init__(self, view: PartitionView, target: PointTarget) -> None:
        self._view = view
        self._target = target

    def _find(self, look: Look) -> PointAnswer:
        raise NotImplementedError

    def attributes(self) -> Attributes:
        """The exact size, for which the answer is made, 0 for null; the time of the record or batch, or the log's
        own."""
        return self._view.ask(self._attributes)

    def _attributes(self, look: Look) -> Attributes:
        found = self._find(look)
        size = len(found.data or b"")
        self._view.resources.answers.keep(found, size + OVERHEAD)
        self._last = ref(found)
        return self._view.point_attributes(found.segment.log(), size, found.timestamp, self._keep_s)

    def open(self) -> BytesContent:
        """The bytes that `attributes` has mostly made already, whole in memory. Raise NoData for null."""
        found = self._view.ask(self._last_answer)
        if found.data is None:
            raise NoData(f"{self._view.shown_as}: the record at offset {found.offset} has null there")
        return BytesContent(found.data)

    def _last_answer(self, look: Look) -> PointAnswer:
        """The answer that was returned last, if it is still in the log; without one, that as of the look."""
        known = self._last  # another thread may replace it meanwhile
        last = known() if known is not None else None
        if last is None or not look.log.has(last.segment):
            return self._find(look)
        last.segment.check_log()
        return last


class ViewDirectory:
    """The common part of a partition's directory and of those of its views: the same attributes, and the same disk."""

    def __init__(self, view: PartitionView) -> None:
        self.view = view

    @property
    def lane(self) -> str:
        """The disk of its partition."""
        return self.view.lane

    def attributes(self) -> Attributes:
        """The attributes of the partition's directory on disk, without write permission; NotFound if it is gone."""
        return self.view.directory_attributes()
