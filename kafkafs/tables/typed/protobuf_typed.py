"""Protobuf for typed columns: a message's shape, and messages as lines of typed JSON.

Payloads are read by the newest schema, as Protobuf itself has it: by the numbers of fields. `Timestamp` and `Duration`
are columns of these types (`protobuf_times`). Wrappers are the value inside, or null. Google's other types are text, as
canonical JSON has them.

The newest schema reads the bytes of an older one only if no value would change. Fields that the newest schema no longer
has are left out, as Avro's rules have it. Protobuf itself would read a wider number into a narrower one, or the last of
a list as the only one, and say nothing. Source: protobuf.dev, "Updating A Message Type".
"""

import base64
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Error as MessageError
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from kafkafs.errors import CorruptData
from kafkafs.format.schemas.protobuf import ProtobufSchema
from kafkafs.format.schemas.reference import Reference
from kafkafs.format.schemas.shape import MOST_COLUMNS, Shape, double_bits, float_bits
from kafkafs.format.strings import json_string
from kafkafs.tables.typed.protobuf_times import time_column

_GOOGLE = "google.protobuf."
_WRAPPERS = frozenset(
    f"{_GOOGLE}{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
_AS_TEXT = frozenset(
    f"{_GOOGLE}{name}" for name in ("Timestamp", "Duration", "FieldMask", "Struct", "Value", "ListValue", "Any")
)
_KINDS = {
    FieldDescriptor.CPPTYPE_INT32: "int", FieldDescriptor.CPPTYPE_INT64: "long",
    FieldDescriptor.CPPTYPE_UINT32: "long", FieldDescriptor.CPPTYPE_UINT64: "unsigned",
    FieldDescriptor.CPPTYPE_DOUBLE: "double", FieldDescriptor.CPPTYPE_FLOAT: "float",
    FieldDescriptor.CPPTYPE_BOOL: "boolean", FieldDescriptor.CPPTYPE_ENUM: "string",
}  # fmt: skip
Put = Callable[[Any], str]


class ProtobufReader:
    """The message of a schema that columns follow. CorruptData if it is no schema, or has no such message."""

    def __init__(
        self,
        text: str,
        references: Sequence[Reference],
        name: str,
        times: tuple[str, ...],
    ) -> None:
        """`times`: see `ReaderSchema`."""
        self._times = times
        self._source = text, tuple(references)
        self._schema = ProtobufSchema(text, references)
        self._kind = self._schema.named(name)
        self._left = MOST_COLUMNS
        self.shape, self._put = self._message(self._kind.DESCRIPTOR, ())

    def decoder(self, text: str, references: Sequence[Reference]) -> Callable[[bytes, bytes | None], bytes]:
        """Return a maker of lines of payloads of the schema `text`. It raises CorruptData for payloads that do not
        fit."""
        if (text, tuple(references)) == self._source:
            return partial(self._line, self._schema, False)
        writer = ProtobufSchema(text, references)
        check_older(writer.named(self._kind.DESCRIPTOR.full_name).DESCRIPTOR, self._kind.DESCRIPTOR)
        return partial(self._line, writer, True)

    def _line(self, schema: ProtobufSchema, is_older: bool, payload: bytes, header: bytes | None) -> bytes:
        kind, content = schema.message_of(payload, header)
        if kind.DESCRIPTOR.full_name != self._kind.DESCRIPTOR.full_name:
            raise CorruptData(f"it is a {kind.DESCRIPTOR.full_name}, not a {self._kind.DESCRIPTOR.full_name}")
        message = schema.parsed(kind, content)
        try:
            if is_older:
                message = self._kind.FromString(content)
                check_known(message)
            return f'{{"value":{self._put(message)}}}\n'.encode()
        except (MessageError, json_format.Error, ValueError, TypeError, OverflowError, RecursionError) as error:
            raise CorruptData(str(error)[:300]) from None

    def _message(self, descriptor: Any, open_: tuple[str, ...]) -> tuple[Shape, Put]:
        self._left -= 1
        if self._left < 0:
            raise CorruptData(f"the schema has more than {MOST_COLUMNS} columns")
        time = time_column(descriptor) if descriptor.name in self._times else None
        if time is not None:
            return Shape(time.kind), time.text
        if descriptor.full_name in _AS_TEXT:
            return Shape("string"), self._canonical
        if descriptor.full_name in _WRAPPERS:
            shape, put = self._single(descriptor.fields[0], open_)
            return shape, lambda message: put(message.value)
        if descriptor.full_name in open_ or len(open_) > 50:
            return Shape("null"), _refuse
        fields = [(field, *self._field(field, (*open_, descriptor.full_name))) for field in descriptor.fields]

        def put_fields(message: Message) -> str:
            """An object of all its fields; one that is not there is null, or its default if nobody can tell. An
            extension has no column."""
            if is_extendable and any(field.is_extension for field, _ in message.ListFields()):
                _refuse(message)
            return "{" + ",".join(each(message) for each in puts) + "}"

        puts, is_extendable = [partial(_named, field, put) for field, _, put in fields], descriptor.is_extendable
        return Shape("record", tuple((field.name, shape) for field, shape, _ in fields)), put_fields

    def _field(self, field: FieldDescriptor, open_: tuple[str, ...]) -> tuple[Shape, Put]:
        kind = field.message_type
        if kind is not None and kind.GetOptions().map_entry:
            _, put_key = self._single(kind.fields_by_name["key"], open_)
            inner, put = self._single(kind.fields_by_name["value"], open_)
            as_text = kind.fields_by_name["key"].cpp_type == FieldDescriptor.CPPTYPE_STRING

            def put_map(entries: Any) -> str:
                """A list of `{"key":…,"value":…}`, none for an empty map; keys of all types are text."""
                pairs = (
                    f'{{"key":{put_key(key) if as_text else json_string(put_key(key))},"value":{put(entries[key])}}}'
                    for key in sorted(entries)  # the library's order is another in each process
                )
                return "[" + ",".join(pairs) + "]"

            return Shape("map", (("item", inner),)), put_map
        shape, put = self._single(field, open_)
        if field.is_repeated:
            return Shape("array", (("item", shape),)), lambda items: "[" + ",".join(map(put, items)) + "]"
        return shape, put

    def _single(self, field: FieldDescriptor, open_: tuple[str, ...]) -> tuple[Shape, Put]:
        if field.message_type is not None:
            return self._message(field.message_type, open_)
        if field.type == FieldDescriptor.TYPE_BYTES:
            return Shape("bytes"), lambda value: f'"{base64.b64encode(value).decode()}"'
        if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
            return Shape("string"), json_string
        if field.enum_type is not None:
            names = {one.number: json_string(one.name) for one in reversed(field.enum_type.values)}  # the first counts
            return Shape("string"), lambda number: names.get(number) or f'"{number}"'
        put: Put = str
        if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
            put = _bool
        elif field.cpp_type in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT):
            bits = double_bits if field.cpp_type == FieldDescriptor.CPPTYPE_DOUBLE else float_bits
            put = partial(_bits, bits)
        return Shape(_KINDS[field.cpp_type]), put

    def _canonical(self, message: Message) -> str:
        text = json_format.MessageToJson(
            message, preserving_proto_field_name=True, indent=None, descriptor_pool=self._schema.pool,
            ensure_ascii=False, sort_keys=True,
        )  # fmt: skip
        is_text = message.DESCRIPTOR.name in ("Timestamp", "Duration", "FieldMask")
        return text if is_text else json_string(text)


def _named(field: FieldDescriptor, put: Put, message: Message) -> str:
    """A field with its name; null where it is known not to be there."""
    if field.has_presence and not message.HasField(field.name):
        return f"{json_string(field.name)}:null"
    return f"{json_string(field.name)}:{put(getattr(message, field.name))}"


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _bits(bits: Callable[[float], int], value: float) -> str:
    return str(bits(value))


def _refuse(_: Message) -> str:
    raise CorruptData("it has fields that no column can hold")


_FIELD = FieldDescriptor
_WIDER = {
    _FIELD.TYPE_BOOL: {_FIELD.TYPE_INT32, _FIELD.TYPE_INT64, _FIELD.TYPE_UINT32, _FIELD.TYPE_UINT64},
    _FIELD.TYPE_INT32: {_FIELD.TYPE_INT64, _FIELD.TYPE_ENUM},
    _FIELD.TYPE_UINT32: {_FIELD.TYPE_INT64, _FIELD.TYPE_UINT64},
    _FIELD.TYPE_SINT32: {_FIELD.TYPE_SINT64},
    _FIELD.TYPE_ENUM: {_FIELD.TYPE_INT32, _FIELD.TYPE_INT64},
    _FIELD.TYPE_STRING: {_FIELD.TYPE_BYTES},
    _FIELD.TYPE_BYTES: {_FIELD.TYPE_STRING},
}
"""The types that take every value of one, as it is on the wire; text that is none is found when it is parsed."""


def check_older(writer: Any, reader: Any) -> None:
    """CorruptData if values of a message may be others when they are read by the newest schema: both descriptors."""
    _check(writer, reader, set())


def _check(writer: Any, reader: Any, seen: set[tuple[str, str]]) -> None:
    if (writer.full_name, reader.full_name) in seen:
        return
    seen.add((writer.full_name, reader.full_name))
    choices: dict[str, set[str]] = {}
    for old in writer.fields:
        new = reader.fields_by_number.get(old.number)
        if new is None:
            continue
        if not _is_wider(old, new):
            raise CorruptData(f"the table's schema has another type for field {old.number} of {reader.full_name}")
        if old.message_type is not None:
            _check(old.message_type, new.message_type, seen)
        if new.containing_oneof is not None:
            before = old.name if old.containing_oneof is None else f"oneof {old.containing_oneof.name}"
            choices.setdefault(new.containing_oneof.name, set()).add(before)
    for name, before_it in choices.items():
        if len(before_it) > 1:
            raise CorruptData(f"the table's schema has fields as alternatives, {name}, that could be there together")


def _is_wider(old: FieldDescriptor, new: FieldDescriptor) -> bool:
    if (old.is_repeated and not new.is_repeated) or _is_map(old) != _is_map(new):
        return False
    messages = {each.message_type.full_name for each in (old, new) if each.message_type is not None}
    if len(messages) > 1 and messages & _AS_TEXT:
        return False  # a Duration, say, and a Timestamp have the same fields, and mean something else
    return old.type == new.type or new.type in _WIDER.get(old.type, ())


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def check_known(message: Message) -> None:
    """CorruptData if a message holds a value of a field that it has and that is none of the field's: a symbol that
    a closed enum no longer has."""
    unknown_fields: Any = UnknownFieldSet(message)
    for unknown in unknown_fields:
        if unknown.field_number in message.DESCRIPTOR.fields_by_number:
            raise CorruptData(f"the table's schema has no such value for field {unknown.field_number}")
    for field, content in message.ListFields():
        for inner in _messages(field, content):
            check_known(inner)


def _messages(field: FieldDescriptor, content: Any) -> list[Message]:
    kind = field.message_type
    if kind is None:
        return []
    if _is_map(field):
        return list(content.values()) if kind.fields_by_name["value"].message_type is not None else []
    return list(content) if field.is_repeated else [content]
