"""Messages as JSON, character for character as Kafka's tool prints them by its JsonConverters and Jackson.

Fields are in the schema's order; a tagged one that equals its default is left out. Bytes are base64 with padding.
How a text is quoted is the caller's choice: `jackson_string` as the tool does it. Source: JsonConverterGenerator.

Decoded views must not show SCRAM secrets, delegation tokens, or configs that are or may be passwords. Emptied fields
are None, and `redacted` is True beside them. A config is shown only if its name is one that Kafka 4.4.0 defines with
another type than PASSWORD (`configs.json`, made by `scripts/new-kafka`): a name unknown to it may be a plugin's, and
hold anything. Kafka's own shell does the same (MetadataNodeRedactionCriteria, KafkaConfigSchema).
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
from kafkafs.format.messages.schema import CONFIGS, Field, MessageSchema, schema
from kafkafs.format.messages.topic_records import InternalTopic, Message, Unreadable, parse_fields, parse_record
from kafkafs.format.strings import java_double

Quote = Callable[[str], str]
"""A text -> the text between quotes, escaped."""

REDACTED = "redacted"
"""A field that no schema has: true where others were emptied because they are secret."""

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
    """The key as `{"type":"1","data":{...}}`; None if the topic's records have none."""
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


_CONSUMER = "consumer"
_MEMBER_PROTOCOLS = {"subscription": "ConsumerProtocolSubscription", "assignment": "ConsumerProtocolAssignment"}


def with_protocols(message: Message) -> Message:
    """A classic consumer group with what its members subscribed to and were assigned, where that can be read."""
    value = message.value
    if message.name != "GroupMetadata" or value is None or value["protocolType"] != _CONSUMER:
        return message
    members = tuple(_member(member) for member in value["members"])
    return message._replace(value=value | {"members": members})


def _member(member: Fields) -> Fields:
    read = {field: _protocol(name, member[field]) for field, name in _MEMBER_PROTOCOLS.items()}
    return member | {field: protocol for field, protocol in read.items() if protocol is not None}


def _protocol(name: str, data: bytes) -> Embedded | None:
    version = int.from_bytes(data[:2], "big", signed=True)
    fields = parse_fields("clients", name, version, data[2:]) if len(data) >= 2 else None
    return None if fields is None else Embedded("clients", name, version, fields)


_KINDS: Mapping[int, str] = {2: "topic", 4: "broker", 16: "client-metrics", 32: "group"}
"""ConfigResource.Type, as far as `configs.json` has names for them. The rest is redacted whatever it is."""

_LISTENER = "listener.name."

_SECRETS: Mapping[str, tuple[str, ...]] = {
    "UserScramCredentialRecord": ("salt", "storedKey", "serverKey"),
    "DelegationTokenRecord": (
        "owner", "requester", "renewers", "issueTimestamp", "maxTimestamp", "expirationTimestamp", "tokenId",
    ),
    "RemoveDelegationTokenRecord": ("tokenId",),
}  # fmt: skip
"""The fields to empty, by the record's name in the cluster metadata."""


class Decoded(NamedTuple):
    """A record of one of Kafka's own topics as JSON texts, without secrets.

    `key` and `value` are None if there are none, or if `error` says in Kafka's words why they cannot be read.
    `hides_raw`: the bytes must not be shown instead, for they may hold a secret.
    """

    key: str | None
    value: str | None
    error: str | None
    hides_raw: bool


def decoded_json(topic: InternalTopic, key: bytes | None, value: bytes | None, quote: Quote) -> Decoded:
    """A record as `.decoded.jsonl` shows it; its JSON is that of the dump, with texts quoted by `quote`."""
    message = parse_record(topic, key, value)
    if isinstance(message, Unreadable):
        return Decoded(None, None, message.reason, topic is InternalTopic.CLUSTER_METADATA)
    message = redacted(message)
    return Decoded(key_json(message, quote), value_json(with_protocols(message), quote), None, False)


def redacted(message: Message) -> Message:
    """The message without its secrets; itself where it has none."""
    if message.topic is not InternalTopic.CLUSTER_METADATA or message.value is None:
        return message
    value = message.value
    if message.name == "ConfigRecord":
        if value["value"] is None or not is_secret_config(value["resourceType"], value["name"]):
            return message
        return message._replace(value=_without(value, ("value",)))
    secrets = _SECRETS.get(message.name)
    return message if secrets is None else message._replace(value=_without(value, secrets))


def is_secret_config(resource_type: int, name: str) -> bool:
    """True if the value of that config of a topic, broker, group... (ConfigResource.Type) is or may be a secret."""
    known = known_configs().get(_KINDS.get(resource_type, ""), frozenset())
    if name in known:
        return False
    if not name.startswith(_LISTENER):
        return True
    _, _, rest = name.removeprefix(_LISTENER).partition(".")  # behind the listener's name, then its mechanism's
    return rest not in known and rest.partition(".")[2] not in known


def _without(value: Fields, secrets: tuple[str, ...]) -> Fields:
    return value | dict.fromkeys(secrets) | {REDACTED: True}


@functools.cache
def known_configs() -> Mapping[str, frozenset[str]]:
    """The names of configs that are no secrets, by what they belong to."""
    return {kind: frozenset(names) for kind, names in json.loads(CONFIGS).items()}
