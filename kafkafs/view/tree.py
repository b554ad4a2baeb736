"""The mount's root: a directory for each partition of all data directories, and its views; `.cluster`, `.topics`."""

import functools
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kafkafs.disk.blocking import may_block
from kafkafs.disk.cached_value import MadeOnce, same_objects
from kafkafs.errors import NotFound
from kafkafs.format.names import parse_partition_name
from kafkafs.log.data_directory import DataDirectory, open_data_directory
from kafkafs.log.meta_properties import cluster_id
from kafkafs.log.options import ReadOptions
from kafkafs.log.ownership import Owner, owner_of
from kafkafs.log.partition import Partition
from kafkafs.view.by_key import ByKey
from kafkafs.view.disk_view import DiskView
from kafkafs.view.node import KEEP_S, Attributes, DirectoryNode, Disk, Entry, Node
from kafkafs.view.partition_view import PartitionView, ShownReplica
from kafkafs.view.permissions import common
from kafkafs.view.queries import ByOffset, ByTime
from kafkafs.view.resources import Resources
from kafkafs.view.segments import Segments
from kafkafs.view.targets import LogSnapshot
from kafkafs.view.topics import TopicsDirectory

if TYPE_CHECKING:
    from kafkafs.view.cluster import ClusterDirectory

CLUSTER, TOPICS, INFO = ".cluster", ".topics", "info.json"


class Root:
    """All partitions. One found in several data directories (JBOD) is shown from each: `t-0`, then `t-0~2`."""

    lane = ""

    def __init__(self, data_dirs: Sequence[Path], options: ReadOptions) -> None:
        """Opens the data directories; UsageError says which is none, and why."""
        self._directories = [open_data_directory(path, options) for path in data_dirs]
        for directory in self._directories:
            directory.stand_beside(self._directories)
        self._disks = [DiskView(directory, alone=len(data_dirs) == 1) for directory in self._directories]
        self._resources = Resources(options, self._directories)
        self._cluster: MadeOnce[ClusterDirectory] = MadeOnce()
        self._lock = threading.Lock()
        self._shown: dict[str, tuple[DataDirectory, str]] = {}
        self._shown_of: list[object] = []
        self._topics = TopicsDirectory(self._names, self._view, self.attributes)

    def check_tier(self) -> None:
        """UsageError where `-o tiered=` names what is no tier. That one does not answer is heard of by its readers."""
        for directory in self._directories:
            directory.check_tier()

    def attributes(self) -> Attributes:
        """What all data directories grant together, and the newest time; as last known where a disk fails or hangs."""
        known = [disk.last_known() for disk in self._disks]
        granted = common([disk.access for disk in known])
        newest = max(disk.mtime_ns for disk in known)
        keep_s = KEEP_S / 2 if len(known) == 1 else KEEP_S / 10  # of several, what is known may be old
        return Attributes("directory", granted.mode, granted.uid, granted.gid, 0, 0, newest, 2, keep_s)

    def entries(self) -> Sequence[Entry]:
        """`.cluster` and `.topics`, then all partitions by the names that they are shown by."""
        return [Entry(name, "directory", None) for name in (CLUSTER, TOPICS, *sorted(self._names()))]

    def child(self, name: str) -> Node:
        """`.cluster`, `.topics`, or a partition by the name that it is shown by; NotFound where no directory has it by
        now."""
        if name == CLUSTER:
            return self._cluster.get(self._cluster_directory)
        return self._topics if name == TOPICS else PartitionDirectory(self._view(name))

    def _view(self, name: str) -> PartitionView:
        place = self._names().get(name)
        if place is None:
            raise NotFound(f"there is no partition {name!r}")
        directory, real = place
        return PartitionView(directory, real, name, self._resources, functools.partial(self._replicas, directory, real))

    def _cluster_directory(self) -> "ClusterDirectory":
        """Imported only when it is first asked for: that takes as long as all the rest of this tree."""
        from kafkafs.cluster.cluster import Cluster
        from kafkafs.view.cluster import ClusterDirectory, Sources

        resources = self._resources
        cluster = Cluster(self._directories, resources.options)
        sources = Sources(cluster, resources, self.attributes, self._name_of)
        return ClusterDirectory(sources)

    def _replicas(self, own: DataDirectory, real: str) -> Sequence[ShownReplica]:
        """A partition in each data directory of its cluster that has it. What is deleted, stray or on its way counts
        for none."""
        name = parse_partition_name(real)
        plain = real if name is None else f"{name.topic}-{name.partition}"
        found = ((shown, place) for shown, place in self._names().items() if place[1] == plain)
        there = [(shown, directory) for shown, (directory, _) in found]
        if len(there) > 1:
            cluster = cluster_id(own)
            there = [each for each in there if None in (cluster, cluster_id(each[1])) or cluster_id(each[1]) == cluster]
        return [ShownReplica(shown, directory, directory.partition(plain)) for shown, directory in there]

    def _name_of(self, partition: Partition) -> str | None:
        """What a partition is shown as; None where it has gone."""
        shown, name = self._names(), partition.name.directory
        for candidate in (name, *(f"{name}~{number}" for number in range(2, len(self._directories) + 1))):
            place = shown.get(candidate)
            if place is not None and place[0].root is partition.root:
                return candidate
        return None

    def owner(self) -> Owner:
        """Whose data it is."""
        return owner_of(self._directories)

    def disks(self) -> Sequence[Disk]:
        """One for each data directory, in the order they were named."""
        return self._disks

    def _names(self) -> dict[str, tuple[DataDirectory, str]]:
        """The data directory and the real name behind each name shown."""
        names = [disk.known().names for disk in self._disks]
        with self._lock:
            if not same_objects(names, self._shown_of):
                shown: dict[str, tuple[DataDirectory, str]] = {}
                for directory, found in zip(self._directories, names, strict=True):
                    for name in found:
                        shown[_free_name(name, shown)] = (directory, name)
                self._shown, self._shown_of = shown, list(names)
                self._resources.partitions.keep_only(shown.__contains__)
            return self._shown


def _free_name(name: str, taken: dict[str, tuple[DataDirectory, str]]) -> str:
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name}~{number}"
    return free


class PartitionDirectory:
    """One partition: its views, and two links to its ends."""

    def __init__(self, view: PartitionView) -> None:
        self.view = view
        self._directories: dict[str, DirectoryNode] = {
            "by-key": ByKey(view),
            "by-offset": ByOffset(view),
            "by-time": ByTime(view),
            "segments": Segments(view),
        }

    @property
    def lane(self) -> str:
        """The disk of its data directory."""
        return self.view.lane

    def attributes(self) -> Attributes:
        """Those of the directory on disk, less writing; NotFound where it is gone."""
        return self.view.directory_attributes()

    def child(self, name: str) -> Node:
        """A view, or one of the links, which are there only where a record is visible; NotFound for all else."""
        if name in ("earliest", "latest"):
            link = EndLink(self.view, name)
            link.target()
            return link
        if name == INFO:
            from kafkafs.view.info import Info  # with all that looks for damage: `ls` and `cat` mostly do without

            return Info(self.view)
        if name not in self._directories:
            raise NotFound(f"{name!r} is none of a partition's views")
        return self._directories[name]

    def entries(self) -> Sequence[Entry]:
        """The views; the links only where there are records, as far as can be told without reading a log."""
        entries = [Entry(INFO, "file", None), *(Entry(name, "directory", None) for name in self._directories)]
        if self.view.partition.may_show_records():
            entries += [Entry("earliest", "symlink", None), Entry("latest", "symlink", None)]
        return sorted(entries, key=lambda entry: entry.name)


class EndLink:
    """`earliest` or `latest`: a link to the offset of the first or last visible record."""

    def __init__(self, view: PartitionView, which: str) -> None:
        self._view = view
        self._which = which

    def attributes(self) -> Attributes:
        """The directory's owner and time, kept no moment: the link moves. NotFound where no record is visible."""
        self.target()
        return self._view.link_attributes()

    def target(self) -> str:
        """The path, relative to the partition's directory; NotFound where no record is visible."""
        offset = self._view.ask(self._offset)
        if offset is None:
            raise NotFound(f"{self._view.shown_as}: no record is visible")
        return f"by-offset/{offset}"

    def _offset(self, snapshot: LogSnapshot) -> int | None:
        may_block()
        return snapshot.visible.earliest() if self._which == "earliest" else snapshot.visible.latest()
