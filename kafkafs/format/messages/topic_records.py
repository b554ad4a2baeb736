"""The records of Kafka's own topics, of any type and version: what `.cluster/`, `.decoded.jsonl` and the dump read.

    topic = internal_topic("__consumer_offsets")
    match parse_record(topic, key, value):
        case Message(name="OffsetCommit", key=key, value=value): value is None for a tombstone
        case Unreadable(reason=reason): bytes that are no such record, or of a type or version that Kafka 4.4.0 has not

Nothing is raised for what bytes say. Two framings: a coordinator's record has its type in the key and its value's
version in the value; cluster and remote log metadata have no key, and both in front of the value. Sources:
CoordinatorRecordSerde, AbstractApiMessageSerde, RemoteLogMetadataSerde.
"""

import functools
import struct
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from kafkafs.format.messages.message_values import CUT, CorruptMessage, Fields, unsigned_varint
from kafkafs.format.messages.reading import StructureReader, reader
from kafkafs.format.messages.schema import names_by_number, schema
from kafkafs.format.names import GROUPS_TOPIC, METADATA_TOPIC, REMOTE_LOG_METADATA, SHARE_TOPIC, TRANSACTIONS_TOPIC

FRAME_VERSION = 1
"""The prefix of records without a key."""

_LARGEST = 0x7FFF
_INT16 = struct.Struct(">h")


class InternalTopic(Enum):
    """Kafka's own topics whose records have schemas, by the jar that has them."""

    OFFSETS = "group-coordinator"
    TRANSACTIONS = "transaction-coordinator"
    SHARE_STATE = "share-coordinator"
    CLUSTER_METADATA = "metadata"
    REMOTE_LOG_METADATA = "storage"


TOPICS: Mapping[str, InternalTopic] = {
    GROUPS_TOPIC: InternalTopic.OFFSETS,
    TRANSACTIONS_TOPIC: InternalTopic.TRANSACTIONS,
    SHARE_TOPIC: InternalTopic.SHARE_STATE,
    METADATA_TOPIC: InternalTopic.CLUSTER_METADATA,
    REMOTE_LOG_METADATA: InternalTopic.REMOTE_LOG_METADATA,
}
"""By their names."""

TRANSACTION_STATES = (
    "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence",
)  # fmt: skip
"""By the number that a TransactionLog record has. Source: TransactionState."""

_COORDINATORS = frozenset((InternalTopic.OFFSETS, InternalTopic.TRANSACTIONS, InternalTopic.SHARE_STATE))


class Message(NamedTuple):
    """A record. `key` is None if the topic's records have none; `value` and `version` are None in a tombstone."""

    topic: InternalTopic
    number: int
    name: str  # the type's name: OffsetCommit, TransactionLog, RegisterBrokerRecord
    key: Fields | None
    version: int | None
    value: Fields | None


class Problem(Enum):
    """The reason why a record cannot be read."""

    NO_KEY = "the record has no key"
    UNKNOWN_TYPE = "the type is unknown"
    CORRUPT = "the bytes are no such record, or of an unknown version"


class Unreadable(NamedTuple):
    """A record that is not of the kind its topic should hold. `reason` is in Kafka's words, without an offset."""

    topic: InternalTopic
    problem: Problem
    reason: str
    number: int | None  # the type's number, if known


def internal_topic(name: str) -> InternalTopic | None:
    """Kafka's topic of that name; None for any other, or one without schemas."""
    return TOPICS.get(name)


def parse_record(topic: InternalTopic, key: bytes | None, value: bytes | None) -> Message | Unreadable:
    """Return the content of a record of that topic."""
    if topic in _COORDINATORS:
        return _coordinator_record(topic, key, value)
    return _framed_record(topic, value)


def parse_fields(jar: str, name: str, version: int, data: bytes) -> Fields | None:
    """The fields of any message whose schema is shipped; None if it cannot be read. Bytes behind it do not count."""
    try:
        return reader(jar, name, version)(data, 0)[0]
    except (CorruptMessage, *CUT):
        return None


def is_key(topic: InternalTopic, key: bytes) -> bool:
    """True if it can be read as a key of one of the coordinator's record types."""
    kind = _types(topic).get(_INT16.unpack_from(key)[0]) if len(key) >= _INT16.size else None
    try:
        return kind is not None and kind.key(key, _INT16.size)[1] >= 0
    except (CorruptMessage, *CUT):
        return False


class _Type(NamedTuple):
    """How the records of a coordinator's record type are read."""

    name: str
    key: StructureReader
    values: Mapping[int, StructureReader]


class _Values(dict[int, StructureReader]):
    """The readers of a type's value by version, made when first asked for; KeyError for an unknown one."""

    def __init__(self, topic: InternalTopic, name: str) -> None:
        super().__init__()
        self._topic = topic
        self._name = name

    def __missing__(self, version: int) -> StructureReader:
        if version not in schema(self._topic.value, self._name).versions:
            raise KeyError(version)
        made = self[version] = reader(self._topic.value, self._name, version)
        return made


@functools.cache
def _types(topic: InternalTopic) -> Mapping[int, _Type]:
    """A coordinator's record types by their numbers."""
    return {
        number: _Type(
            name.removesuffix("Key"), reader(topic.value, name, 0), _Values(topic, name.removesuffix("Key") + "Value")
        )
        for number, name in names_by_number(topic.value, "Key").items()
    }


@functools.cache
def _names(topic: InternalTopic) -> Mapping[int, str]:
    """The names of the record types of a topic without keys, by their numbers."""
    return names_by_number(topic.value, "Record")


def _coordinator_record(topic: InternalTopic, key: bytes | None, value: bytes | None) -> Message | Unreadable:
    if key is None:
        return Unreadable(topic, Problem.NO_KEY, "message had a missing key", None)
    if len(key) < _INT16.size:
        return Unreadable(topic, Problem.CORRUPT, "Could not read version from key's buffer.", None)
    number: int = _INT16.unpack_from(key)[0]
    kind = _types(topic).get(number)
    if kind is None:
        return Unreadable(topic, Problem.UNKNOWN_TYPE, f"Unknown record type {number}", number)
    try:
        key_fields, _ = kind.key(key, _INT16.size)
    except (CorruptMessage, *CUT) as error:
        return _unread(topic, number, number, "key", error)
    if value is None:
        return Message(topic, number, kind.name, key_fields, None, None)
    if len(value) < _INT16.size:
        return Unreadable(topic, Problem.CORRUPT, "Could not read version from value's buffer.", number)
    version: int = _INT16.unpack_from(value)[0]
    try:
        return Message(topic, number, kind.name, key_fields, version, kind.values[version](value, _INT16.size)[0])
    except KeyError:
        return Unreadable(
            topic, Problem.CORRUPT, f"Found an unknown record version {version} for {number} type", number
        )
    except (CorruptMessage, *CUT) as error:
        return _unread(topic, number, version, "value", error)


def _unread(topic: InternalTopic, number: int, version: int, part: str, error: Exception) -> Unreadable:
    reason = str(error) if isinstance(error, CorruptMessage) else "null"
    return Unreadable(
        topic,
        Problem.CORRUPT,
        f"Could not read record with version {version} from {part}'s buffer due to: {reason}.",
        number,
    )


def _framed_record(topic: InternalTopic, value: bytes | None) -> Message | Unreadable:
    if value is None:
        return Unreadable(topic, Problem.CORRUPT, "the record has no value", None)
    try:
        frame, at = _frame_number(value, 0, "frame version")
        if frame != FRAME_VERSION:
            return Unreadable(topic, Problem.CORRUPT, _frame_refusal(frame), None)
        number, at = _frame_number(value, at, "type")
        version, at = _frame_number(value, at, "version")
    except CorruptMessage as error:
        return Unreadable(topic, Problem.CORRUPT, str(error), None)
    name = _names(topic).get(number)
    if name is None:
        return Unreadable(topic, Problem.UNKNOWN_TYPE, f"{_UNSUPPORTED}: Unknown metadata id {number}", number)
    try:
        fields, at = reader(topic.value, name, version)(value, at)
    except (CorruptMessage, *CUT):
        return Unreadable(topic, Problem.CORRUPT, f"Failed to deserialize record with type {number}", number)
    if at < len(value):
        return Unreadable(topic, Problem.CORRUPT, f"Found {len(value) - at} byte(s) of garbage after {number}", number)
    return Message(topic, number, name, None, version, fields)


_UNSUPPORTED = "org.apache.kafka.common.errors.UnsupportedVersionException"


def _frame_number(data: bytes, at: int, what: str) -> tuple[int, int]:
    try:
        number, at = unsigned_varint(data, at)
    except (CorruptMessage, *CUT) as error:
        raise CorruptMessage(f"Error while reading {what}") from error
    if number > _LARGEST:
        raise CorruptMessage(f"Value for {what} was too large.")
    return (number + 0x8000) % 0x10000 - 0x8000, at  # Java's cast of a negative int


def _frame_refusal(frame: int) -> str:
    if frame == 0:
        return (
            "Could not deserialize metadata record with frame version 0. Note that upgrades from the preview release"
            " of KRaft in 2.8 to newer versions are not supported."
        )
    return (
        f"Could not deserialize metadata record due to unknown frame version {frame}"
        f"(only frame version {FRAME_VERSION} is supported)"
    )
