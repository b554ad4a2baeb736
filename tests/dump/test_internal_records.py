"""Records of Kafka's own topics, of every type and version, whole and broken: as Kafka's tool prints them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkafs.dump.dump_options import DumpOptions
from kafkafs.dump.internal_records import Refused, record_decoder, remote_log_text
from kafkafs.format.messages.message_json import decoded_json, jackson_string
from kafkafs.format.messages.schema import names_by_number, schema
from kafkafs.format.messages.topic_records import TOPICS, InternalTopic, Message, parse_record
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.look import Reader
from kafkafs.log.outcomes import OpenTransactions
from kafkafs.log.read_options import ReadOptions
from tests.dump import internal_topics
from tests.dump.dumped import dumped, options_of
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record


@pytest.fixture(scope="module")
def made() -> Path:
    return internal_topics.made()


@pytest.mark.parametrize("topic", InternalTopic, ids=lambda topic: topic.value)
def test_every_type_and_version_is_printed_as_the_tool_prints_it(made: Path, topic: InternalTopic) -> None:
    """Random messages through Kafka's own classes, each also cut, longer, of another version, or damaged."""
    ours = dumped(made, f"{topic.value}-0/{internal_topics.LOG}", options_of([internal_topics.FLAGS[topic]]))
    theirs = (made / f"{topic.value}.txt").read_bytes().decode()
    assert ours.problems == []
    for mine, its in zip(_records(ours.text), _records(theirs), strict=True):
        assert mine == its
    assert ours.text == theirs


def _records(text: str) -> Iterator[str]:
    """The lines of records; in a message a line feed is always escaped, other ends of lines are not."""
    return (line for line in text.split("\n") if line.startswith("| "))


def test_what_is_compared_is_every_type_and_version(made: Path) -> None:
    seen = set()
    for topic in InternalTopic:
        text = (made / f"{topic.value}.tsv").read_text("utf-8")
        seen |= {(topic.value, cells[2], cells[3]) for line in text.splitlines()[1:] if (cells := line.split("\t"))}
    for topic in InternalTopic:
        for name in names_by_number(topic.value, "Value" if topic.value.endswith("coordinator") else "Record").values():
            found = schema(topic.value, name)
            for version in range(found.versions.lowest, found.versions.highest + 1):
                assert (topic.value, name, str(version)) in seen


@pytest.mark.parametrize("name", ["__consumer_offsets", "__transaction_state", "__share_group_state"])
def test_decoded_views_have_the_json_that_the_decoder_prints(made: Path, name: str) -> None:
    """Regression: what members of a classic group subscribed to and were assigned was base64 there."""
    topic, decode, seen = TOPICS[name], record_decoder(name), 0
    log = open_data_directory(made).partition(f"{topic.value}-0").log()
    for records in Reader(log, ReadOptions(), OpenTransactions()).records(0):
        for number, offset in enumerate(records.rows["offset"].tolist()):
            key, value = (
                None if part is None else bytes(part) for part in (records.key(number), records.value(number))
            )
            shown = decoded_json(topic, key, value, jackson_string)
            if shown.error is None:
                assert (shown.key, shown.value or "<DELETE>") == decode(offset, key, value)
                seen += 1
    assert seen > 30


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state", "__share_group_state"])
def test_a_record_without_a_key_at_which_the_tool_ends_is_reported(tmp_path: Path, topic: str) -> None:
    """Once in a log, whose every record may be without, and in each one's line."""
    records = [Record(offset, 0, offset, None, b"\0\0") for offset in (7, 8)]
    (tmp_path / "0.log").write_bytes(v2_batch(records))
    answer = dumped(tmp_path, "0.log", DumpOptions(print_data_log=True, decode_record=record_decoder(topic)))
    assert answer.text.count(" key: <the record has no key>\n") == 2
    assert answer.problems == ["0.log: the record of offset 7 cannot be decoded: the record has no key."]


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("__cluster_metadata", "Error at 7, skipping. Error while reading frame version"),
        (
            "__remote_log_metadata",
            'Error at offset 7, skipping. Cannot invoke "java.nio.ByteBuffer.remaining()" because the return value of'
            ' "org.apache.kafka.common.record.internal.Record.value()" is null',
        ),
    ],
)
def test_a_record_without_a_value(topic: str, expected: str) -> None:
    assert record_decoder(topic)(7, None, None) == (None, expected)
    assert not isinstance(parse_record(TOPICS[topic], None, None), Message)


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
def test_what_kafkas_objects_refuse_is_reported_in_their_words(wrong: dict[str, object], reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        text("RemoteLogSegmentMetadataRecord", SEGMENT | wrong)
