"""The common part of the nodes of `.cluster/`: the cluster, asked under its lock, and the rights that its partitions
grant together."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeVar

from kafkafs.cluster.cluster import Cluster
from kafkafs.cluster.files import LISTS
from kafkafs.cluster.group_history import History
from kafkafs.cluster.row_lines import PackedLines
from kafkafs.cluster.schema_topic import SCHEMAS_TOPIC
from kafkafs.disk.access import Access, common
from kafkafs.disk.blocking import acquired, may_block
from kafkafs.disk.cached_value import CachedValue
from kafkafs.errors import NotFound
from kafkafs.format.names import GROUPS_TOPIC, METADATA_TOPIC
from kafkafs.log.partition import Partition
from kafkafs.view.made import MadeFile, MadeTexts
from kafkafs.view.node import KEEP_S, Attributes, Content, Kind
from kafkafs.view.resources import Resources
from kafkafs.view.streams import Stream
from kafkafs.view.topic_access import GONE, partition_access

Answer = TypeVar("Answer")
ShownAs = Callable[[Partition], str | None]
"""The name that the root of the mount shows a partition by."""


class Granted(NamedTuple):
    """The rights that partitions grant together, and the time at which the newest of their logs was written."""

    access: Access
    mtime_ns: int


class ClusterSources:
    """The cluster, and the rights of the partitions from which it is read."""

    def __init__(
        self, cluster: Cluster, resources: Resources, root: Callable[[], Attributes], shown_as: ShownAs
    ) -> None:
        self.cluster = cluster
        self.schemas = resources.schemas
        self.shown_as = shown_as
        self.budget = resources.text
        self.texts = resources.made
        self.exact = resources.options.exact
        self._root = root
        self._clock = resources.options.clock
        self._granted: dict[tuple[str, ...], CachedValue[Granted]] = {}
        self._answers: dict[str, tuple[object, PackedLines]] = {}  # each with the version that it is of

    def lines(self, name: str) -> PackedLines:
        """Return the lines of that file as of now. If another thread makes them, wait and return the same. NotFound if
        nothing is left to read them from."""
        return self.ask(lambda cluster: self._lines(cluster, name))

    def _lines(self, cluster: Cluster, name: str) -> PackedLines:
        version = LISTS[name].version(cluster)
        known = self._answers.get(name)
        if known is not None and version is not None and known[0] == version:
            return known[1]
        self._answers.pop(name, None)
        lines = LISTS[name].lines(cluster)
        if lines is None:
            raise NotFound(f".cluster/{name} has no source any more")
        made = PackedLines(lines)
        if version is not None:
            self._answers[name] = version, made
        return made

    def ask(self, question: Callable[[Cluster], Answer]) -> Answer:
        """`question` asked of the current cluster."""
        may_block()
        with acquired(self.cluster.lock):
            self.cluster.look()
            return question(self.cluster)

    def granted(self, topics: tuple[str, ...]) -> Granted:
        """The rights that the partitions of all those topics grant together. Without a topic: of all partitions."""
        cached = self._granted.setdefault(topics, CachedValue(KEEP_S / 2, self._clock))
        granted = cached.fresh()
        if granted is None:
            may_block()
            partitions = [partition for topic in topics for partition in self._partitions(topic)]
            granted = cached.store(self.of_all(partitions if topics else self.cluster.replicas.all()))
        return granted

    def _partitions(self, topic: str) -> list[Partition]:
        if topic not in (SCHEMAS_TOPIC, METADATA_TOPIC):
            return self.cluster.replicas.sources(topic)
        partition = self.schemas.partition() if topic == SCHEMAS_TOPIC else self.cluster.replicas.metadata()
        return [] if partition is None else [partition]

    def root(self) -> Granted:
        """The rights that the root of the mount grants."""
        about = self._root()
        return Granted(about.access, about.mtime_ns)

    def with_partitions(self, places: Iterable[tuple[str, int]]) -> Granted:
        """The rights for groups, and for these partitions, because the files show their ends as well."""
        granted = self.granted((GROUPS_TOPIC, METADATA_TOPIC))
        found = [self.cluster.replicas.of(*place) for place in sorted(set(places))]
        here = [partition for partition in found if partition is not None]
        if not here:
            return granted
        more = self.of_all(here)
        return Granted(common([granted.access, more.access]), max(granted.mtime_ns, more.mtime_ns))

    def of_all(self, partitions: Sequence[Partition]) -> Granted:
        """The rights that these partitions grant together."""
        granted, newest = [], 0
        for partition in partitions:
            with suppress(*GONE):
                one, mtime_ns = partition_access(partition)
                granted.append(one)
                newest = max(newest, mtime_ns)
        return Granted(common(granted), newest) if granted else self.root()


class ClusterNode:
    """The common part of all nodes here."""

    kind: Kind = "directory"

    def __init__(self, sources: ClusterSources, topics: tuple[str, ...]) -> None:
        self._sources = sources
        self._topics = topics

    def attributes(self) -> Attributes:
        """The rights that all its sources grant."""
        return self._attributes(self._sources.granted(self._topics))

    def _attributes(self, granted: Granted, kind: Kind | None = None) -> Attributes:
        """The attributes of a node of this kind, with the rights that are `granted`."""
        kind = self.kind if kind is None else kind
        uid, gid, mode = granted.access
        mode &= 0o444
        if kind == "directory":
            mode |= mode >> 2
        if kind == "symlink":
            return Attributes(kind, 0o777, uid, gid, 0, granted.mtime_ns, 0.0)
        return Attributes(kind, mode, uid, gid, 0, granted.mtime_ns, KEEP_S / 2)


class ClusterFile(MadeFile, ClusterNode):
    """A file of lines. The cluster is asked, and the lines are written, when its size is."""

    kind: Kind = "file"

    @property
    def _texts(self) -> MadeTexts:  # type: ignore[override]
        return self._sources.texts

    def _about(self) -> Attributes:
        return self._attributes(self._sources.granted(self._topics))


class LongClusterFile(ClusterFile):
    """A file of lines that is a stream if it is long."""

    def _is_long(self) -> bool:
        raise NotImplementedError

    def _lines(self) -> PackedLines | History:
        """The lines as of now."""
        raise NotImplementedError

    def _make(self) -> bytes:
        return b"".join(piece for _, piece in self._lines().pieces(0))

    def attributes(self) -> Attributes:
        """The rights that all its sources grant, and the true size, unless it is a long file."""
        if not self._is_long():
            return super().attributes()
        self._shown = None
        return self._about()

    def open(self) -> Content:
        """The text whose size the lookup returned; for a long file a stream of its lines as of now."""
        if self._shown is None and self._is_long():
            return Stream(self._lines().pieces, 0, self._sources.budget)
        return super().open()
