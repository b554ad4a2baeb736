"""Avro for typed columns: data of one schema, read as another prescribes (Avro 1.12, "Schema Resolution"), as JSON text
that a JSON reader with the columns' types takes.

A line is `{"value":...}`. Floats and doubles are whole numbers, their bits; dates and timestamps the numbers that they
are; a map is an array of keys and values, and a union of several types an object with the member's field, as Spark's
Avro source names it. What only the writer has stands under a name that no column has. `Shape` tells the columns.
"""

import base64
import json
import struct
from collections.abc import Sequence
from decimal import Context, Decimal
from typing import NamedTuple

from kafkafs.errors import CorruptData
from kafkafs.format.json_string import json_string
from kafkafs.format.native import layout
from kafkafs.format.schemas.avro_names import RECORDS, Json, Names, parse_schema, record_fields
from kafkafs.format.schemas.avro_program import AvroProgram, Compiler, decimal_scale, fixed_size

_MOST_INSTRUCTIONS = 50_000
_MOST_DIGITS = 38  # of a decimal in columns
_NUMBERS = ("int", "long", "float", "double")
_AS_TEXT = ("time-millis", "time-micros", "timestamp-nanos", "local-timestamp-nanos")


class Shape(NamedTuple):
    """A column's type: `kind` is a primitive type's name, `record`, `array`, `map`, `decimal`, `date`, or
    `timestamp-...`. Of a record `fields` are named; of an array or a map the one inside."""

    kind: str
    fields: tuple[tuple[str, "Shape"], ...] = ()
    precision: int = 0
    scale: int = 0


class _Type(NamedTuple):
    """A type with its name resolved, and the namespace that is open inside."""

    kind: str
    definition: dict[str, Json]
    namespace: str
    branches: tuple[Json, ...] = ()


class Reader:
    """The schema that columns follow. CorruptData where it is no schema, or one that columns cannot follow."""

    def __init__(self, text: str, references: Sequence[str] = ()) -> None:
        self.schema, self.names = parse_schema(text, references)
        try:
            self.shape = _shape(self.schema, "", self.names, ())
        except RecursionError:
            raise CorruptData("the schema is nested too deep") from None

    def program(self, text: str, references: Sequence[str] = ()) -> AvroProgram:
        """What reads data of the schema `text` for these columns; CorruptData where they do not fit."""
        writer, names = parse_schema(text, references)
        try:
            return _Resolving(names, self).resolved(writer)
        except RecursionError:
            raise CorruptData("the schema is nested too deep") from None


def _resolved(schema: Json, namespace: str, names: Names) -> _Type:
    if isinstance(schema, list):
        return _Type("union", {}, namespace, tuple(schema))
    definition: dict[str, Json] = schema if isinstance(schema, dict) else {"type": schema}
    kind = definition.get("type")
    if isinstance(kind, dict | list):
        return _resolved(kind, namespace, names)
    if not isinstance(kind, str):
        raise CorruptData("the schema has a type that is none of Avro's")
    if kind in RECORDS or kind in ("enum", "fixed"):
        own, name = definition.get("namespace"), definition.get("name")
        named = names.find(str(name), own if isinstance(own, str) else namespace)
    else:
        named = None if kind in (*_NUMBERS, *_PLAIN) else names.find(kind, namespace)
        if named is None and kind not in (*_NUMBERS, *_PLAIN):
            raise CorruptData(f"the schema uses a type {kind[:100]!r} that it does not define")
    if named is None:
        return _Type(kind, definition, namespace)
    return _Type("record" if named.kind in RECORDS else named.kind, named.definition, named.namespace)


_PLAIN = ("null", "boolean", "bytes", "string", "array", "map")


def _others(found: _Type) -> list[Json]:
    """The branches of a union but null."""
    return [branch for branch in found.branches if branch != "null" and branch != {"type": "null"}]


def _shape(schema: Json, namespace: str, names: Names, open_: tuple[int, ...]) -> Shape:
    found = _resolved(schema, namespace, names)
    if found.kind == "union":
        inner = [_shape(branch, namespace, names, open_) for branch in _others(found)]
        if len(inner) == 1:
            return inner[0]
        return Shape("record", tuple((f"member{n}", one) for n, one in enumerate(inner))) if inner else Shape("null")
    if found.kind == "record":
        if id(found.definition) in open_:
            raise CorruptData("the schema holds itself, which columns cannot")
        open_ = (*open_, id(found.definition))
        return Shape("record", tuple(
            (str(one["name"]), _shape(one["type"], found.namespace, names, open_))
            for one in record_fields(found.definition)
        ))  # fmt: skip
    if found.kind in ("array", "map"):
        inside = found.definition.get("items" if found.kind == "array" else "values")
        return Shape(found.kind, (("item", _shape(inside, namespace, names, open_)),))
    return _leaf(found)


def _leaf(found: _Type) -> Shape:
    size = fixed_size(found.definition) if found.kind == "fixed" else None
    logical = found.definition.get("logicalType")
    if found.kind in ("bytes", "fixed") and (scale := decimal_scale(found.definition, size)) is not None:
        precision = found.definition["precision"]
        assert isinstance(precision, int)
        return Shape("decimal", (), precision, scale) if precision <= _MOST_DIGITS else Shape("string")
    if found.kind == "fixed" and ((logical, size) in (("uuid", 16), ("duration", 12))):
        return Shape("string")
    if (found.kind, logical) == ("bytes", "big-decimal") or (logical in _AS_TEXT and found.kind in ("int", "long")):
        return Shape("string")
    if (found.kind, logical) == ("int", "date"):
        return Shape("date")
    if found.kind == "long" and isinstance(logical, str) and "timestamp-m" in logical:
        return Shape(logical)
    return Shape({"enum": "string", "fixed": "bytes"}.get(found.kind, found.kind))


class _Resolving(Compiler):
    """Compiles a writer's schema for a reader's columns."""

    def __init__(self, names: Names, reader: Reader) -> None:
        super().__init__(names)
        self._reader = reader

    def resolved(self, schema: Json) -> AvroProgram:
        self._put(b'{"value":')
        if _resolved(schema, "", self._names).kind == "bytes" and self._reader.shape.kind in ("bytes", "decimal"):
            self._raw(schema)
        else:
            self._pair(schema, "", self._reader.schema, "")
        self._put(b"}\n")
        return self._finished()

    def _pair(self, schema: Json, namespace: str, wanted: Json, wanted_namespace: str) -> None:
        """A value of the writer's type `schema` as the reader's type `wanted`; CorruptData where it cannot be one."""
        if len(self._code) > _MOST_INSTRUCTIONS:
            raise CorruptData("the schema is too large for columns")
        writer = _resolved(schema, namespace, self._names)
        reader = _resolved(wanted, wanted_namespace, self._reader.names)
        if writer.kind == "union":
            self._branches(writer, wanted, wanted_namespace)
        elif reader.kind == "union":
            self._into_union(writer, schema, namespace, reader)
        elif writer.kind == reader.kind == "record":
            self._fields(writer, reader)
        elif writer.kind == reader.kind and writer.kind in ("array", "map"):
            self._inside(writer, reader)
        else:
            self._single(writer, schema, namespace, reader)

    def _branches(self, writer: _Type, wanted: Json, wanted_namespace: str) -> None:
        """Each branch that the reader cannot take refuses the data that have it, and no other."""
        choice, starts, ends, fitting = self._emit(layout.AVRO_UNION, 0, len(writer.branches)), [], [], 0
        for branch in writer.branches:
            starts.append(len(self._code))
            begun = len(self._code)
            try:
                self._pair(branch, writer.namespace, wanted, wanted_namespace)
                fitting += 1
            except CorruptData:
                del self._code[begun:]
                self._literal = b""
                self._emit(layout.AVRO_UNION, 0, 0)  # no branch is any
            ends.append(self._emit(layout.AVRO_JUMP))
        if not fitting:
            raise CorruptData("no branch of a union fits the newest schema")
        self._code[choice][1] = self._table(starts)
        for end in ends:
            self._code[end][1] = len(self._code)

    def _into_union(self, writer: _Type, schema: Json, namespace: str, reader: _Type) -> None:
        others = _others(reader)
        if writer.kind == "null":
            if len(others) == len(reader.branches):
                raise CorruptData("null is no value of the newest schema")
            return self._put(b"null")
        for member, branch in enumerate(others):
            if not _may_be(writer, _resolved(branch, reader.namespace, self._reader.names)):
                continue
            self._put(f'{{"member{member}":'.encode() if len(others) > 1 else b"")
            self._pair(schema, namespace, branch, reader.namespace)
            return self._put(b"}" if len(others) > 1 else b"")
        raise CorruptData(f"the newest schema has no {writer.kind} there")

    def _fields(self, writer: _Type, reader: _Type) -> None:
        wanted = {str(one["name"]): one for one in record_fields(reader.definition)}
        aliases = {alias: name for name, one in wanted.items() for alias in _aliases(one)}
        before, seen = b"{", set()
        for number, one in enumerate(record_fields(writer.definition)):
            name = str(one["name"])
            name = name if name in wanted else aliases.get(name, "")
            if name and name not in seen:
                seen.add(name)
                self._put(before + json_string(name).encode() + b":")
                self._pair(one["type"], writer.namespace, wanted[name]["type"], reader.namespace)
            else:
                self._put(before + f'"-{number}":'.encode())  # no name of Avro's begins like that
                self._value(one["type"], writer.namespace)
            before = b","
        for name, one in wanted.items():
            if name in seen:
                continue
            if "default" not in one:
                raise CorruptData(f"the newest schema has a field {name[:100]!r} without a default")
            shape = _shape(one["type"], reader.namespace, self._reader.names, ())
            text = default_text(shape, one["default"])
            self._put(before + json_string(name).encode() + b":" + text.encode())
            before = b","
        self._put(b"{}" if before == b"{" else b"}")

    def _inside(self, writer: _Type, reader: _Type) -> None:
        key = "items" if writer.kind == "array" else "values"
        inner, is_map = writer.definition.get(key), writer.kind == "map"
        begin = self._emit(layout.AVRO_ARRAY)
        body = len(self._code)
        self._pair(inner, writer.namespace, reader.definition.get(key), reader.namespace)
        self._put(b"}" if is_map else b"")
        self._label()
        least = self._bytes_of(inner, writer.namespace) + is_map
        how = layout.AVRO_PAIRS if is_map else layout.AVRO_ITEMS
        self._code[begin][1] = self._emit(layout.AVRO_NEXT, body, least << 2 | how)

    def _single(self, writer: _Type, schema: Json, namespace: str, reader: _Type) -> None:
        if not _may_be(writer, reader):
            raise CorruptData(f"{writer.kind} is no {reader.kind}")
        target, shape = reader.kind, _leaf(reader)
        if target in ("float", "double"):
            source = {"float": layout.AVRO_FLOAT, "double": layout.AVRO_DOUBLE}.get(writer.kind, layout.AVRO_LONG)
            self._emit(layout.AVRO_BITS, source, 64 if target == "double" else 32)
        elif target == "enum":
            self._symbols(writer, reader)
        elif target in ("int", "long") and shape.kind != "string":
            self._emit(layout.AVRO_INT if writer.kind == "int" else layout.AVRO_LONG)
        elif target == "string" and writer.kind == "bytes":
            self._emit(layout.AVRO_STRING)
        elif target == "bytes" and writer.kind == "string":
            self._emit(layout.AVRO_BYTES)
        elif _leaf(writer) != shape:
            raise CorruptData(f"the newest schema has another logical type than {writer.kind} there")
        else:
            self._value(schema, namespace)

    def _symbols(self, writer: _Type, reader: _Type) -> None:
        known, other = reader.definition.get("symbols"), reader.definition.get("default")
        symbols = writer.definition.get("symbols")
        if not isinstance(known, list) or not isinstance(symbols, list):
            raise CorruptData("the schema has an enum without symbols")
        places: list[int] = []
        for symbol in symbols:
            chosen = symbol if symbol in known else other
            word = json_string(chosen).encode() if isinstance(chosen, str) else b""
            places += [self._pooled(word), len(word) or -1]
        self._emit(layout.AVRO_ENUM, self._table(places), len(symbols))


def _aliases(field: dict[str, Json]) -> list[str]:
    names = field.get("aliases")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _may_be(writer: _Type, reader: _Type) -> bool:
    """Whether data of one type can be read as the other, as far as the types alone tell."""
    if writer.kind in _NUMBERS and reader.kind in _NUMBERS:
        return _NUMBERS.index(writer.kind) <= _NUMBERS.index(reader.kind)
    if {writer.kind, reader.kind} == {"string", "bytes"}:
        return True
    return writer.kind == reader.kind


def default_text(shape: Shape, default: Json) -> str:
    """A field's default as the same JSON that data become. CorruptData where it is none of the type."""
    if default is None:
        return "null"
    match shape.kind:
        case "double" | "float" if isinstance(default, int | float):
            value, bits = ("<d", "<q") if shape.kind == "double" else ("<f", "<i")
            return str(struct.unpack(bits, struct.pack(value, default))[0])
        case "bytes" if isinstance(default, str):
            return json_string(base64.b64encode(_latin(default)).decode())
        case "decimal" if isinstance(default, str):
            unscaled = int.from_bytes(_latin(default), signed=True)
            return f'"{Decimal(unscaled).scaleb(-shape.scale, Context(prec=100)):f}"'
        case "array" if isinstance(default, list):
            return "[" + ",".join(default_text(shape.fields[0][1], each) for each in default) + "]"
        case "map" if isinstance(default, dict):
            inner = shape.fields[0][1]
            pairs = (f'{{"key":{json_string(key)},"value":{default_text(inner, default[key])}}}' for key in default)
            return "[" + ",".join(pairs) + "]"
        case "record" if shape.fields and shape.fields[0][0] == "member0":
            return f'{{"member0":{default_text(shape.fields[0][1], default)}}}'  # of a union the first branch's
        case "record" if isinstance(default, dict):
            fields = (f"{json_string(name)}:{default_text(one, default.get(name))}" for name, one in shape.fields)
            return "{" + ",".join(fields) + "}"
        case "boolean" if isinstance(default, bool):
            return json.dumps(default)
        case "string" if isinstance(default, str):
            return json_string(default)
        case "int" | "long" | "date" if isinstance(default, int) and not isinstance(default, bool):
            return str(default)
        case kind if "timestamp" in kind and isinstance(default, int):
            return str(default)
    raise CorruptData("a field's default is of another type than the field")


def _latin(text: str) -> bytes:
    """Bytes in a schema are characters up to U+00FF."""
    return text.encode("latin-1", "replace")
