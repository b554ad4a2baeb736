"""Avro for typed columns: data of one schema, read as another prescribes (Avro 1.12, "Schema Resolution"), as JSON text
that a JSON reader with the columns' types takes.

A line is `{"value":...}`, see `shape`; a union of several types is an object with the member's field, as Spark's Avro
source names it. A field that only the writer has gets a name that no column has. If a type contains itself, a datum at
that place has no column, and the payload is refused.
"""

from collections.abc import Sequence

from kafkafs.errors import CorruptData
from kafkafs.format.native import layout
from kafkafs.format.schemas.avro_defaults import default_bytes, text_of
from kafkafs.format.schemas.avro_names import (
    NAMED,
    NUMBERS,
    AvroNames,
    Json,
    ResolvedType,
    parse_schema,
    record_fields,
    resolved_type,
)
from kafkafs.format.schemas.avro_program import TIMES, AvroProgram, Compiler, decimal_scale, fixed_size
from kafkafs.format.schemas.shape import MOST_COLUMNS, MOST_DIGITS, Shape
from kafkafs.format.strings import json_string

MOST_INSTRUCTIONS, _MOST_BRANCHES = 50_000, 1000  # each branch of a union is compared with each
_AS_TEXT = ("time-millis", "time-micros", "timestamp-nanos", "local-timestamp-nanos")


class ColumnSchema:
    """The schema that columns follow. CorruptData if it is no schema, or one that columns cannot follow."""

    def __init__(self, text: str, references: Sequence[str] = ()) -> None:
        self.schema, self.names = parse_schema(text, references)
        try:
            self.shape = _Shapes(self.names).of(self.schema, "", ())
        except RecursionError:
            raise CorruptData("the schema is nested too deep") from None

    def program(self, text: str, references: Sequence[str] = (), most: int = MOST_INSTRUCTIONS) -> AvroProgram:
        """Compile a reader of data of the schema `text` for these columns. It raises CorruptData for data that do not
        fit."""
        writer, names = parse_schema(text, references)
        try:
            return _Resolving(names, self, most).resolved(writer)
        except RecursionError:
            raise CorruptData("the schema is nested too deep") from None


def _others(found: ResolvedType) -> list[Json]:
    """The branches of a union but null."""
    return [branch for branch in found.branches if branch != "null" and branch != {"type": "null"}]


def _check_size(union: ResolvedType) -> None:
    if len(union.branches) > _MOST_BRANCHES:
        raise CorruptData(f"the schema has a union of more than {_MOST_BRANCHES} types")


class _Shapes:
    """The shapes of a reader's types, as many as columns may be."""

    def __init__(self, names: AvroNames) -> None:
        self._names = names
        self._left = MOST_COLUMNS

    def of(self, schema: Json, namespace: str, open_: tuple[int, ...]) -> Shape:
        """The shape of a type inside the records `open_`."""
        self._left -= 1
        if self._left < 0:
            raise CorruptData(f"the schema has more than {MOST_COLUMNS} columns")
        found = resolved_type(schema, namespace, self._names)
        if found.kind == "union":
            _check_size(found)
            inner = [self.of(branch, namespace, open_) for branch in _others(found)]
            if len(inner) == 1:
                return inner[0]
            members = tuple((f"member{n}", one) for n, one in enumerate(inner))
            return Shape("union", members) if members else Shape("null")
        if found.kind == "record":
            if id(found.definition) in open_:
                return Shape("null")
            return self._record(found, (*open_, id(found.definition)))
        if found.kind in ("array", "map"):
            inside = found.definition.get("items" if found.kind == "array" else "values")
            return Shape(found.kind, (("item", self.of(inside, found.namespace, open_)),))
        return _leaf(found)

    def _record(self, found: ResolvedType, open_: tuple[int, ...]) -> Shape:
        names = [str(one["name"]) for one in record_fields(found.definition)]
        if len(set(names)) < len(names):
            raise CorruptData("the schema has a record with two fields of one name")
        shapes = (self.of(one["type"], found.namespace, open_) for one in record_fields(found.definition))
        return Shape("record", tuple(zip(names, shapes, strict=True)))


def _leaf(found: ResolvedType) -> Shape:
    size = fixed_size(found.definition) if found.kind == "fixed" else None
    logical = found.definition.get("logicalType")
    if found.kind in ("bytes", "fixed") and (scale := decimal_scale(found.definition, size)) is not None:
        precision = found.definition["precision"]
        assert isinstance(precision, int)
        return Shape("decimal", (), precision, scale) if precision <= MOST_DIGITS else Shape("string")
    if found.kind == "fixed" and ((logical, size) in (("uuid", 16), ("duration", 12))):
        return Shape("string")
    if (found.kind, logical) == ("bytes", "big-decimal"):
        return Shape("string")
    if isinstance(logical, str) and (found.kind, logical) in TIMES:
        return Shape("string" if logical in _AS_TEXT else logical)
    return Shape({"enum": "string", "fixed": "bytes"}.get(found.kind, found.kind))


class _Resolving(Compiler):
    """Compiles a writer's schema for a reader's columns."""

    def __init__(self, names: AvroNames, reader: ColumnSchema, most: int) -> None:
        super().__init__(names)
        self._most = most
        self._reader = reader
        self._open: list[int] = []  # the reader's records that the place is in

    def resolved(self, schema: Json) -> AvroProgram:
        """The program that writes one line, `{"value":...}`; CorruptData if the schemas do not go together."""
        self._put(b'{"value":')
        writer = resolved_type(schema, "", self._names)
        if writer.kind == "bytes":
            if _leaf(writer) != self._reader.shape or not self._bytes_alone(schema):
                raise CorruptData("bytes alone are not a value of the table's schema")
        else:
            self._pair(schema, "", self._reader.schema, "")
        self._put(b"}\n")
        return self._finished()

    def _pair(self, schema: Json, namespace: str, wanted: Json, wanted_namespace: str) -> None:
        """A value of the writer's type `schema` as the reader's type `wanted`; CorruptData if it cannot be one."""
        if len(self._code) > self._most:
            raise CorruptData("the schema is too large for columns")
        writer = resolved_type(schema, namespace, self._names)
        reader = resolved_type(wanted, wanted_namespace, self._reader.names)
        if writer.kind == "union":
            self._branches(writer, wanted, wanted_namespace)
        elif reader.kind == "union":
            self._into_union(writer, schema, namespace, reader)
        elif reader.kind == "record" and id(reader.definition) in self._open:
            self._emit(layout.AVRO_REFUSE)
        elif writer.kind == reader.kind == "record":
            if not _is_called(writer, reader):
                raise CorruptData("the table's schema has a record with another name there")
            self._open.append(id(reader.definition))
            self._fields(writer, reader)
            self._open.pop()
        elif writer.kind == reader.kind and writer.kind in ("array", "map"):
            self._inside(writer, reader)
        else:
            self._single(writer, schema, namespace, reader)

    def _branches(self, writer: ResolvedType, wanted: Json, wanted_namespace: str) -> None:
        """Each branch that the reader cannot take refuses the data that have it, and no other."""
        _check_size(writer)
        choice, starts, ends, fitting = self._emit(layout.AVRO_UNION, 0, len(writer.branches)), [], [], 0
        for branch in writer.branches:
            starts.append(len(self._code))
            begun, calls, open_ = len(self._code), len(self._calls), len(self._open)
            try:
                self._pair(branch, writer.namespace, wanted, wanted_namespace)
                fitting += 1
            except CorruptData:
                del self._code[begun:], self._calls[calls:], self._open[open_:]
                self._literal = b""
                self._emit(layout.AVRO_REFUSE)
            ends.append(self._emit(layout.AVRO_JUMP))
        if not fitting:
            raise CorruptData("no branch of a union fits the table's schema")
        self._code[choice][1] = self._numbers(starts)
        for end in ends:
            self._code[end][1] = len(self._code)

    def _into_union(self, writer: ResolvedType, schema: Json, namespace: str, reader: ResolvedType) -> None:
        others = _others(reader)
        if writer.kind == "null":
            if len(others) == len(reader.branches):
                raise CorruptData("null is not a value of the table's schema")
            self._put(b"null")
            return
        branches = [resolved_type(branch, reader.namespace, self._reader.names) for branch in others]
        fits = [_likeness(writer, branch) for branch in branches]
        if not any(fits):
            raise CorruptData(f"the table's schema has no {writer.kind} there")
        member = fits.index(max(fits))
        self._put(f'{{"member{member}":'.encode() if len(others) > 1 else b"")
        self._pair(schema, namespace, others[member], reader.namespace)
        self._put(b"}" if len(others) > 1 else b"")

    def _fields(self, writer: ResolvedType, reader: ResolvedType) -> None:
        wanted = {str(one["name"]): one for one in record_fields(reader.definition)}
        written = {str(one["name"]) for one in record_fields(writer.definition)}
        aliases = {alias: name for name, one in wanted.items() if name not in written for alias in _aliases(one)}
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
                raise CorruptData(f"the table's schema has a field {name[:100]!r} without a default")
            self._put(before + json_string(name).encode() + b":" + self._default(one, reader.namespace))
            before = b","
        self._put(b"{}" if before == b"{" else b"}")

    def _default(self, field: dict[str, Json], namespace: str) -> bytes:
        """The default of a field of the reader's, as what was written with that field would be."""
        if field["default"] is None:
            return b"null"
        names = self._reader.names
        payload = default_bytes(field["type"], namespace, field["default"], names)
        compiler = _Resolving(names, self._reader, self._most)
        compiler._open = list(self._open)
        compiler._pair(field["type"], namespace, field["type"], namespace)
        return text_of(compiler._finished(), payload)

    def _inside(self, writer: ResolvedType, reader: ResolvedType) -> None:
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

    def _single(self, writer: ResolvedType, schema: Json, namespace: str, reader: ResolvedType) -> None:
        if not _may_be(writer, reader):
            is_other = writer.kind != reader.kind
            raise CorruptData(
                f"{writer.kind} is no {reader.kind}"
                if is_other
                else f"the table's schema has another {writer.kind} there"
            )
        target, shape = reader.kind, _leaf(reader)
        times = {_leaf(one).kind for one in (writer, reader)} - set(NUMBERS)
        if writer.kind in NUMBERS and len(times) > 1:
            raise CorruptData("the table's schema has another unit of time there")
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
        elif _leaf(writer) != shape or (writer.kind in NUMBERS and _sort(writer) != _sort(reader)):
            raise CorruptData(f"the table's schema has another logical type than {writer.kind} there")
        else:
            self._value(schema, namespace)

    def _symbols(self, writer: ResolvedType, reader: ResolvedType) -> None:
        known, other = reader.definition.get("symbols"), reader.definition.get("default")
        symbols = writer.definition.get("symbols")
        if not isinstance(known, list) or not isinstance(symbols, list):
            raise CorruptData("the schema has an enum without symbols")
        key = b"\0symbols %d %d" % (id(writer.definition), id(reader.definition))
        if key not in self._places:
            words, places = {word for word in known if isinstance(word, str)}, list[int]()
            for symbol in symbols:
                chosen = symbol if isinstance(symbol, str) and symbol in words else other
                word = json_string(chosen).encode() if isinstance(chosen, str) else b""
                places += [self._pooled(word), len(word) or -1]
            self._places[key] = self._numbers(places)
        self._emit(layout.AVRO_ENUM, self._places[key], len(symbols))


def _sort(time: ResolvedType) -> str:
    """The kind of a time that is text: `time`, `timestamp` or `local-timestamp`."""
    return str(time.definition.get("logicalType")).rpartition("-")[0]


def _aliases(field: dict[str, Json]) -> list[str]:
    names = field.get("aliases")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _may_be(writer: ResolvedType, reader: ResolvedType) -> bool:
    """True if data of one type can be read as the other, as far as the types alone tell."""
    if writer.kind in NUMBERS and reader.kind in NUMBERS:
        return NUMBERS.index(writer.kind) <= NUMBERS.index(reader.kind)
    if {writer.kind, reader.kind} == {"string", "bytes"}:
        return True
    return writer.kind == reader.kind and (writer.kind not in NAMED or _is_called(writer, reader))


def _is_called(writer: ResolvedType, reader: ResolvedType) -> bool:
    """True if two named types are the same: by the name without its namespace, or by an alias of the reader's."""
    if writer.kind == "fixed" and fixed_size(writer.definition) != fixed_size(reader.definition):
        return False
    names = [str(reader.definition.get("name", "")), *_aliases(reader.definition)]
    return _last(str(writer.definition.get("name", ""))) in map(_last, names)


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _likeness(writer: ResolvedType, branch: ResolvedType) -> int:
    """How well a branch of the reader's union suits: 0, not at all; most where name, type and meaning are the same."""
    if not _may_be(writer, branch):
        return 0
    if writer.kind != branch.kind:
        return 1
    same_meaning = writer.definition.get("logicalType") == branch.definition.get("logicalType")
    return 2 + same_meaning + 2 * (writer.kind in NAMED and writer.namespace == branch.namespace)
