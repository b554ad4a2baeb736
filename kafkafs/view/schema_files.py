"""`.cluster/schemas.jsonl` and `.cluster/schemas/`: the registry, recovered from its topic."""

import json
from collections.abc import Callable, Iterator, Sequence

from kafkafs.cluster.registry import DEFAULT_CONTEXT, RegisteredSchema, Registry
from kafkafs.cluster.schema_topic import SchemaTopic
from kafkafs.disk.blocking import may_block
from kafkafs.errors import NotFound
from kafkafs.format.json_string import escape_controls
from kafkafs.view.node import Attributes, Entry, Kind, NoXattrs, TextContent

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
    """The texts by file name, `<id>.avsc`, `<id>.proto` or `<id>.json`. Of several contexts the default one counts."""
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

    def __init__(self, topic: SchemaTopic, about: About) -> None:
        self._topic = topic
        self._about = about

    def attributes(self) -> Attributes:
        """What the schemas' topic grants, and when it was last written."""
        return self._about("directory")

    def entries(self) -> Sequence[Entry]:
        """A file for each id of a schema whose text is known, sorted as text: `10.avsc` before `2.avsc`."""
        return [Entry(name, "file", None) for name in sorted(schema_texts(self._topic.registry()))]

    def child(self, name: str) -> "SchemaFile":
        """The text of that name, `<id>.avsc`, `.proto` or `.json`; NotFound where the registry has none by now."""
        if name not in schema_texts(self._topic.registry()):
            raise NotFound(f"there is no schema {name!r}")
        return SchemaFile(self._topic, self._about, lambda registry: schema_texts(registry).get(name, "").encode())


class SchemaFile(NoXattrs):
    """A file that is made of the registry when it is opened."""

    def __init__(self, topic: SchemaTopic, about: About, text: Callable[[Registry], bytes]) -> None:
        self._topic = topic
        self._about = about
        self._text = text

    def attributes(self) -> Attributes:
        """Of size 0; what the schemas' topic grants, and when it was last written."""
        return self._about("file")

    def open(self) -> TextContent:
        """A snapshot of the registry as it is now; empty where the schema has gone since it was looked up."""
        may_block()
        return TextContent(self._text(self._topic.registry()))


def lines_file(topic: SchemaTopic, about: About) -> SchemaFile:
    """`schemas.jsonl`."""
    return SchemaFile(topic, about, lambda registry: b"".join(schema_lines(registry)))
