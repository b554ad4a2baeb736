"""Protobuf of an older schema, read by the newest: by the numbers of fields, and only where no value would change.

What the newest schema no longer has is left out, as Avro's rules have it. Protobuf itself would read a wider number
into a narrower one, or the last of a list as the only one, and say nothing. Source: protobuf.dev, "Updating A Message
Type".
"""

from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from kafkafs.errors import CorruptData

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
    """CorruptData where values of a message may be others when they are read by the newest schema: both descriptors."""
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
            raise CorruptData(f"the newest schema has another type for field {old.number} of {reader.full_name}")
        if old.message_type is not None:
            _check(old.message_type, new.message_type, seen)
        if new.containing_oneof is not None:
            before = old.name if old.containing_oneof is None else f"oneof {old.containing_oneof.name}"
            choices.setdefault(new.containing_oneof.name, set()).add(before)
    for name, before_it in choices.items():
        if len(before_it) > 1:
            raise CorruptData(f"the newest schema has fields as alternatives, {name}, that could be there together")


def _is_wider(old: FieldDescriptor, new: FieldDescriptor) -> bool:
    if (old.is_repeated and not new.is_repeated) or _is_map(old) != _is_map(new):
        return False
    return old.type == new.type or new.type in _WIDER.get(old.type, ())


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def check_known(message: Message) -> None:
    """CorruptData where a message holds a value of a field that it has and that is none of the field's: a symbol that
    a closed enum no longer has."""
    unknown_fields: Any = UnknownFieldSet(message)
    for unknown in unknown_fields:
        if unknown.field_number in message.DESCRIPTOR.fields_by_number:
            raise CorruptData(f"the newest schema has no such value for field {unknown.field_number}")
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
