"""The mount's root: a directory for each partition of all data directories, and its views; `.cluster`, `.topics`.

Several data directories are several disks, and the root belongs to all of them: one that hangs must not take the root
with it. So each is looked at by one thread at a time (`DiskView`): in a mount by the sweeper's, which a request waits
for only for a moment. While that hangs, or where it fails, what was last known counts. With a single data directory
nothing is gained by that, and a request for names is told of a failure; the root itself stays, and with it `.kafkafs`.
"""

import functools
import os
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from kafkafs.disk.access import Access, below_ancestors, common
from kafkafs.disk.ancestors import Ancestors
from kafkafs.disk.blocking import AT_A_GLANCE_S, may_block, patience
from kafkafs.disk.cached_value import CachedValue, MadeOnce, same_objects
from kafkafs.errors import Denied, DiskError, Exhausted, KafkafsError, NotFound, Vanished
from kafkafs.format.names import PartitionName, parse_partition_name
from kafkafs.log.data_directory import DataDirectory, open_data_directory
from kafkafs.log.look import Look
from kafkafs.log.meta_properties import cluster_id
from kafkafs.log.ownership import Owner, owner_of
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import ReadOptions
from kafkafs.view.by_key import ByKey
from kafkafs.view.node import (
    KEEP_S,
    Attributes,
    DirectoryNode,
    Disk,
    Entry,
    Node,
    Usage,
)
from kafkafs.view.partition_view import PartitionView, ShownReplica
from kafkafs.view.queries import ByOffset, ByTime
from kafkafs.view.real_files import Segments
from kafkafs.view.resources import Resources
from kafkafs.view.topic_directories import TopicsDirectory

if TYPE_CHECKING:
    from kafkafs.view.cluster_directory import ClusterDirectory


USAGE_S = 30.0  # how long it is good for: half a minute
MEASURE_S = 3.0  # how long it may take

AMONG_S = 0.9  # how long a look is good for beside others: two sweeps
WAIT_S = 0.25  # for the look of another thread, the first time that it takes long


@dataclass(frozen=True, slots=True)
class KnownPartitions:
    """The answer of one look."""

    names: dict[str, PartitionName]
    access: Access
    mtime_ns: int


class DiskView:
    """One data directory as the root shows it; `alone` where it is the only one."""

    def __init__(self, directory: DataDirectory, alone: bool) -> None:
        self.directory = directory
        self._ancestors = Ancestors(directory.path)
        self._alone = alone
        self._looking = threading.Lock()
        self._looked = threading.Condition()
        self._slow = False  # a look takes long; it is not waited for any more
        self._is_swept = False  # something looks again and again: beside others no request does so itself
        options = directory.options
        self._known: CachedValue[KnownPartitions] = CachedValue(
            options.names_fresh_s if alone else AMONG_S, options.clock
        )
        self._known.store(self._look())
        self._usage: CachedValue[Usage] = CachedValue(USAGE_S, options.clock)

    @property
    def _latest(self) -> KnownPartitions:
        return cast(KnownPartitions, self._known.latest)  # there always is one: the first look is made with the view

    def known(self) -> KnownPartitions:
        """What there is, at most as old as a look is good for unless the disk fails or hangs."""
        if self._known.fresh() is None and not self._slow:
            may_block()
            if self._is_swept and not self._alone:
                self._await_sweep()
            else:
                self.refresh()
        return self._latest

    def last_known(self) -> KnownPartitions:
        """The same, or what was known before the disk failed, or descriptors: the root stays, and `.kafkafs`."""
        with suppress(Denied, DiskError, Exhausted, NotFound, Vanished):
            return self.known()
        return self._latest

    def _await_sweep(self) -> None:
        with self._looked:
            self._slow = not self._looked.wait_for(lambda: self._known.fresh() is not None, WAIT_S)

    def refresh(self) -> None:
        """Looks again, unless another thread is at it and does not come back."""
        if not self._looking.acquire(timeout=WAIT_S):
            self._slow = True
            return
        try:
            if self._alone and self._known.fresh() is not None:
                return  # another thread has just looked
            self._known.store(self._look())
            self._slow = False
        except (KafkafsError, OSError):
            if self._alone:
                raise
            self._known.store(self._latest)  # it is asked again a moment later
        finally:
            self._looking.release()
            with self._looked:
                self._looked.notify_all()

    def sweep(self) -> None:
        """Looks again, and lets go of files that are not read. A mount calls it a few times a second."""
        self._is_swept = True
        self.refresh()
        self.directory.sweep()

    @property
    def lane(self) -> str:
        """The path of the data directory."""
        return os.fspath(self.directory.path)

    def usage(self) -> Usage:
        """The bytes and the files of all partitions, as the disk holds them; measured twice a minute at most."""
        known = self._usage.fresh()
        if known is None:
            may_block()
            known = self._usage.store(self._measure())
        return known

    @property
    def is_replaced(self) -> bool:
        """Whether another directory has taken the data directory's place."""
        return self.directory.is_replaced

    @property
    def known_usage(self) -> Usage | None:
        """What was measured last; None before that."""
        return self._usage.latest

    def _measure(self) -> Usage:
        """Of more partitions than can be looked at in time, the rest is taken to be like those that were."""
        blocks: list[int] = []
        names = self.directory.names()
        until, looked_at = time.monotonic() + MEASURE_S, 0
        for name in names:
            looked_at += 1
            with suppress(NotFound, Denied), self.directory.root.scan(name) as entries:
                blocks += [entry.stat(follow_symlinks=False).st_blocks for entry in entries if entry.is_file()]
            if time.monotonic() > until:
                break
        share = len(names) / looked_at if looked_at else 1
        return Usage(int(sum(blocks) * 512 * share), int(len(blocks) * share))

    def _look(self) -> KnownPartitions:
        about, own = self.directory.root.attributes_at_once()
        above = (access for _, access in self._ancestors.attributes())
        granted = below_ancestors(own.less_writing(), above)
        return KnownPartitions(self.directory.names(), granted, about.st_mtime_ns)


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
        from kafkafs.view.cluster_directory import ClusterDirectory, Sources

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
            link.attributes()
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
        """The directory's owner and time, kept no moment: the link moves. NotFound where no record is visible, which
        the log's end tells: its start may be in a remote tier."""
        self._to("latest")
        return self._view.link_attributes()

    def target(self) -> str:
        """The path, relative to the partition's directory; NotFound where no record is visible."""
        with patience(AT_A_GLANCE_S):
            return self._to(self._which)

    def _to(self, which: str) -> str:
        def offset(look: Look) -> int | None:
            """Of the log as it is."""
            may_block()
            return look.visible.earliest() if which == "earliest" else look.visible.latest()

        found = self._view.ask(offset)
        if found is None:
            raise NotFound(f"{self._view.shown_as}: no record is visible")
        return f"by-offset/{found}"
