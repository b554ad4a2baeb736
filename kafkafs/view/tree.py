"""The mount's root: a directory for each partition of all data directories, and its views; `.cluster`, `.topics`, and
`.replicas` if a partition is in several data directories."""

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from kafkafs.disk import store_session
from kafkafs.disk.access import common
from kafkafs.disk.blocking import has_time_slice, may_block, patience
from kafkafs.disk.cached_value import made_once
from kafkafs.errors import CorruptData, DiskError, NotFound, UsageError, Vanished
from kafkafs.format.names import parse_partition_name
from kafkafs.log.data_directory import DataDirectory, open_data_directory
from kafkafs.log.look import Look
from kafkafs.log.read_options import ReadOptions
from kafkafs.view.by_key import ByKey
from kafkafs.view.disks import DiskView
from kafkafs.view.node import KEEP_S, Attributes, DirectoryNode, Disk, Entry, Node
from kafkafs.view.ownership import Owner, owner_of
from kafkafs.view.partition_view import PartitionView, ViewDirectory
from kafkafs.view.queries import ByOffset, ByTime
from kafkafs.view.real_files import Segments
from kafkafs.view.replica_directories import REPLICAS, PartitionNames, ReplicaPlace, ReplicasDirectory
from kafkafs.view.resources import Resources
from kafkafs.view.streams import USUAL, TextLimits
from kafkafs.view.topic_directories import TierPartitionFinder, TopicsDirectory

if TYPE_CHECKING:
    from kafkafs.view.cluster_directory import ClusterDirectory


CLUSTER, TOPICS, INFO = ".cluster", ".topics", "info.json"


class Root:
    """All partitions, each once."""

    lane = ""

    def __init__(self, data_dirs: Sequence[Path], options: ReadOptions, limits: TextLimits = USUAL) -> None:
        """Open the data directories. UsageError names one that is no data directory, and says why."""
        self._directories = [open_data_directory(path, options) for path in data_dirs]
        for directory in self._directories:
            directory.read_together_with(self._directories)
        self._is_tiered = options.tiered is not None
        self._disks = [DiskView(directory, alone=len(data_dirs) == 1) for directory in self._directories]
        self.resources = Resources(options, self._directories, limits)
        self._names = PartitionNames(self._disks)
        lost = TierPartitionFinder(self._find_lost, self._look_for_lost)
        self._topics = TopicsDirectory(self._names, self._view, self.attributes, self._disks, self.resources, lost)
        self._replicas = ReplicasDirectory(
            self._disks, self.attributes, lambda place, path: PartitionDirectory(self._view_of(place, path))
        )

    def check_tier(self) -> None:
        """Raise UsageError if `-o tiered=` names something that is not a tier. If a tier does not answer, its readers
        get the error."""
        for directory in self._directories:
            directory.check_tier()

    @property
    def directories(self) -> Sequence[DataDirectory]:
        """The data directories, in the order they were named."""
        return self._directories

    @property
    def repeated(self) -> int:
        """How many partitions are in more than one data directory."""
        return self._names.repeated

    def attributes(self) -> Attributes:
        """The rights that all data directories grant together, and the newest time, as last known if a disk fails or
        hangs."""
        known = [disk.last_known() for disk in self._disks]
        granted = common([disk.access for disk in known])
        newest = max(disk.mtime_ns for disk in known)
        keep_s = KEEP_S / 2 if len(known) == 1 else KEEP_S / 10  # facts about several may be old
        return Attributes("directory", granted.mode, granted.uid, granted.gid, 0, newest, keep_s)

    def entries(self) -> Sequence[Entry]:
        """`.cluster` and what else is hidden, then all partitions."""
        self._look_for_lost()
        hidden = [CLUSTER, TOPICS, *([REPLICAS] if self.repeated else [])]
        return [Entry(name, "directory") for name in (*hidden, *sorted(self._names.shown()))]

    def child(self, name: str) -> Node:
        """A child that `entries` lists. For a partition, the replica that is chosen now. NotFound for any other
        name."""
        if name == CLUSTER:
            return self._cluster
        if name == REPLICAS and self.repeated:
            return self._replicas
        return self._topics if name == TOPICS else PartitionDirectory(self._view(name))

    def _view(self, name: str) -> PartitionView:
        if name not in self._names.shown() and parse_partition_name(name) is not None:
            self._find_lost()  # partitions of a bucket alone are unknown until somebody asks
        return self._view_of(self._names.chosen(name), name)

    def _look_for_lost(self) -> str:
        """Have the partitions found that only a tier has. If the tier does not tell them, a listing has the others, and
        a command hears of it at its end. Return why the tier does not tell them."""
        try:
            with patience(self.resources.options.glance_s):
                self._find_lost()
        except (DiskError, NotFound, UsageError, Vanished) as error:
            if not has_time_slice():
                store_session.current.report(str(error))
            return str(error)
        return ""

    def _find_lost(self) -> None:
        """Waits until partitions are known that only a tier has. Unanswered if it does not tell them."""
        if not self._is_tiered:
            return
        before = self._directories[0].names()
        self._directories[0].wait_for_tier_names()
        if self._directories[0].names() is not before:
            self._disks[0].look_again()

    def _view_of(self, place: ReplicaPlace, shown_as: str) -> PartitionView:
        find_replicas = functools.partial(self._names.replicas, place)
        return PartitionView(place, shown_as, self.resources, find_replicas, self._topics.missing)

    @made_once
    def _cluster(self) -> "ClusterDirectory":
        """Imported only when it is first asked for: that takes as long as all the rest of this tree."""
        from kafkafs.cluster.cluster import Cluster
        from kafkafs.view.cluster_directory import ClusterDirectory
        from kafkafs.view.cluster_sources import ClusterSources

        resources = self.resources
        cluster = Cluster(self._directories, resources.options)
        sources = ClusterSources(cluster, resources, self.attributes, self._names.path_of_partition)
        return ClusterDirectory(sources)

    def owner(self) -> Owner:
        """The owner of the data."""
        return owner_of(self._directories)

    def disks(self) -> Sequence[Disk]:
        """One for each data directory, in the order they were named."""
        return self._disks


_VIEWS: Mapping[str, Callable[[PartitionView], DirectoryNode]] = {
    "by-key": ByKey, "by-offset": ByOffset, "by-time": ByTime, "segments": Segments,
}  # fmt: skip


class PartitionDirectory(ViewDirectory):
    """One partition: its views, and two links to its ends."""

    def child(self, name: str) -> Node:
        """A view, or one of the links, which are there only where a record is visible; NotFound for all else."""
        if name in ("earliest", "latest"):
            link = EndLink(self.view, name)
            link.attributes()
            return link
        if name.startswith(("earliest.", "latest.")):  # a person adds the suffix to the link: as in `by-offset/`
            return ByOffset(self.view).child(name)
        if name == INFO:
            from kafkafs.view.info import Info  # with all that looks for damage: `ls` and `cat` mostly do without

            return Info(self.view)
        if name not in _VIEWS:
            raise NotFound(f"{name!r} is not a view of a partition")
        return _VIEWS[name](self.view)

    def entries(self) -> Sequence[Entry]:
        """The views; the links only where there are records, as far as this is known without reading a log."""
        entries = [Entry(INFO, "file"), *(Entry(name, "directory") for name in _VIEWS)]
        if self.view.partition.may_show_records():
            entries += [Entry("earliest", "symlink"), Entry("latest", "symlink")]
        return sorted(entries, key=lambda entry: entry.name)


class EndLink:
    """`earliest` or `latest`: a link to the offset of the first or last visible record."""

    def __init__(self, view: PartitionView, which: str) -> None:
        self._view = view
        self._which = which

    def attributes(self) -> Attributes:
        """The directory's owner and time, kept no moment: the link moves. NotFound if no record is visible, which
        the log's end decides: its start may be in a remote tier."""
        with suppress(CorruptData, DiskError):  # a record that cannot be read is one; `target` gives the error
            self._to("latest")
        return self._view.link_attributes()

    def target(self) -> str:
        """The path, relative to the partition's directory; NotFound if no record is visible."""
        with patience(self._view.options.glance_s):
            return self._to(self._which)

    def _to(self, which: str) -> str:
        def offset(look: Look) -> int | None:
            may_block()
            look.log.check_end()
            return look.visible.earliest() if which == "earliest" else look.visible.latest()

        found = self._view.ask(offset)
        if found is None:
            raise NotFound(f"{self._view.shown_as}: no record is visible")
        return f"by-offset/{found}"
