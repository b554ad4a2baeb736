"""Bytes -> fields: each version of a schema becomes, when it is first met, a reader made of small functions.

Numbers that stand side by side are read by one call; nothing of the schema is looked at while records are read.
Source: MessageDataGenerator of 4.4.0.
"""

import functools
import struct
from collections.abc import Callable, Mapping, Sequence

from kafkafs.format.messages.message_values import (
    NUMBERS,
    CorruptMessage,
    Fields,
    Reader,
    Value,
    check,
    length,
    null,
    primitive,
    several,
    several_numbers,
    unsigned_varint,
)
from kafkafs.format.messages.schema import Field, MessageSchema, schema

StructureReader = Callable[[bytes, int], tuple[Fields, int]]

ZERO_UUID = "A" * 22
_MOST_ITEMS = 1_000_000
_MOST_TAGS = 10_000


def reader(jar: str, name: str, version: int) -> StructureReader:
    """Reads one message. It reads an unknown version as Kafka's own code does: as the nearest known version.

    (Kafka refuses such versions in coordinator records before it reads them; metadata records it does read, except
    that a structure inside refuses a version above the known ones.)
    """
    known = schema(jar, name).versions
    return _reader(jar, name, known.nearest(version), version > known.highest)


@functools.cache  # caches known versions only: records may claim thousands
def _reader(jar: str, name: str, version: int, is_beyond: bool) -> StructureReader:
    found = schema(jar, name)
    return _Compiler(found, version, is_beyond).structure(found.fields)


def default(found: MessageSchema, field: Field, version: int) -> Value:
    """Return the value of a field that was not written."""
    text = field.default
    if text == "null":
        return None
    kind = field.type
    if kind.startswith("[]"):
        return ()
    if kind in found.structures:
        return {
            inner.name: default(found, inner, version) for inner in found.structures[kind] if version in inner.versions
        }
    match kind:
        case "string":
            return str(text or "")
        case "bytes":
            return b""
        case "uuid":
            return str(text or ZERO_UUID)
        case "bool":
            return str(text).lower() == "true"
        case "float64":
            return float(str(text or 0))
        case _:
            return int(str(text or 0), 0)


class _Compiler:
    """Makes the readers of one version of one schema."""

    def __init__(self, found: MessageSchema, version: int, is_beyond: bool) -> None:
        self._schema = found
        self._version = version
        self._is_beyond = is_beyond
        self._is_flexible = version in found.flexible

    def structure(self, fields: Sequence[Field]) -> StructureReader:
        """A reader of these fields, one after the other, and of the tagged ones behind them."""
        present = [field for field in fields if self._version in field.versions]
        template = {field.name: default(self._schema, field, self._version) for field in present}
        steps = self._steps([field for field in present if self._version not in field.tagged])
        tagged = {
            field.tag: (field.name, self._value(field, is_tagged=True))
            if field in present and self._version in field.tagged
            else (field.name, self._foreign_tag(field.tag))
            for field in fields
            if field.tag >= 0
        }
        is_flexible = self._is_flexible

        def read(data: bytes, at: int) -> tuple[Fields, int]:
            found = template.copy()
            for unpack, size, names, name, value in steps:
                if size:
                    found.update(zip(names, unpack(data, at), strict=True))
                    at += size
                if value is not None:
                    found[name], at = value(data, at)
            if is_flexible:
                if data[at]:
                    return found, _tagged(data, at, tagged, found)
                at += 1
            return found, at

        return read

    def _foreign_tag(self, tag: int) -> Reader:
        """A tag that another version of the schema has is refused, where one that none has is passed over."""

        def read(_data: bytes, _at: int) -> tuple[Value, int]:
            """CorruptMessage, whatever it holds."""
            raise CorruptMessage(f"Tag {tag} is not valid for version {self._version}")

        return read

    def _steps(self, fields: Sequence[Field]) -> list["_Step"]:
        """Each step: some numbers at once, and one value of a variable size behind them."""
        steps, numbers = [], list[Field]()
        for field in fields:
            if field.type in NUMBERS:
                numbers.append(field)
            else:
                steps.append(_step(numbers, field.name, self._value(field)))
                numbers = []
        if numbers:
            steps.append(_step(numbers, "", None))
        return steps

    def _value(self, field: Field, is_tagged: bool = False) -> Reader:
        flexible = field.flexible
        is_compact = self._is_flexible if flexible is None else self._version in flexible
        is_nullable = self._version in field.nullable
        kind = field.type
        if kind.startswith("[]"):
            return self._array(field, kind[2:], is_compact, is_nullable)
        if kind in self._schema.structures:
            return self._nested(kind, is_nullable, is_tagged)
        return primitive(kind, field.name, is_compact, is_nullable)

    def _array(self, field: Field, kind: str, is_compact: bool, is_nullable: bool) -> Reader:
        size = length("[]", is_compact)
        name = field.name
        if kind in NUMBERS:
            items = several_numbers(NUMBERS[kind])
        elif kind in self._schema.structures:
            items = several(self._nested(kind, False, False))
        else:
            items = several(primitive(kind, f"{name} element", is_compact, False))

        def read(data: bytes, at: int) -> tuple[Value, int]:
            """A tuple, None for a null; CorruptMessage where more items are stated than bytes are left."""
            count, at = size(data, at)
            if count < 0:
                return null(name, is_nullable, at)
            if count > len(data) - at:
                left = len(data) - at
                raise CorruptMessage(
                    f"Tried to allocate a collection of size {count}, but there are only {left} bytes remaining."
                )
            if count > _MOST_ITEMS:
                raise CorruptMessage(_too_many(f"a collection of size {count}", f"size of {_MOST_ITEMS}"))
            return items(data, at, count)

        return read

    def _nested(self, kind: str, is_nullable: bool, is_tagged: bool) -> Reader:
        read = self.structure(self._schema.structures[kind])
        if self._is_beyond:
            read = _refuse(kind)
        if not is_nullable:
            return read

        def read_if_there(data: bytes, at: int) -> tuple[Value, int]:
            """The structure; None if the byte, or of a tagged one the varint, before it says so."""
            if is_tagged:
                there, at = unsigned_varint(data, at)
                is_null = there <= 0
            else:
                is_null = data[at] >= 0x80
                at += 1
            return (None, at) if is_null else read(data, at)

        return read_if_there


_Step = tuple[Callable[[bytes, int], tuple[Value, ...]], int, tuple[str, ...], str, Reader | None]
"""How to read some numbers, their size and names; the name and the reader of the field behind them."""


def _step(numbers: Sequence[Field], name: str, value: Reader | None) -> _Step:
    layout = struct.Struct(">" + "".join(NUMBERS[field.type] for field in numbers))
    return layout.unpack_from, layout.size, tuple(field.name for field in numbers), name, value


def _tagged(data: bytes, at: int, known: Mapping[int, tuple[str, Reader]], found: Fields) -> int:
    """The position behind the tagged fields at `at`; those known go to `found`, their stated sizes do not count."""
    count, at = unsigned_varint(data, at)
    if count < 0:
        raise CorruptMessage(f"Invalid negative number of tagged fields {count}")
    if count > len(data) - at:
        raise CorruptMessage(
            f"Tried to read {count} tagged fields, but there are only {len(data) - at} bytes remaining."
        )
    if count > _MOST_TAGS:
        raise CorruptMessage(_too_many(f"{count} tagged fields", f"count of {_MOST_TAGS}"))
    for _ in range(count):
        tag, at = unsigned_varint(data, at)
        size, at = unsigned_varint(data, at)
        if tag in known:
            name, read = known[tag]
            found[name], at = read(data, at)
        else:
            check(data, at, size)
            at += size
    return at


def _too_many(what: str, most: str) -> str:
    return f"Tried to read {what}, which exceeds the maximum allowed {most}."


def _refuse(kind: str) -> StructureReader:
    def read(_data: bytes, _at: int) -> tuple[Fields, int]:
        """CorruptMessage, whatever follows."""
        raise CorruptMessage(f"a {kind} of an unknown version")

    return read
