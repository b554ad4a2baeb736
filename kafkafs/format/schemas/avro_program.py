"""An Avro schema compiled to a program for the kernel `put_avro`: once a schema, so that no payload costs Python.

A record's fields are laid out one after the other, its punctuation and names as literals of the instructions; a named
record that is used more than once, itself included, is a routine of its own, so that a program is never longer than
its schema. Text that a datum becomes: see docs/queries.md. Logical types that are not valid count as
absent (Avro 1.12).
"""

from collections.abc import Sequence

import numpy as np

from kafkafs.errors import CorruptData
from kafkafs.format.memory import Array
from kafkafs.format.native import layout
from kafkafs.format.native.layout import CODE_WORDS
from kafkafs.format.schemas.avro_names import (
    PRIMITIVES,
    AvroNames,
    Json,
    ResolvedType,
    parse_schema,
    record_fields,
    resolved_type,
)
from kafkafs.format.strings import json_string

_MAX_DECIMAL_BYTES, _MAX_SCALE = 512, 2048  # the kernel's limits
_MAX_FIXED = (1 << 31) - 1

_PRIMITIVES = {
    "null": (layout.AVRO_LITERAL, 0),
    "boolean": (layout.AVRO_BOOL, 1),
    "int": (layout.AVRO_INT, 1),
    "long": (layout.AVRO_LONG, 1),
    "float": (layout.AVRO_FLOAT, 4),
    "double": (layout.AVRO_DOUBLE, 8),
    "bytes": (layout.AVRO_BYTES, 1),
    "string": (layout.AVRO_STRING, 1),
}
"""The instruction of each, and the bytes that it takes at least."""

TIMES = {
    ("int", "date"): (layout.AVRO_DATE, 0, 0),
    ("int", "time-millis"): (layout.AVRO_TIME, 3, 0),
    ("long", "time-micros"): (layout.AVRO_TIME, 6, 0),
    **{
        ("long", f"{local}timestamp-{unit}"): (layout.AVRO_TIMESTAMP, digits, 0 if local else 1)
        for local in ("", "local-")
        for unit, digits in (("millis", 3), ("micros", 6), ("nanos", 9))
    },
}
"""Instruction and operands of the logical types that are numbers."""


class AvroProgram:
    """The code of one schema and its pool of literals, as the kernel takes them."""

    def __init__(self, code: list[list[int]], pool: bytes) -> None:
        self.code = np.array(code, np.int64).reshape(-1, CODE_WORDS)
        self.pool: Array = np.frombuffer(pool + bytes(16), np.uint8)  # literals are copied 16 bytes at a time


def compile_avro(text: str, references: Sequence[str] = ()) -> AvroProgram:
    """The program of a schema; `references` are the texts that it refers to. CorruptData says what is wrong."""
    schema, names = parse_schema(text, references)
    try:
        return Compiler(names).program(schema)
    except RecursionError:
        raise CorruptData("the schema is nested too deep") from None


class Compiler:
    """Code and literals as they grow, and what each type adds to them."""

    def __init__(self, names: AvroNames) -> None:
        self._names = names
        self._code: list[list[int]] = []
        self._pool = bytearray()
        self._places: dict[bytes, int] = {}
        self._literal = b""
        self._routines: dict[str, int] = {}  # begin of the code of each shared record; -1 while it has none
        self._calls: list[tuple[int, str]] = []
        self._least: dict[str, int] = {}

    def program(self, schema: Json) -> AvroProgram:
        """The program of a schema."""
        if not self._bytes_alone(schema):
            self._value(schema, "")
        return self._finished()

    def _finished(self) -> AvroProgram:
        """The program, with its end and the routines that it calls."""
        self._emit(layout.AVRO_END)
        while waiting := [name for name, at in self._routines.items() if at < 0]:
            for name in waiting:
                self._routines[name] = len(self._code)
                shared = self._names.types[name]
                self._record(shared.definition, shared.namespace)
                self._emit(layout.AVRO_RETURN)
        for at, name in self._calls:
            self._code[at][1] = self._routines[name]
        return AvroProgram(self._code, bytes(self._pool))

    def _bytes_alone(self, schema: Json) -> bool:
        """True if the schema is `bytes` and no more, whatever the bytes mean. Such data are compiled as data that may
        have no length.

        Confluent's serializer for Java writes no length before them, those of Python and Avro's own write one.
        """
        inner = schema
        while isinstance(inner, dict) and isinstance(inner.get("type"), dict):
            inner = inner["type"]
        if inner != "bytes" and not (isinstance(inner, dict) and inner.get("type") == "bytes"):
            return False
        self._value(inner, "")
        self._code[-1][2] = 1
        return True

    # ---- code and literals

    def _put(self, literal: bytes) -> None:
        """Text that the next instruction writes first."""
        self._literal += literal

    def _emit(self, op: int, a: int = 0, b: int = 0) -> int:
        """The number of the instruction, which takes the literal that is waiting."""
        self._code.append([op, a, b, self._pooled(self._literal), len(self._literal)])
        self._literal = b""
        return len(self._code) - 1

    def _label(self) -> int:
        """The number of the next instruction, for a jump to it: what is waiting is written before."""
        if self._literal:
            self._emit(layout.AVRO_LITERAL)
        return len(self._code)

    def _pooled(self, literal: bytes) -> int:
        if literal not in self._places:
            self._places[literal] = len(self._pool)
            self._pool += literal
        return self._places[literal]

    def _numbers(self, numbers: Sequence[int]) -> int:
        """Return the place of these numbers in the pool, as int32."""
        self._pool += bytes(-len(self._pool) % 4)
        at = len(self._pool)
        self._pool += np.array(numbers, "<i4").tobytes()
        return at

    # ---- types

    def _value(self, schema: Json, namespace: str) -> None:
        found = resolved_type(schema, namespace, self._names)
        match found.kind:
            case "null":
                self._put(b"null")
            case "union":
                self._union(found)
            case "array" | "map":
                self._items(found)
            case "enum":
                self._enum(found)
            case "fixed":
                self._fixed(found.definition)
            case "record" if found.uses > 1:
                self._routines.setdefault(found.name, -1)
                self._calls.append((self._emit(layout.AVRO_CALL), found.name))
            case "record":
                self._record(found.definition, found.namespace)
            case _:
                self._primitive(found.kind, found.definition)

    def _primitive(self, kind: str, definition: dict[str, Json]) -> None:
        logical = definition.get("logicalType")
        if isinstance(logical, str) and (time := TIMES.get((kind, logical))):
            self._emit(*time)
        elif kind == "bytes" and (scale := decimal_scale(definition, None)) is not None:
            self._emit(layout.AVRO_DECIMAL, scale)
        elif kind == "bytes" and logical == "big-decimal":
            self._emit(layout.AVRO_BIG_DECIMAL)
        else:
            self._emit(_PRIMITIVES[kind][0])

    def _items(self, found: ResolvedType) -> None:
        is_map = found.kind == "map"
        inner = found.definition.get("values" if is_map else "items")
        begin = self._emit(layout.AVRO_MAP if is_map else layout.AVRO_ARRAY)
        body = len(self._code)
        self._value(inner, found.namespace)
        self._label()
        least = self._bytes_of(inner, found.namespace) + is_map
        how = layout.AVRO_ENTRIES if is_map else layout.AVRO_ITEMS
        self._code[begin][1] = self._emit(layout.AVRO_NEXT, body, least << 2 | how)

    def _union(self, found: ResolvedType) -> None:
        choice, starts, ends = self._emit(layout.AVRO_UNION, 0, len(found.branches)), [], []
        for branch in found.branches:
            starts.append(len(self._code))
            self._value(branch, found.namespace)
            ends.append(self._emit(layout.AVRO_JUMP))
        self._code[choice][1] = self._numbers(starts)
        for end in ends:
            self._code[end][1] = len(self._code)

    def _record(self, definition: dict[str, Json], namespace: str) -> None:
        before = b"{"
        for one in record_fields(definition):
            self._put(before + json_string(str(one["name"])).encode() + b":")
            self._value(one["type"], namespace)
            before = b","
        self._put(b"{}" if before == b"{" else b"}")

    def _enum(self, found: ResolvedType) -> None:
        symbols, key = found.definition.get("symbols"), b"\0enum " + found.name.encode("utf-8", "surrogatepass")
        if key not in self._places:
            if not isinstance(symbols, list) or not all(isinstance(symbol, str) for symbol in symbols):
                raise CorruptData(f"the schema's enum {found.name[:100]!r} has no list of symbols")
            words = [json_string(symbol).encode() for symbol in symbols]
            places = [(self._pooled(word), len(word)) for word in words]
            self._places[key] = self._numbers([number for place in places for number in place])
        assert isinstance(symbols, list)
        self._emit(layout.AVRO_ENUM, self._places[key], len(symbols))

    def _fixed(self, definition: dict[str, Json]) -> None:
        size, logical = fixed_size(definition), definition.get("logicalType")
        if (scale := decimal_scale(definition, size)) is not None:
            self._emit(layout.AVRO_FIXED_DECIMAL, scale, size)
        elif logical == "uuid" and size == 16:
            self._emit(layout.AVRO_UUID, 0, size)
        elif logical == "duration" and size == 12:
            self._emit(layout.AVRO_DURATION, 0, size)
        else:
            self._emit(layout.AVRO_FIXED, 0, size)

    # ---- sizes

    def _bytes_of(self, schema: Json, namespace: str) -> int:
        """How many bytes a datum has at least."""
        found = resolved_type(schema, namespace, self._names)
        if found.kind == "fixed":
            return fixed_size(found.definition)
        if found.kind != "record":
            return _PRIMITIVES[found.kind][1] if found.kind in PRIMITIVES else 1
        if found.name not in self._least:
            self._least[found.name] = 0  # as long as it is not known: of one that holds itself
            sizes = [self._bytes_of(one["type"], found.namespace) for one in record_fields(found.definition)]
            self._least[found.name] = min(sum(sizes), _MAX_FIXED)
        return self._least[found.name]


def fixed_size(definition: dict[str, Json]) -> int:
    """The bytes of a fixed."""
    size = definition.get("size")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= _MAX_FIXED:
        raise CorruptData("the schema has a fixed without a valid size")
    return size


def decimal_scale(definition: dict[str, Json], size: int | None) -> int | None:
    """The scale of a valid decimal, in `size` bytes of a fixed; None if it is none."""
    precision, scale = definition.get("precision"), definition.get("scale", 0)
    if definition.get("logicalType") != "decimal" or not isinstance(precision, int) or not isinstance(scale, int):
        return None
    if not 0 <= scale <= precision or precision < 1 or scale > _MAX_SCALE:
        return None
    if size is not None and (not 0 < size <= _MAX_DECIMAL_BYTES or precision > len(str((1 << 8 * size - 1) - 1)) - 1):
        return None
    return scale
