"""Named types of an Avro schema: which there are, what their full names are, how often each is used. Source: Avro 1.12.

A schema is JSON; its texts come from a registry, so nothing here trusts their shape.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kafkafs.errors import CorruptData

SCHEMA_BYTES = 1 << 20
"""A larger schema is refused."""

SCHEMA_DEPTH = 100
"""A schema with deeper nesting is refused."""

Json = object
PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
RECORDS = frozenset({"record", "error"})
NAMED = RECORDS | {"enum", "fixed"}
NUMBERS = ("int", "long", "float", "double")
_UNNAMED = PRIMITIVES | {"array", "map"}


@dataclass
class Named:
    """A record, an enum or a fixed as it is defined, and the namespace that its definition opens."""

    name: str
    kind: str
    definition: dict[str, Json]
    namespace: str
    uses: int = 0


@dataclass
class AvroNames:
    """All named types of a schema and of those it refers to, by full name."""

    types: dict[str, Named] = field(default_factory=dict)

    def find(self, name: str, namespace: str) -> Named | None:
        """The type that `name` means where `namespace` is open."""
        if "." not in name and namespace and (found := self.types.get(f"{namespace}.{name}")):
            return found
        return self.types.get(name)

    def collect(self, schema: Json) -> None:
        """Adds the types that a schema defines, and counts how often it uses which."""
        for defined in _definitions(schema, "", 0):
            self.types.setdefault(defined.name, defined)
        for name, namespace in _uses(schema, "", 0):
            if found := self.find(name, namespace):
                found.uses += 1


def parse_schema(text: str, references: Sequence[str] = ()) -> tuple[Json, AvroNames]:
    """The schema as JSON, and the types that it and those it refers to define. CorruptData says what is wrong."""
    if len(text) + sum(map(len, references)) > SCHEMA_BYTES:
        raise CorruptData(f"the schema has more than {SCHEMA_BYTES} characters")
    names = AvroNames()
    for reference in references:
        names.collect(_loaded(reference))
    schema = _loaded(text)
    names.collect(schema)
    return schema, names


def _loaded(text: str) -> Json:
    if text.strip() in PRIMITIVES:  # old clients register the bare word
        return text.strip()
    try:
        schema: Json = json.loads(text)
    except (ValueError, RecursionError):
        raise CorruptData("the schema is not JSON") from None
    return schema


def full_name(definition: dict[str, Json], namespace: str) -> tuple[str, str]:
    """(full name, namespace that it opens) of a named type that is defined where `namespace` is open."""
    name = definition.get("name")
    if not isinstance(name, str) or not name:
        raise CorruptData("the schema has a named type without a name")
    own = definition.get("namespace")
    if "." in name:
        return name, name.rpartition(".")[0]
    space = own if isinstance(own, str) else namespace
    return (f"{space}.{name}" if space else name), space


def record_fields(definition: dict[str, Json]) -> list[dict[str, Json]]:
    """The fields of a record, in order, each with a name and a type."""
    fields = definition.get("fields")
    if not isinstance(fields, list):
        raise CorruptData("the schema has a record without fields")
    for one in fields:
        if not isinstance(one, dict) or not isinstance(one.get("name"), str) or "type" not in one:
            raise CorruptData("the schema has a field without a name or a type")
    return fields


def _children(schema: Json, namespace: str) -> Iterator[tuple[Json, str]]:
    """The types directly inside a type, with the namespace that is open there."""
    if isinstance(schema, list):
        yield from ((branch, namespace) for branch in schema)
    elif isinstance(schema, dict):
        kind = schema.get("type")
        if kind == "array":
            yield schema.get("items"), namespace
        elif kind == "map":
            yield schema.get("values"), namespace
        elif isinstance(kind, str) and kind in RECORDS:
            inner = full_name(schema, namespace)[1]
            yield from ((one["type"], inner) for one in record_fields(schema))
        elif isinstance(kind, dict | list):
            yield kind, namespace


def _definitions(schema: Json, namespace: str, depth: int) -> Iterator[Named]:
    if depth > SCHEMA_DEPTH:
        raise CorruptData(f"the schema is nested deeper than {SCHEMA_DEPTH} levels")
    if isinstance(schema, dict) and isinstance(kind := schema.get("type"), str) and kind in NAMED:
        name, inner = full_name(schema, namespace)
        yield Named(name, kind, schema, inner)
    for child, inner in _children(schema, namespace):
        yield from _definitions(child, inner, depth + 1)


def _uses(schema: Json, namespace: str, depth: int) -> Iterator[tuple[str, str]]:
    """The names used, each as often as it is, a definition too; with the namespace that is open there."""
    if isinstance(schema, str):
        if schema not in PRIMITIVES:
            yield schema, namespace
        return
    if isinstance(schema, dict) and isinstance(kind := schema.get("type"), str):
        if kind in NAMED:
            yield full_name(schema, namespace)[0], ""
        elif kind not in PRIMITIVES and kind not in ("array", "map"):
            yield kind, namespace
    for child, inner in _children(schema, namespace):
        yield from _uses(child, inner, depth + 1)


class ResolvedType(NamedTuple):
    """A type with its name resolved, and the namespace that is open inside. `uses`: how often a named type is used."""

    kind: str
    definition: dict[str, Json]
    namespace: str
    branches: tuple[Json, ...] = ()
    name: str = ""
    uses: int = 0


def resolved_type(schema: Json, namespace: str, names: AvroNames) -> ResolvedType:
    """The type that a schema is, where `namespace` is open. CorruptData if Avro does not know it."""
    if isinstance(schema, list):
        return ResolvedType("union", {}, namespace, tuple(schema))
    definition: dict[str, Json] = schema if isinstance(schema, dict) else {"type": schema}
    kind = definition.get("type")
    if isinstance(kind, dict | list):
        return resolved_type(kind, namespace, names)
    if not isinstance(kind, str):
        raise CorruptData("the schema has a type that Avro does not have")
    if kind in _UNNAMED:
        return ResolvedType(kind, definition, namespace)
    name, own = (str(definition.get("name")), definition.get("namespace")) if kind in NAMED else (kind, None)
    named = names.find(name, own if isinstance(own, str) else namespace)
    if named is None:
        raise CorruptData(f"the schema uses a type {name[:100]!r} that it does not define")
    own_kind = "record" if named.kind in RECORDS else named.kind
    return ResolvedType(own_kind, named.definition, named.namespace, (), named.name, named.uses)
