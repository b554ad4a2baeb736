"""Messages as JSON, character for character as Kafka's tool prints them by its JsonConverters and Jackson.

Fields stand in the schema's order; a tagged one that equals its default is left out. Bytes are base64 with padding.
How a text is quoted is the caller's choice: `jackson_string` as the tool does it. Source: JsonConverterGenerator.
"""

import functools
import json
import math
import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kafkafs.format.messages.message_values import NUMBERS, Fields, Value
from kafkafs.format.messages.reading import default
from kafkafs.format.messages.schema import Field, MessageSchema, schema
from kafkafs.format.messages.topic_records import Message
from kafkafs.format.strings import java_double

Quote = Callable[[str], str]
"""A text -> the text between quotes, escaped."""

REDACTED = "redacted"
"""A field that no schema has: true where others were emptied because they are secret (see `redaction`)."""

_Writer = Callable[[Value, Quote], str]
_SPECIAL = re.compile(r'["\\\x00-\x1f]')
_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


class Embedded(NamedTuple):
    """A message in place of the bytes that held it."""

    jar: str
    name: str
    version: int
    fields: Fields


def key_json(message: Message, quote: Quote) -> str | None:
    """The key as `{"type":"1","data":{...}}`; None where the topic's records have none."""
    if message.key is None:
        return None
    data = fields_json(message.topic.value, f"{message.name}Key", 0, message.key, quote)
    return f'{{"type":"{message.number}","data":{data}}}'


def value_json(message: Message, quote: Quote) -> str | None:
    """The value as `{"version":"3","data":{...}}` or, without a key, `{"type":NAME,"version":2,"data":{...}}`.

    None for a tombstone.
    """
    if message.value is None or message.version is None:
        return None
    jar, version = message.topic.value, message.version
    if message.key is not None:
        data = fields_json(jar, f"{message.name}Value", version, message.value, quote)
        return f'{{"version":"{version}","data":{data}}}'
    data = fields_json(jar, message.name, version, message.value, quote)
    return f'{{"type":"{type_name(message.name)}","version":{version},"data":{data}}}'


def type_name(name: str) -> str:
    """A schema's name as a constant of Java: REGISTER_BROKER_RECORD."""
    return _CAPITAL.sub("_", name).upper()


def fields_json(jar: str, name: str, version: int, fields: Fields, quote: Quote) -> str:
    """The fields of any message as a JSON object; those that the version has and `fields` has not at their default."""
    return _writer(jar, name, schema(jar, name).versions.nearest(version))(fields, quote)


def jackson_string(text: str) -> str:
    """As Jackson writes it: what must be escaped is, in upper-case hexadecimal, and nothing else."""
    return f'"{_SPECIAL.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    short = json.dumps(found[0])[1:-1]
    return short if len(short) == 2 else f"\\u{ord(found[0]):04X}"


@functools.cache
def _writer(jar: str, name: str, version: int) -> _Writer:
    found = schema(jar, name)
    return _structure(found, found.fields, version)


class _Always:
    """Equal to no value."""


def _structure(found: MessageSchema, fields: Sequence[Field], version: int) -> _Writer:
    members = [
        (
            f'"{field.name}":',
            field.name,
            default(found, field, version) if version in field.tagged else _Always,
            default(found, field, version),
            _value(found, field.type, version),
        )
        for field in fields
        if version in field.versions
    ]

    def write(value: Value, quote: Quote) -> str:
        """The object: what `value` lacks at its default, and of tagged fields only those that differ from theirs."""
        assert isinstance(value, Mapping)
        parts = []
        for label, name, left_out, missing, text in members:
            inner = value.get(name, missing)
            if inner != left_out:
                parts.append(label + ("null" if inner is None else text(inner, quote)))
        if REDACTED in value:
            parts.append(f'"{REDACTED}":true')
        return f"{{{','.join(parts)}}}"

    return write


def _value(found: MessageSchema, kind: str, version: int) -> _Writer:
    if kind.startswith("[]"):
        return _array(_value(found, kind[2:], version))
    if kind in found.structures:
        return _structure(found, found.structures[kind], version)
    match kind:
        case "bool":
            return lambda value, _: "true" if value else "false"
        case "float64":
            return _double
        case "bytes":
            return _bytes
        case _ if kind in NUMBERS:
            return lambda value, quote: quote(value) if isinstance(value, str) else str(value)  # a text: its name
        case _:
            return lambda value, quote: quote(str(value))


def _array(item: _Writer) -> _Writer:
    def write(value: Value, quote: Quote) -> str:
        """The items between brackets; none is `[]`."""
        assert isinstance(value, tuple)
        return f"[{','.join([item(each, quote) for each in value])}]"

    return write


def _double(value: Value, quote: Quote) -> str:
    assert isinstance(value, float)
    text = java_double(value)
    return text if math.isfinite(value) else quote(text)


def _bytes(value: Value, quote: Quote) -> str:
    if isinstance(value, Embedded):
        return fields_json(*value, quote)
    assert isinstance(value, bytes)
    return quote(b64encode(value).decode("ascii"))
