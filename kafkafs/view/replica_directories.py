"""Partitions by the names that the root shows, and `.replicas/`: every copy of them, by its data directory.

Several data directories may have the same partition. The root shows it once, as the replica that got furthest
(`log.replicas`); of equal ones the first directory's, but an equal one takes no other one's place: between brokers that
run, the furthest would change with every batch. Directories of several clusters have no replicas of each other: there
the root shows the partition of the first cluster.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kafkafs.disk.blocking import may_block
from kafkafs.disk.cached_value import same_objects
from kafkafs.errors import UNREADABLE, NotFound
from kafkafs.format.names import PartitionName, parse_partition_name
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.partition import Partition, progress
from kafkafs.view.disks import DiskView
from kafkafs.view.node import KEEP_S, Attributes, Entry, Node

REPLICAS = ".replicas"


class ReplicaPlace(NamedTuple):
    """A partition's directory: the number of its data directory, from 1 on as they were given, and its name there."""

    number: int
    disk: DiskView
    name: str

    @property
    def directory(self) -> DataDirectory:
        """The data directory."""
        return self.disk.directory


Places = Mapping[str, Sequence[ReplicaPlace]]
"""By name the directories that have it, of one cluster, in the order in which the data directories were given."""


class ShownReplica(NamedTuple):
    """One replica: the path below the root that shows it, and how far it got (see `progress`; None: its disk hangs)."""

    shown_as: str
    directory: DataDirectory
    reached: tuple[int, int] | None
    is_chosen: bool


class PartitionNames:
    """The partitions of all data directories by name. Any thread may ask."""

    def __init__(self, disks: Sequence[DiskView]) -> None:
        self._disks = disks
        self._clusters = [disk.directory.cluster_id() if len(disks) > 1 else None for disk in disks]
        self._lock = threading.Lock()
        self._all: dict[str, list[ReplicaPlace]] = {}
        self._shown: dict[str, Sequence[ReplicaPlace]] = {}
        self._of: list[dict[str, PartitionName]] = []
        self._chosen: dict[Sequence[ReplicaPlace], ReplicaPlace] = {}

    def shown(self) -> Places:
        """The partitions that the root lists, each with its replicas; the same object until one comes or goes."""
        self._look()
        return self._shown

    @property
    def repeated(self) -> int:
        """How many partitions are in more than one data directory."""
        self._look()
        return sum(len(places) > 1 for places in self._all.values())

    def _look(self) -> None:
        names = [disk.known().names for disk in self._disks]
        with self._lock:
            if same_objects(names, self._of):
                return
            found: dict[str, list[ReplicaPlace]] = {}
            for number, (disk, here) in enumerate(zip(self._disks, names, strict=True), 1):
                for name in here:
                    found.setdefault(name, []).append(ReplicaPlace(number, disk, name))
            self._all = found
            self._shown = {name: self._of_one_cluster(places) for name, places in found.items()}
            self._of = names
            known = set(self._shown.values())
            self._chosen = {places: chosen for places, chosen in self._chosen.items() if places in known}

    def _of_one_cluster(self, places: Sequence[ReplicaPlace], own: str | None = None) -> tuple[ReplicaPlace, ...]:
        """The replicas of one cluster: `own`, or the first cluster that a replica names."""
        if len(places) < 2:
            return tuple(places)
        cluster = own or next(filter(None, map(self.cluster, places)), None)
        return tuple(place for place in places if self.cluster(place) in (None, cluster))

    def cluster(self, place: ReplicaPlace) -> str | None:
        """The cluster that it belongs to, if several data directories are shown."""
        return self._clusters[place.number - 1]

    def chosen(self, name: str) -> ReplicaPlace:
        """The replica that the root shows under a name; NotFound if no directory has the name by now."""
        places = self.shown().get(name)
        if places is None:
            raise NotFound(f"there is no partition {name!r}")
        return self._choose(places)[0]

    def _choose(self, places: Sequence[ReplicaPlace]) -> tuple[ReplicaPlace, Sequence[tuple[int, int] | None]]:
        """The furthest of them, and how far each got. Set-aside directories of one name are never compared."""
        first = parse_partition_name(places[0].name)
        if len(places) == 1 or (first is not None and first.mark):
            return places[0], []
        may_block()
        reached = [place.disk.ask(lambda place=place: _progress(place)) for place in places]  # type: ignore[misc]
        furthest = max((each for each in reached if each is not None), default=None)
        best = [place for place, each in zip(places, reached, strict=True) if each == furthest]
        before = self._chosen.get(places)
        chosen = before if before in best else best[0]
        self._chosen[places] = chosen
        return chosen, reached

    def replicas(self, own: ReplicaPlace) -> Sequence[ShownReplica]:
        """All replicas of a partition, of its cluster. A set-aside directory is not in the list, but gets it."""
        self._look()
        parsed = parse_partition_name(own.name)
        plain = own.name if parsed is None else f"{parsed.topic}-{parsed.partition}"
        places = self._of_one_cluster(self._all.get(plain, ()), self.cluster(own))
        if not places:
            return ()
        shown = self._shown.get(plain)
        chosen, reached = self._choose(shown if shown == places else places)
        reached = reached or [place.disk.ask(lambda place=place: _progress(place)) for place in places]  # type: ignore[misc]
        return [
            ShownReplica(self.path_of(place), place.directory, each, place == chosen)
            for place, each in zip(places, reached, strict=True)
        ]

    def path_of(self, place: ReplicaPlace) -> str:
        """The path below the root that shows this directory, whichever replica is chosen."""
        return f"{REPLICAS}/{place.number}/{place.name}" if len(self._all.get(place.name, ())) > 1 else place.name

    def path_of_partition(self, partition: Partition) -> str | None:
        """The path of that partition, by the plain name if it is chosen; None if it has gone."""
        name = partition.name.directory
        self._look()
        for place in self._all.get(name, ()):
            if place.directory.root is partition.root:
                return name if self.chosen(name) == place else self.path_of(place)
        return None


def _progress(place: ReplicaPlace) -> tuple[int, int]:
    try:
        return progress(place.directory.partition(place.name))
    except UNREADABLE:
        return -2, -1


class ReplicasDirectory:
    """`.replicas/`: a directory for each data directory, by its number on the command line."""

    lane = ""

    def __init__(
        self,
        disks: Sequence[DiskView],
        attributes: Callable[[], Attributes],
        partition: Callable[[ReplicaPlace, str], Node],
    ) -> None:
        """`attributes` are those of the root; `partition` makes a partition's directory, shown by a path."""
        self._disks = disks
        self._partition = partition
        self.attributes = attributes

    def entries(self) -> Sequence[Entry]:
        """The numbers of all data directories."""
        return [Entry(str(number), "directory") for number in range(1, len(self._disks) + 1)]

    def child(self, name: str) -> Node:
        """The data directory of that number; NotFound for any other name."""
        for number, disk in enumerate(self._disks, 1):
            if name == str(number):
                return DiskDirectory(number, disk, self._partition)
        raise NotFound(f"{REPLICAS} has no {name!r}: {len(self._disks)} data directories are shown")


class DiskDirectory:
    """`.replicas/<n>/`: all partitions of one data directory."""

    def __init__(self, number: int, disk: DiskView, partition: Callable[[ReplicaPlace, str], Node]) -> None:
        self._number = number
        self._disk = disk
        self._partition = partition
        self.lane = disk.lane

    def attributes(self) -> Attributes:
        """The rights that the data directory grants, as last known if its disk hangs."""
        known = self._disk.last_known()
        granted = known.access
        return Attributes("directory", granted.mode, granted.uid, granted.gid, 0, known.mtime_ns, KEEP_S / 10)

    def entries(self) -> Sequence[Entry]:
        """The partitions, sorted."""
        return [Entry(name, "directory") for name in sorted(self._disk.known().names)]

    def child(self, name: str) -> Node:
        """The partition's directory; NotFound if the data directory has none of the name."""
        if name not in self._disk.known().names:
            raise NotFound(f"there is no partition {name!r} in {str(self._disk.directory.path)!r}")
        return self._partition(ReplicaPlace(self._number, self._disk, name), f"{REPLICAS}/{self._number}/{name}")
