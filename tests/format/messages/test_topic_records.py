"""Records of Kafka's own topics, made by hand; `tests/dump/test_internal_records.py` has all types and versions."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format.messages.topic_records import (
    InternalTopic,
    Message,
    Problem,
    Unreadable,
    internal_topic,
    parse_record,
)


def text(value: str) -> bytes:
    return struct.pack(">h", len(value.encode())) + value.encode()


KEY = struct.pack(">h", 1) + text("g") + text("t") + struct.pack(">i", 5)
VALUE = struct.pack(">hqi", 3, 160, 7) + text("m\0") + struct.pack(">q", 1795258535574)


def read(topic: InternalTopic, key: bytes | None, value: bytes | None) -> Message:
    found = parse_record(topic, key, value)
    assert isinstance(found, Message)
    return found


def refused(topic: InternalTopic, key: bytes | None, value: bytes | None) -> Unreadable:
    found = parse_record(topic, key, value)
    assert isinstance(found, Unreadable)
    return found


def test_a_committed_offset_has_its_fields_in_the_schemas_order() -> None:
    found = read(InternalTopic.OFFSETS, KEY, VALUE)
    assert (found.name, found.number, found.version) == ("OffsetCommit", 1, 3)
    assert found.key == {"group": "g", "topic": "t", "partition": 5}
    assert list((found.value or {}).items()) == [
        ("offset", 160), ("leaderEpoch", 7), ("metadata", "m\0"), ("commitTimestamp", 1795258535574),
    ]  # fmt: skip


def test_a_tombstone_has_no_value() -> None:
    found = read(InternalTopic.OFFSETS, KEY, None)
    assert (found.version, found.value) == (None, None)


def test_a_tagged_field_that_was_not_written_has_its_default() -> None:
    value = struct.pack(">hqi", 4, 160, 7) + b"\x02m" + struct.pack(">q", 9)
    assert (read(InternalTopic.OFFSETS, KEY, value + b"\0").value or {})["topicId"] == "A" * 22
    tagged = value + b"\x02" + b"\x07\x03abc" + b"\0\x10" + bytes(15) + b"\1"  # an unknown one and the topic id
    assert (read(InternalTopic.OFFSETS, KEY, tagged).value or {})["topicId"] == "AAAAAAAAAAAAAAAAAAAAAQ"


@pytest.mark.parametrize(
    ("key", "value", "problem", "reason"),
    [
        (None, VALUE, Problem.NO_KEY, "message had a missing key"),
        (b"\0", VALUE, Problem.CORRUPT, "Could not read version from key's buffer."),
        (b"\0\x63", VALUE, Problem.UNKNOWN_TYPE, "Unknown record type 99"),
        (KEY, b"\0", Problem.CORRUPT, "Could not read version from value's buffer."),
        (KEY, b"\0\x09", Problem.CORRUPT, "Found an unknown record version 9 for 1 type"),
        (KEY, VALUE[:-1], Problem.CORRUPT, "Could not read record with version 3 from value's buffer due to: null."),
        (
            b"\0\1\0\x09g",
            VALUE,
            Problem.CORRUPT,
            "Could not read record with version 1 from key's buffer due to: "
            "Error reading byte array of 9 byte(s): only 1 byte(s) available.",
        ),
    ],
)
def test_what_cannot_be_read_is_reported_in_kafkas_words(
    key: bytes | None, value: bytes, problem: Problem, reason: str
) -> None:
    found = refused(InternalTopic.OFFSETS, key, value)
    assert (found.problem, found.reason) == (problem, reason)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"\1\2\0\1", "Failed to deserialize record with type 2"),
        (b"\1\x14\0\0\7", "Found 1 byte(s) of garbage after 20"),
        (b"\1\x63\0", "org.apache.kafka.common.errors.UnsupportedVersionException: Unknown metadata id 99"),
        (b"", "Error while reading frame version"),
        (b"\1\x80", "Error while reading type"),
        (b"\1\x80\x80\x02", "Value for type was too large."),
    ],
)
def test_a_frame_that_cannot_be_read_is_reported_in_kafkas_words(value: bytes, reason: str) -> None:
    assert refused(InternalTopic.CLUSTER_METADATA, None, value).reason == reason


def test_a_metadata_version_beyond_the_known_is_read_as_kafka_reads_it() -> None:
    assert read(InternalTopic.CLUSTER_METADATA, None, b"\1\x14\5\0").version == 5


def test_a_null_in_a_tagged_structure_stays_apart_from_what_was_not_written() -> None:
    """Real members without classic metadata write a null there; the schema's default is the empty structure."""
    key = struct.pack(">h", 5) + text("g") + text("m")
    value = struct.pack(">h", 0) + b"\0\0\2c\2h\1\0" + struct.pack(">i", 1) + b"\0"
    assert (read(InternalTopic.OFFSETS, key, value + b"\1\0\1\0").value or {})["classicMemberMetadata"] is None
    assert (read(InternalTopic.OFFSETS, key, value + b"\0").value or {})["classicMemberMetadata"] == {
        "sessionTimeoutMs": 0, "supportedProtocols": (),
    }  # fmt: skip


def test_the_topics_are_known_by_name() -> None:
    assert internal_topic("__consumer_offsets") is InternalTopic.OFFSETS
    assert internal_topic("orders") is None


@given(
    st.sampled_from(InternalTopic),
    st.none() | st.builds(lambda n, rest: struct.pack(">h", n) + rest, st.integers(0, 24), st.binary(max_size=40)),
    st.none() | st.builds(lambda n, rest: bytes([0, n]) + rest, st.integers(0, 5), st.binary(max_size=80))
    | st.builds(lambda n, v, rest: bytes([1, n, v]) + rest, st.integers(0, 29), st.integers(0, 5), st.binary()),
)  # fmt: skip
def test_any_bytes_are_a_message_or_a_reason(topic: InternalTopic, key: bytes | None, value: bytes | None) -> None:
    assert isinstance(parse_record(topic, key, value), Message | Unreadable)


def test_a_count_of_two_billion_takes_no_memory() -> None:
    value = b"\1\3\0" + bytes(20) + b"\xff\xff\xff\xff\x07"
    assert refused(InternalTopic.CLUSTER_METADATA, None, value).problem is Problem.CORRUPT
