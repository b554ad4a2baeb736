"""Remote log metadata as Java writes it, and what its objects refuse; all else is compared with the tool itself."""

import pytest

from kafkafs.dump.remote_log import Refused, remote_log_text
from kafkafs.format.messages.records import InternalTopic, Message

PARTITION = {"id": "A" * 22, "name": "t", "partition": 7}
SEGMENT = {
    "remoteLogSegmentId": {"topicIdPartition": PARTITION, "id": "B" * 22}, "startOffset": 0, "endOffset": 99,
    "brokerId": 1, "maxTimestampMs": 5, "eventTimestampMs": 6,
    "segmentLeaderEpochs": ({"leaderEpoch": 2, "offset": 50}, {"leaderEpoch": 0, "offset": 0}),
    "segmentSizeInBytes": 1048576, "customMetadata": b"abc", "remoteLogSegmentState": 0, "txnIndexEmpty": False,
}  # fmt: skip


def text(name: str, value: dict[str, object]) -> str:
    return remote_log_text(Message(InternalTopic.REMOTE_LOG_METADATA, 0, name, None, 0, value))


def test_a_segment_is_shown_with_its_epochs_in_order() -> None:
    assert text("RemoteLogSegmentMetadataRecord", SEGMENT) == (
        f"RemoteLogSegmentMetadata{{remoteLogSegmentId=RemoteLogSegmentId{{topicIdPartition={'A' * 22}:t-7"
        f", id={'B' * 22}}}, startOffset=0, endOffset=99, brokerId=1, maxTimestampMs=5, eventTimestampMs=6"
        ", segmentLeaderEpochs={0=0, 2=50}, segmentSizeInBytes=1048576"
        ", customMetadata=Optional[CustomMetadata{3 bytes}], state=COPY_SEGMENT_STARTED, txnIdxEmpty=false}"
    )


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"startOffset": -1}, "Unexpected start offset = -1. StartOffset for a remote segment cannot be negative"),
        ({"endOffset": -1}, "Unexpected end offset = -1. EndOffset for a remote segment cannot be less than"),
        ({"segmentLeaderEpochs": ()}, "segmentLeaderEpochs can not be null or empty"),
        ({"remoteLogSegmentState": 9}, "state can not be null"),
    ],
)
def test_what_kafkas_objects_refuse_is_told_in_their_words(wrong: dict[str, object], reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        text("RemoteLogSegmentMetadataRecord", SEGMENT | wrong)
