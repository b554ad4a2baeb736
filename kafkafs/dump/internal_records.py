"""Records of Kafka's own topics as text: what the `--...-decoder` flags of its tool print of a key and a payload.

The line of a record that cannot be read says so, in the tool's words. Source: DumpLogSegments, the message parsers, of
4.4.0. In one thing its text is another than 4.3.1's of the same record: a transaction's state has its name. Those of
remote log metadata are as Java writes the objects that Kafka makes of them, not JSON. Sources of that:
RemoteLogMetadataSerde, the transforms beside it, and `toString` of RemoteLogSegmentMetadata and its kin.
"""

from collections.abc import Mapping
from functools import partial

from kafkafs.dump.kafka_decoders import RecordDecoder
from kafkafs.errors import CorruptData
from kafkafs.format.messages.message_json import jackson_string, key_json, value_json, with_protocols
from kafkafs.format.messages.message_values import Fields
from kafkafs.format.messages.topic_records import (
    TOPICS,
    TRANSACTION_STATES,
    InternalTopic,
    Message,
    Problem,
    Unreadable,
    parse_record,
)
from kafkafs.format.strings import java_boolean

_DELETED = "<DELETE>"
_STATUS = "transactionStatus"
_ERROR_AT = {InternalTopic.CLUSTER_METADATA: "Error at"}
_NO_VALUE = {
    InternalTopic.CLUSTER_METADATA: "Error while reading frame version",
    InternalTopic.REMOTE_LOG_METADATA: 'Cannot invoke "java.nio.ByteBuffer.remaining()" because the return value of'
    ' "org.apache.kafka.common.record.internal.Record.value()" is null',
}


def record_decoder(topic: str, *, names_states: bool = False) -> RecordDecoder:
    """The decoder of the records of Kafka's own topic of that name. KeyError for any other topic.

    With `names_states` a transaction's state is its name, as in 4.4's tool, else its number.
    A coordinator's record without a key, at which the tool ends, is CorruptData.
    """
    return partial(_record, TOPICS[topic], names_states)


def _record(
    topic: InternalTopic, names_states: bool, offset: int, key: bytes | None, value: bytes | None
) -> tuple[str | None, str | None]:
    found = parse_record(topic, key, value)
    if topic in _NO_VALUE:  # without keys
        return None, _framed(found, offset, _NO_VALUE[topic] if value is None else None)
    if isinstance(found, Unreadable):
        return _unreadable(found, offset), None
    if names_states:
        found = _with_state_name(found)
    payload = value_json(with_protocols(found), jackson_string)
    return key_json(found, jackson_string), _DELETED if payload is None else payload


def _framed(found: Message | Unreadable, offset: int, missing: str | None) -> str:
    if isinstance(found, Unreadable):
        return _error(found.topic, offset, missing or found.reason)
    if found.topic is InternalTopic.CLUSTER_METADATA:
        return str(value_json(found, jackson_string))
    try:
        return remote_log_text(found)
    except Refused as error:
        return _error(found.topic, offset, str(error))


def _error(topic: InternalTopic, offset: int, reason: str) -> str:
    return f"{_ERROR_AT.get(topic, 'Error at offset')} {offset}, skipping. {reason}"


def _unreadable(found: Unreadable, offset: int) -> str:
    match found.problem:
        case Problem.NO_KEY:
            raise CorruptData("the record has no key")
        case Problem.UNKNOWN_TYPE:
            return f"{found.reason} at offset {offset}, skipping."
        case Problem.CORRUPT:
            return _error(found.topic, offset, found.reason)


def _with_state_name(message: Message) -> Message:
    """A transaction with its state in words; the number, as a text, where Kafka has none for it."""
    if message.topic is not InternalTopic.TRANSACTIONS or message.value is None:
        return message
    status = message.value[_STATUS]
    name = TRANSACTION_STATES[status] if 0 <= status < len(TRANSACTION_STATES) else str(status)
    return message._replace(value=message.value | {_STATUS: name})


_SEGMENT_STATES = ("COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED", "DELETE_SEGMENT_FINISHED")
_DELETE_STATES = ("DELETE_PARTITION_MARKED", "DELETE_PARTITION_STARTED", "DELETE_PARTITION_FINISHED")
_NO_STATE = "state can not be null"
_NO_EPOCHS = "segmentLeaderEpochs can not be null or empty"


class Refused(Exception):
    """Kafka makes no object of the record; the text is that of its exception."""


def remote_log_text(message: Message) -> str:
    """The record as text. Refused where Kafka's objects do not take its fields."""
    assert message.value is not None
    return _TEXTS[message.name](message.value)


def _segment(value: Fields) -> str:
    start, end = value["startOffset"], value["endOffset"]
    if start < 0:
        raise Refused(f"Unexpected start offset = {start}. StartOffset for a remote segment cannot be negative")
    if end < start:
        raise Refused(
            f"Unexpected end offset = {end}. EndOffset for a remote segment cannot be less than startOffset = {start}"
        )
    epochs = _epochs(value)
    state = _state(value["remoteLogSegmentState"], _SEGMENT_STATES, _NO_STATE)
    return (
        f"RemoteLogSegmentMetadata{{remoteLogSegmentId={_segment_id(value)}, startOffset={start}, endOffset={end}"
        f", brokerId={value['brokerId']}, maxTimestampMs={value['maxTimestampMs']}"
        f", eventTimestampMs={value['eventTimestampMs']}, segmentLeaderEpochs={epochs}"
        f", segmentSizeInBytes={value['segmentSizeInBytes']}, customMetadata={_custom(value)}, state={state}"
        f", txnIdxEmpty={java_boolean(value['txnIndexEmpty'])}}}"
    )


def _update(value: Fields) -> str:
    state = _state(value["remoteLogSegmentState"], _SEGMENT_STATES, _NO_STATE)
    return (
        f"RemoteLogSegmentMetadataUpdate{{remoteLogSegmentId={_segment_id(value)}, customMetadata={_custom(value)}"
        f", state={state}, eventTimestampMs={value['eventTimestampMs']}, brokerId={value['brokerId']}}}"
    )


def _delete(value: Fields) -> str:
    state = _state(value["remotePartitionDeleteState"], _DELETE_STATES, "null")
    return (
        f"RemotePartitionDeleteMetadata{{topicPartition={_partition(value['topicIdPartition'])}, state={state}"
        f", eventTimestampMs={value['eventTimestampMs']}, brokerId={value['brokerId']}}}"
    )


def _snapshot(value: Fields) -> str:
    state = _state(value["remoteLogSegmentState"], _SEGMENT_STATES, _NO_STATE)
    return (
        f"RemoteLogSegmentMetadataSnapshot{{segmentId={value['segmentId']}, startOffset={value['startOffset']}"
        f", endOffset={value['endOffset']}, maxTimestampMs={value['maxTimestampMs']}"
        f", segmentLeaderEpochs={_epochs(value)}"
        f", segmentSizeInBytes={value['segmentSizeInBytes']}, customMetadata={_custom(value)}, state={state}"
        f", txnIdxEmpty={java_boolean(value['txnIndexEmpty'])}}}"
    )


_TEXTS = {
    "RemoteLogSegmentMetadataRecord": _segment,
    "RemoteLogSegmentMetadataUpdateRecord": _update,
    "RemotePartitionDeleteMetadataRecord": _delete,
    "RemoteLogSegmentMetadataSnapshotRecord": _snapshot,
}


def _segment_id(value: Fields) -> str:
    found = value["remoteLogSegmentId"]
    return f"RemoteLogSegmentId{{topicIdPartition={_partition(found['topicIdPartition'])}, id={found['id']}}}"


def _partition(found: Mapping[str, object]) -> str:
    return f"{found['id']}:{found['name']}-{found['partition']}"


def _epochs(value: Fields) -> str:
    """Leader epochs and their first offsets, as a sorted map of Java; of an epoch that comes twice the later one."""
    epochs = {each["leaderEpoch"]: each["offset"] for each in value["segmentLeaderEpochs"]}
    if not epochs:
        raise Refused(_NO_EPOCHS)
    return f"{{{', '.join(f'{epoch}={offset}' for epoch, offset in sorted(epochs.items()))}}}"


def _custom(value: Fields) -> str:
    data = value["customMetadata"]
    return "Optional.empty" if data is None else f"Optional[CustomMetadata{{{len(data)} bytes}}]"


def _state(number: int, names: tuple[str, ...], refusal: str) -> str:
    if not 0 <= number < len(names):
        raise Refused(refusal)
    return names[number]
