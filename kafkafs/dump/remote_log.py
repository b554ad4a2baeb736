"""Records of the remote log metadata topic as Java writes the objects that Kafka makes of them, not as JSON.

Sources: RemoteLogMetadataSerde, the transforms beside it, and `toString` of RemoteLogSegmentMetadata and its kin.
"""

from collections.abc import Mapping

from kafkafs.format.messages.records import Message
from kafkafs.format.messages.values import Fields

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
        f", txnIdxEmpty={_java(value['txnIndexEmpty'])}}}"
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
        f", txnIdxEmpty={_java(value['txnIndexEmpty'])}}}"
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


def _java(value: bool) -> str:
    return "true" if value else "false"
