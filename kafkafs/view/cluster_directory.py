"""`.cluster/`: groups, transactions and metadata as files (docs/after-an-incident.md); the answers are `cluster`'s.

Every file is lines, made when it is looked up; a long one is a stream. Owner and mode are what all its sources grant
together: internal partitions, and for the ends of partitions these partitions, too. `schemas.jsonl` and `schemas/`
are the registry, recovered from its topic.
"""

from collections.abc import Callable, Iterator, Sequence

from kafkafs.cluster import files
from kafkafs.cluster.cluster import Cluster
from kafkafs.cluster.files import LISTS
from kafkafs.cluster.registry import DEFAULT_CONTEXT, RegisteredSchema, Registry
from kafkafs.cluster.row_lines import PackedLines, line
from kafkafs.cluster.schema_topic import SCHEMAS_TOPIC, SchemaTopic
from kafkafs.disk.blocking import may_block
from kafkafs.errors import NotFound
from kafkafs.format.names import GROUPS_TOPIC, METADATA_TOPIC, TRANSACTIONS_TOPIC
from kafkafs.format.strings import shown_json
from kafkafs.view.cluster_sources import ClusterFile, ClusterNode, ClusterSources, LongClusterFile
from kafkafs.view.group_directory import GroupsDirectory
from kafkafs.view.made import MadeFile, MadeTexts
from kafkafs.view.node import Attributes, Entry, Kind, Node

_STATE = "state.json"
_GROUPS = "groups"
_LINES, _TEXTS = "schemas.jsonl", "schemas"
_TOPICS = (METADATA_TOPIC, GROUPS_TOPIC, TRANSACTIONS_TOPIC)


class ClusterDirectory(ClusterNode):
    """The top."""

    lane = ""

    def __init__(self, sources: ClusterSources) -> None:
        super().__init__(sources, ())

    def attributes(self) -> Attributes:
        """The attributes of the mount's root: a user that may list the root may list and enter this directory."""
        return self._attributes(self._sources.root())

    def entries(self) -> Sequence[Entry]:
        """The entries that have a source on these disks, sorted. `state.json` and `open-transactions.jsonl` are always
        there."""
        names = self._sources.ask(lambda cluster: [name for name in LISTS if _is_there(cluster, name)])
        if "groups.jsonl" in names:
            names.append(_GROUPS)
        if self._sources.schemas.partition() is not None:
            names += [_LINES, _TEXTS]
        directories = (_GROUPS, _TEXTS)
        return [Entry(name, "directory" if name in directories else "file") for name in sorted([*names, _STATE])]

    def child(self, name: str) -> Node:
        """A child that `entries` lists, and nothing else. Raise NotFound if a source has gone, too."""
        if name == _STATE:
            return StateFile(self._sources, _TOPICS)
        if name in (_LINES, _TEXTS) and self._sources.schemas.partition() is not None:
            return self._schemas(name)
        listed = f"{_GROUPS}.jsonl" if name == _GROUPS else name
        if listed not in LISTS or not self._sources.ask(lambda cluster: _is_there(cluster, listed)):
            known = f"no source for {name!r} is on these disks; `.cluster/state.json` says what is missing"
            raise NotFound(known if listed in LISTS else f".cluster has no {name!r}")
        topics = LISTS[listed].topics
        return GroupsDirectory(self._sources, topics) if name == _GROUPS else LinesFile(self._sources, topics, name)

    def _schemas(self, name: str) -> Node:
        if name == _LINES:
            return SchemaFile(
                self._sources.schemas,
                self._about_schemas,
                lambda registry: b"".join(schema_lines(registry)),
                self._sources.texts,
            )
        return SchemaTextsDirectory(self._sources.schemas, self._about_schemas, self._sources.texts)

    def _about_schemas(self, kind: Kind) -> Attributes:
        return self._attributes(self._sources.granted((SCHEMAS_TOPIC,)), kind)


def _is_there(cluster: Cluster, name: str) -> bool:
    sources = LISTS[name].sources
    if sources is not None:
        return bool(sources(cluster))
    topic = next(iter(LISTS[name].topics), None)
    if topic is None:
        return bool(cluster.replicas.directories)
    return cluster.image is not None if topic == METADATA_TOPIC else bool(cluster.replicas.sources(topic))


class StateFile(ClusterFile):
    """`state.json`: one line, how far which topics were read, and what could not be."""

    def _make(self) -> bytes:
        return line(self._sources.ask(lambda cluster: files.state(cluster, self._sources.schemas)))


class LinesFile(LongClusterFile):
    """One of the files of lines at the top. NotFound if nothing is left to read them from."""

    def __init__(self, sources: ClusterSources, topics: tuple[str, ...], name: str) -> None:
        super().__init__(sources, topics)
        self._name = name

    def _about(self) -> Attributes:
        sources = LISTS[self._name].sources
        if sources is None:
            return super()._about()
        return self._attributes(self._sources.of_all(self._sources.ask(sources)))

    def _lines(self) -> PackedLines:
        return self._sources.lines(self._name)

    def _is_long(self) -> bool:
        return self._lines().size > self._texts.limit


About = Callable[[Kind], Attributes]
"""The attributes of a directory or a file that is read from the registry's topic."""

_EXTENSIONS = {"AVRO": "avsc", "PROTOBUF": "proto", "JSON": "json"}


def schema_lines(registry: Registry) -> Iterator[bytes]:
    """A line of JSON for each schema, by subject and version. A text that is not kept is null."""
    for schema in registry:
        row = {
            "subject": schema.subject,
            "version": schema.version,
            "id": schema.id,
            "type": schema.type,
            "deleted": schema.deleted or schema.gone,
            "references": [reference._asdict() for reference in schema.references],
            "schema": schema.text,
        }
        yield shown_json(row) + b"\n"


def schema_texts(registry: Registry) -> dict[str, str]:
    """The texts by file name, `<id>.avsc`, `<id>.proto` or `<id>.json`. If there are several contexts, the default one
    counts."""
    chosen: dict[int, RegisteredSchema] = {}
    for schema in sorted(registry, key=_place):
        chosen.setdefault(schema.id, schema)
    return {
        f"{number}.{_EXTENSIONS[schema.type]}": schema.text
        for number, schema in sorted(chosen.items())
        if schema.text is not None and schema.type in _EXTENSIONS
    }


def _place(schema: RegisteredSchema) -> tuple[bool, str, int]:
    return schema.context != DEFAULT_CONTEXT, schema.context, schema.offset


class SchemaTextsDirectory:
    """`schemas/`: a file for each id."""

    def __init__(self, topic: SchemaTopic, about: About, texts: MadeTexts) -> None:
        self._topic = topic
        self._about = about
        self._texts = texts

    def attributes(self) -> Attributes:
        """The rights that the schemas' topic grants, and the time at which it was last written."""
        return self._about("directory")

    def entries(self) -> Sequence[Entry]:
        """A file for each id of a schema whose text is known, sorted as text: `10.avsc` before `2.avsc`."""
        return [Entry(name, "file") for name in sorted(schema_texts(self._topic.registry()))]

    def child(self, name: str) -> "SchemaFile":
        """The text of that name, `<id>.avsc`, `.proto` or `.json`; NotFound if the registry has none by now."""
        if name not in schema_texts(self._topic.registry()):
            raise NotFound(f"there is no schema {name!r}")
        text = lambda registry: schema_texts(registry).get(name, "").encode()  # noqa: E731
        return SchemaFile(self._topic, self._about, text, self._texts)


class SchemaFile(MadeFile):
    """A file that is made of the registry; empty if the schema has gone since it was looked up."""

    def __init__(self, topic: SchemaTopic, about: About, text: Callable[[Registry], bytes], texts: MadeTexts) -> None:
        self._texts = texts
        self._topic = topic
        self._granted = about
        self._text = text

    def _about(self) -> Attributes:
        """The rights that the schemas' topic grants, and the time at which it was last written."""
        return self._granted("file")

    def _make(self) -> bytes:
        may_block()
        return self._text(self._topic.registry())
