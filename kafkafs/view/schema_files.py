"""`.cluster/schemas.jsonl` and `.cluster/schemas/`: the registry, recovered from its topic."""

import json
from collections.abc import Callable, Iterator, Sequence

from kafkafs.cluster.registry import DEFAULT_CONTEXT, RegisteredSchema, Registry
from kafkafs.cluster.schema_topic import SchemaTopic
from kafkafs.disk.blocking import may_block
from kafkafs.errors import NotFound
from kafkafs.format.strings import escape_controls
from kafkafs.view.made import MadeFile, MadeTexts
from kafkafs.view.node import Attributes, Entry, Kind

LINES, TEXTS = "schemas.jsonl", "schemas"

About = Callable[[Kind], Attributes]
"""The attributes of a directory or a file that is told by the registry's topic."""


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
        yield escape_controls(json.dumps(row, ensure_ascii=False, separators=(",", ":"))).encode() + b"\n"


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
        return [Entry(name, "file", None) for name in sorted(schema_texts(self._topic.registry()))]

    def child(self, name: str) -> "SchemaFile":
        """The text of that name, `<id>.avsc`, `.proto` or `.json`; NotFound where the registry has none by now."""
        if name not in schema_texts(self._topic.registry()):
            raise NotFound(f"there is no schema {name!r}")
        text = lambda registry: schema_texts(registry).get(name, "").encode()  # noqa: E731
        return SchemaFile(self._topic, self._about, text, self._texts)


class SchemaFile(MadeFile):
    """A file that is made of the registry; empty where the schema has gone since it was looked up."""

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


def lines_file(topic: SchemaTopic, about: About, texts: MadeTexts) -> SchemaFile:
    """`schemas.jsonl`."""
    return SchemaFile(topic, about, lambda registry: b"".join(schema_lines(registry)), texts)
