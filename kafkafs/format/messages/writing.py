"""Fields -> bytes: the way back of `reading`, by the same schemas, for what Kafka itself is to read again.

    message_bytes("metadata", "TopicRecord", 0, {"name": "orders", "topicId": ...})
    metadata_record("TopicRecord", 0, {...})    the same, framed as a record of `__cluster_metadata`

A field that is not given has its default, and a tagged one with its default is not written. UsageError for a version
that the schema has not. Source: MessageDataGenerator of 4.3.1.
"""

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from kafkafs.errors import UsageError
from kafkafs.format.messages.message_values import NUMBERS, uuid_bytes
from kafkafs.format.messages.reading import default
from kafkafs.format.messages.schema import NO_VERSIONS, Field, MessageSchema, names_by_number, schema
from kafkafs.format.messages.topic_records import FRAME_VERSION, InternalTopic
from kafkafs.format.varints import unsigned_bytes


def message_bytes(jar: str, name: str, version: int, fields: Mapping[str, Any]) -> bytes:
    """One message of that version, with nothing in front of it."""
    found = schema(jar, name)
    if version not in found.versions:
        raise UsageError(f"{name} has no version {version}; there are {found.versions.lowest} to"
                         f" {found.versions.highest}")  # fmt: skip
    return _Writer(found, version).structure(found.fields, fields)


def metadata_record(name: str, version: int, fields: Mapping[str, Any]) -> bytes:
    """The value of a record of `__cluster_metadata`."""
    jar = InternalTopic.CLUSTER_METADATA.value
    number = next(number for number, each in names_by_number(jar, "Record").items() if each == name)
    return b"".join(map(unsigned_bytes, (FRAME_VERSION, number, version))) + message_bytes(jar, name, version, fields)


class _Writer:
    """Writes one version of one schema."""

    def __init__(self, found: MessageSchema, version: int) -> None:
        self._schema = found
        self._version = version
        self._is_flexible = version in found.flexible

    def structure(self, fields: Sequence[Field], given: Mapping[str, Any]) -> bytes:
        """The bytes of the fields one after the other, then of the tagged fields that are not at their default."""
        made, tagged = bytearray(), list[tuple[int, bytes]]()
        for field in fields:
            if self._version not in field.versions:
                continue
            missing = default(self._schema, field, self._version)
            value = given.get(field.name, missing)
            if self._version not in field.tagged:
                made += self._value(field, field.type, value)
            elif value != missing:
                tagged.append((field.tag, self._value(field, field.type, value, is_tagged=True)))
        if self._is_flexible:
            made += unsigned_bytes(len(tagged))
            for tag, each in sorted(tagged):
                made += unsigned_bytes(tag) + unsigned_bytes(len(each)) + each
        return bytes(made)

    def _value(self, field: Field, kind: str, value: Any, *, is_tagged: bool = False) -> bytes:
        if kind in NUMBERS:
            return struct.pack(f">{NUMBERS[kind]}", value)
        if kind == "uuid":
            return uuid_bytes(value)
        if kind in self._schema.structures:
            return self._nested(field, kind, value, is_tagged)
        is_compact = self._is_flexible if field.flexible is None else self._version in field.flexible
        if kind.startswith("[]"):
            one = Field(field.name, kind[2:], field.versions, NO_VERSIONS, NO_VERSIONS, -1, None, field.flexible)
            items = [self._value(one, kind[2:], each) for each in value or ()]
            return _length(">i", is_compact, None if value is None else len(items)) + b"".join(items)
        data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
        layout = ">h" if kind == "string" else ">i"
        return _length(layout, is_compact, None if data is None else len(data)) + (data or b"")

    def _nested(self, field: Field, kind: str, value: Any, is_tagged: bool) -> bytes:
        there = b""
        if self._version in field.nullable:  # a tagged field has an unsigned varint 0 or 1, others a signed byte
            there = b"\1" if value is not None else b"\0" if is_tagged else b"\xff"
        return there if value is None else there + self.structure(self._schema.structures[kind], value)


def _length(layout: str, is_compact: bool, length: int | None) -> bytes:
    """The length of what follows; None for a null."""
    if is_compact:
        return unsigned_bytes(0 if length is None else length + 1)
    return struct.pack(layout, -1 if length is None else length)
