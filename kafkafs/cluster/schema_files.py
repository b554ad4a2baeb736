"""The registry as files: a line for each version of each subject, and each schema's text by its id."""

import json
from collections.abc import Iterator

from kafkafs.cluster.registry import DEFAULT_CONTEXT, RegisteredSchema, Registry
from kafkafs.format.json_string import escape_controls

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
