"""What is written is what Kafka's own classes write, of every type and version, byte for byte."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkafs.errors import UsageError
from kafkafs.format.messages.reading import reader
from kafkafs.format.messages.schema import schema
from kafkafs.format.messages.topic_records import FRAME_VERSION, InternalTopic, Message, parse_record
from kafkafs.format.messages.writing import message_bytes, metadata_record
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.look import Reader
from kafkafs.log.read_options import ReadOptions
from tests.dump import internal_topics

Pair = tuple[bytes | None, bytes | None]


@pytest.fixture(scope="module")
def made() -> Path:
    return internal_topics.made()


def whole_records(made: Path, topic: InternalTopic) -> list[Pair]:
    """Those that Kafka's classes wrote and nobody broke: of each line the first record, see `InternalRecords.java`."""
    partition = open_data_directory(made).partition(f"{topic.value}-0")
    pieces = Reader(partition.log(), ReadOptions(), partition.transactions).records(0)
    every = [(_bytes(piece.key(row)), _bytes(piece.value(row))) for piece in pieces for row in range(len(piece))]
    return [every[number] for number in _firsts((made / f"{topic.value}.tsv").read_text("utf-8").splitlines()[1:])]


def _bytes(field: bytes | memoryview | None) -> bytes | None:
    return None if field is None else bytes(field)


def _firsts(lines: list[str]) -> Iterator[int]:
    number = 0
    for line in lines:
        yield number
        key, _, value, *_ = line.split("\t")
        number += 1 + (key != "-") + 4 * (value != "-")


def record_bytes(message: Message) -> Pair:
    """Key and value of the record that says this; a tombstone has no value, a record of a log of events no key."""
    jar, version = message.topic.value, message.version
    if message.key is None:
        head = FRAME_VERSION, message.number, version or 0
        return None, bytes(head) + message_bytes(jar, message.name, version or 0, message.value or {})
    key = message.number.to_bytes(2, "big") + message_bytes(jar, f"{message.name}Key", 0, message.key)
    if message.value is None or version is None:
        return key, None
    return key, version.to_bytes(2, "big") + message_bytes(jar, f"{message.name}Value", version, message.value)


@pytest.mark.parametrize("topic", InternalTopic, ids=lambda topic: topic.value)
def test_every_type_and_version_is_written_as_kafka_writes_it(made: Path, topic: InternalTopic) -> None:
    """Read, written again, the same bytes: random messages of each, nulls and tagged fields among them."""
    seen = set()
    for key, value in whole_records(made, topic):
        message = parse_record(topic, key, value)
        assert isinstance(message, Message)
        assert record_bytes(message) == (key, value), message
        seen.add((message.name, message.version))
    assert len(seen) >= 3


def test_a_field_that_is_not_given_has_its_default() -> None:
    for version in range(3):
        made = message_bytes("metadata", "PartitionRecord", version, {"partitionId": 3})
        fields, end = reader("metadata", "PartitionRecord", version)(made, 0)
        assert end == len(made)
        assert (fields["partitionId"], fields["leaderEpoch"], fields["isr"]) == (3, -1, ())


def test_a_message_without_a_topic_of_its_own_is_written() -> None:
    """What a snapshot of the metadata begins with: control records, whose schemas the clients' jar has."""
    header = message_bytes("clients", "SnapshotHeaderRecord", 0, {"lastContainedLogTimestamp": 0x18BCFE56800})
    assert header == bytes.fromhex("0000 0000018bcfe56800 00")
    assert metadata_record("NoOpRecord", 0, {}) == b"\1\x14\0\0"


def test_a_version_that_the_schema_has_not_is_refused() -> None:
    beyond = schema("metadata", "TopicRecord").versions.highest + 1
    with pytest.raises(UsageError, match="TopicRecord has no version"):
        message_bytes("metadata", "TopicRecord", beyond, {})
