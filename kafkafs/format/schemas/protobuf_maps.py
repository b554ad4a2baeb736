"""Maps of Protobuf, of which the library shows the entries in an order that is another one in each process."""

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Error as MessageError
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from kafkafs.errors import CorruptData

_FREE = ("google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue")
_ANY = "google.protobuf.Any"
_MOST_IN_EACH_OTHER = 10
_NOTHING, _MAP, _INSIDE = range(3)  # a type's relation to maps: none; it is a map's entry; it has one somewhere inside


class MapOrder:
    """Brings what the library made of the messages of one pool into order: the entries of maps by their keys."""

    def __init__(self, pool: DescriptorPool) -> None:
        self._pool = pool
        self._known: dict[str, int] = {}

    def of(self, message: Message, made: Any) -> Any:
        """The library's output for a message, with maps in the order of their keys."""
        name = message.DESCRIPTOR.full_name
        if name in _FREE:
            return json.loads(json.dumps(made, sort_keys=True))
        if name == _ANY:
            return self._any(message, made)
        for field, value in message.ListFields() if isinstance(made, dict) else ():
            kind = field.message_type
            if kind is None or (found := self._maps_of(kind)) == _NOTHING:
                continue
            key = f"[{field.full_name}]" if field.is_extension else field.name
            if found == _MAP:
                made[key] = self._entries(kind, value, made[key])
            elif field.is_repeated:
                made[key] = [self.of(*each) for each in zip(value, made[key], strict=True)]
            else:
                made[key] = self.of(value, made[key])
        return made

    def check_depth(self, message: Any, left: int = _MOST_IN_EACH_OTHER) -> None:
        """CorruptData if an `Any` is in an `Any`, and so on, too deep: each has a copy of all that is inside."""
        if message.DESCRIPTOR.full_name == _ANY:
            if not left:
                raise CorruptData(f"it holds google.protobuf.Any in each other, deeper than {_MOST_IN_EACH_OTHER}")
            with suppress(KeyError, MessageError):
                self.check_depth(self._unpacked(message), left - 1)
            return
        for field, value in message.ListFields():
            kind = field.message_type
            if kind is None or (found := self._maps_of(kind)) == _NOTHING:
                continue
            if found == _MAP:
                inner = value.values() if kind.fields_by_name["value"].message_type is not None else ()
            else:
                inner = value if field.is_repeated else (value,)
            for each in inner:
                self.check_depth(each, left)

    def _unpacked(self, message: Any) -> Message:
        kind = self._pool.FindMessageTypeByName(message.type_url.rpartition("/")[2])
        return GetMessageClass(kind).FromString(message.value)

    def _entries(self, kind: Descriptor, entries: Any, made: Any) -> Any:
        is_message = kind.fields_by_name["value"].message_type is not None
        texts = {key: str(key).lower() if isinstance(key, bool) else str(key) for key in sorted(entries)}
        return {text: self.of(entries[key], made[text]) if is_message else made[text] for key, text in texts.items()}

    def _any(self, message: Any, made: Any) -> Any:
        if not message.type_url:
            return made
        inner = self._unpacked(message)
        if inner.DESCRIPTOR.full_name in (*_FREE, _ANY):
            return made | {"value": self.of(inner, made["value"])}
        return self.of(inner, made)

    def _maps_of(self, kind: Descriptor) -> int:
        known = self._known.get(kind.full_name)
        if known is None:
            known = _MAP if _is_entry(kind) else _INSIDE if any(map(_may_have_maps, _reached(kind))) else _NOTHING
            self._known[kind.full_name] = known
        return known


def _reached(kind: Descriptor) -> list[Descriptor]:
    """A type, and all that are inside of it."""
    found, names = [kind], {kind.full_name}
    for each in found:
        for field in each.fields:
            inner = field.message_type
            if inner is not None and inner.full_name not in names:
                names.add(inner.full_name)
                found.append(inner)
    return found


def _may_have_maps(kind: Descriptor) -> bool:
    return kind.full_name in (*_FREE, _ANY) or kind.is_extendable or _is_entry(kind)


def _is_entry(kind: Descriptor) -> bool:
    return bool(kind.GetOptions().map_entry)


def check_maps(fields: Iterable[FieldDescriptor], messages: Iterable[Descriptor]) -> None:
    """CorruptData if a field has one entry of a map: the library shows nothing of it."""
    for field in fields:
        if not field.is_repeated and field.message_type is not None and _is_entry(field.message_type):
            raise CorruptData(f"the schema's map {field.name[:100]!r} is not a list of entries")
    for message in messages:
        check_maps((*message.fields, *message.extensions), message.nested_types)
