"""The defaults of a reader's fields: as the bytes that Avro writes of them, so that they become what data become.

If a record's default names no value for a field, the default of the field itself counts. A union takes its first branch
that can have the default. Source: Avro 1.12, "Complex Types"; Java's ResolvingGrammarGenerator.encode.
"""

import struct
from contextlib import suppress

import numpy as np

from kafkafs.errors import CorruptData
from kafkafs.format import kernels
from kafkafs.format.native.layout import AVRO_SCRATCH, DECODED_ALL, FIELD_SLOT, FIELD_WORDS, WAY_AVRO
from kafkafs.format.schemas.avro_names import AvroNames, Json, ResolvedType, record_fields, resolved_type
from kafkafs.format.schemas.avro_program import AvroProgram, fixed_size
from kafkafs.format.varints import signed_bytes

_ROOM = 16 << 10  # bytes of text, at first


def default_bytes(schema: Json, namespace: str, default: Json, names: AvroNames) -> bytes:
    """A default as a datum of its type. CorruptData if it is invalid."""
    found = resolved_type(schema, namespace, names)
    match found.kind:
        case "union":
            return _branch(found, default, names)
        case "record" if isinstance(default, dict):
            return b"".join(
                default_bytes(one["type"], found.namespace, _of_field(one, default), names)
                for one in record_fields(found.definition)
            )
        case "array" if isinstance(default, list):
            items = [default_bytes(found.definition.get("items"), namespace, one, names) for one in default]
            return _block(items)
        case "map" if isinstance(default, dict):
            values = found.definition.get("values")
            return _block(
                [_sized(_utf8(key)) + default_bytes(values, namespace, default[key], names) for key in default]
            )
        case "enum" if isinstance(default, str):
            symbols = found.definition.get("symbols")
            if isinstance(symbols, list) and default in symbols:
                return _zigzag(symbols.index(default))
        case "fixed" if isinstance(default, str):
            size = fixed_size(found.definition)
            return _latin(default)[:size].ljust(size, b"\0")
    return _primitive(found.kind, default)


def _of_field(field: dict[str, Json], default: dict[str, Json]) -> Json:
    if field["name"] in default:
        return default[str(field["name"])]
    if "default" not in field:
        raise CorruptData("a field's default is a record without all its fields")
    return field["default"]


def _branch(found: ResolvedType, default: Json, names: AvroNames) -> bytes:
    for number, branch in enumerate(found.branches):
        with suppress(CorruptData):
            return _zigzag(number) + default_bytes(branch, found.namespace, default, names)
    raise CorruptData("a field's default has a type that its union lacks")


def _primitive(kind: str, default: Json) -> bytes:
    is_number = isinstance(default, int | float) and not isinstance(default, bool)
    match kind:
        case "null" if default is None:
            return b""
        case "boolean" if isinstance(default, bool):
            return bytes([default])
        case "string" if isinstance(default, str):
            return _sized(_utf8(default))
        case "bytes" if isinstance(default, str):
            return _sized(_latin(default))
        case "int" | "long" if is_number and isinstance(default, int):
            return _zigzag(default)
        case "float" | "double" if is_number:
            assert isinstance(default, int | float)
            try:
                return struct.pack("<f" if kind == "float" else "<d", default)
            except (OverflowError, struct.error):
                raise CorruptData("a field's default is not a number of its type") from None
    raise CorruptData("a field's default is of another type than the field")


def _zigzag(number: int) -> bytes:
    if not -(1 << 63) <= number < 1 << 63:
        raise CorruptData("a field's default is not a number of its type")
    return signed_bytes(number)


def _sized(content: bytes) -> bytes:
    return _zigzag(len(content)) + content


def _block(items: list[bytes]) -> bytes:
    return (_zigzag(len(items)) + b"".join(items) if items else b"") + b"\0"


def _latin(text: str) -> bytes:
    """Bytes in a schema are characters up to U+00FF."""
    return text.encode("latin-1", "replace")


def _utf8(text: str) -> bytes:
    """As Java writes it: a question mark for half a character."""
    return text.encode("utf-8", "replace")


def text_of(program: AvroProgram, payload: bytes) -> bytes:
    """The result of a program for columns for one payload. CorruptData if it does not fit."""
    field = np.zeros((1, FIELD_WORDS), np.int64)
    field[0, FIELD_SLOT.payload_size] = len(payload)
    decoder = np.array([[WAY_AVRO, 0, 0, 0]], np.int64)
    source, scratch, size = payload + b"\0", np.empty(AVRO_SCRATCH, np.uint8), _ROOM
    while True:
        text = np.empty(size, np.uint8)
        answer, _, used = kernels.decode_fields(
            field, 0, 1, source, decoder, program.code, program.pool, text, 0, scratch, True
        )  # fmt: skip
        if answer == DECODED_ALL:
            break
        size *= 8
    if field[0, FIELD_SLOT.error]:
        raise CorruptData("a field's default does not fit its column")
    return text[:used].tobytes()
