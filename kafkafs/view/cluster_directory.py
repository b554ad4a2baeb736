"""`.cluster/`: groups, transactions and metadata as files (docs/after-an-incident.md); the answers are `cluster`'s.

Every file is lines, made when it is looked up; a long one is a stream. Owner and mode are what the internal partitions
that it is told by grant together, and of what tells the ends of partitions those, too.
"""

from collections.abc import Sequence

from kafkafs.cluster import files
from kafkafs.cluster.cluster import Cluster
from kafkafs.cluster.files import LISTS
from kafkafs.cluster.row_lines import PackedLines, line
from kafkafs.cluster.schema_topic import SCHEMAS_TOPIC
from kafkafs.errors import NotFound
from kafkafs.format.names import GROUPS_TOPIC, METADATA_TOPIC, TRANSACTIONS_TOPIC
from kafkafs.view import schema_files
from kafkafs.view.cluster_sources import ClusterFile, ClusterNode, Sources
from kafkafs.view.group_directory import GroupsDirectory
from kafkafs.view.node import Attributes, Content, Entry, Kind, Node
from kafkafs.view.streams import Stream

_STATE = "state.json"
_GROUPS = "groups"
_TOPICS = (METADATA_TOPIC, GROUPS_TOPIC, TRANSACTIONS_TOPIC)


class ClusterDirectory(ClusterNode):
    """The top."""

    lane = ""

    def __init__(self, sources: Sources) -> None:
        super().__init__(sources, ())

    def attributes(self) -> Attributes:
        """As of the root of the mount: whoever may list that may list and enter this."""
        return self._attributes(self._sources.root())

    def entries(self) -> Sequence[Entry]:
        """The entries that have a source on these disks, sorted. `state.json` and `open-transactions.jsonl` are always
        there."""
        names = self._sources.ask(lambda cluster: [name for name in LISTS if _is_there(cluster, name)])
        if "groups.jsonl" in names:
            names.append(_GROUPS)
        if self._sources.schemas.partition() is not None:
            names += [schema_files.LINES, schema_files.TEXTS]
        directories = (_GROUPS, schema_files.TEXTS)
        return [Entry(name, "directory" if name in directories else "file", None) for name in sorted([*names, _STATE])]

    def child(self, name: str) -> Node:
        """A child that `entries` lists, and nothing else. Raise NotFound if a source has gone, too."""
        if name == _STATE:
            return StateFile(self._sources, _TOPICS)
        if name in (schema_files.LINES, schema_files.TEXTS) and self._sources.schemas.partition() is not None:
            return self._schemas(name)
        listed = f"{_GROUPS}.jsonl" if name == _GROUPS else name
        if listed not in LISTS or not self._sources.ask(lambda cluster: _is_there(cluster, listed)):
            raise NotFound(f".cluster has no {name!r}, or no source for it")
        topics = LISTS[listed].topics
        return GroupsDirectory(self._sources, topics) if name == _GROUPS else LinesFile(self._sources, topics, name)

    def _schemas(self, name: str) -> Node:
        if name == schema_files.LINES:
            return schema_files.lines_file(self._sources.schemas, self._about_schemas, self._sources.texts)
        return schema_files.SchemaTextsDirectory(self._sources.schemas, self._about_schemas, self._sources.texts)

    def _about_schemas(self, kind: Kind) -> Attributes:
        return self._attributes(self._sources.granted((SCHEMAS_TOPIC,)), kind)


def _is_there(cluster: Cluster, name: str) -> bool:
    sources = LISTS[name].sources
    if sources is not None:
        return bool(sources(cluster))
    topic = next(iter(LISTS[name].topics), None)
    if topic is None:
        return bool(cluster.telling)
    return cluster.image is not None if topic == METADATA_TOPIC else bool(cluster.sources(topic))


class StateFile(ClusterFile):
    """`state.json`: one line, how far which topics were read, and what could not be."""

    def _make(self) -> bytes:
        return line(self._sources.ask(files.state))


class LinesFile(ClusterFile):
    """One of the files of lines at the top. NotFound where there is nothing any more that tells them."""

    def __init__(self, sources: Sources, topics: tuple[str, ...], name: str) -> None:
        super().__init__(sources, topics)
        self._name = name

    def _about(self) -> Attributes:
        sources = LISTS[self._name].sources
        if sources is None:
            return super()._about()
        return self._attributes(self._sources.of_all(self._sources.ask(sources)))

    def _make(self) -> bytes:
        return b"".join(piece for _, piece in self._sources.lines(self._name).pieces(0))

    def attributes(self) -> Attributes:
        """The rights that all its sources grant, and the true size, unless it is a long file."""
        if not self._is_long(self._sources.lines(self._name)):
            return super().attributes()
        self._shown = None
        return self._about()

    def open(self) -> Content:
        """The text whose size was told; of a long file a stream of its lines as of now."""
        lines = self._sources.lines(self._name) if self._shown is None else None
        if lines is None or not self._is_long(lines):
            return super().open()
        return Stream(lines.pieces, 0, self._sources.budget)

    def _is_long(self, lines: PackedLines) -> bool:
        return lines.size > self._texts.limit
