"""Readers of a version, above all of versions that are not known."""

import pytest

from kafkafs.format.messages.message_values import CorruptMessage
from kafkafs.format.messages.reading import reader


def test_a_version_is_compiled_once() -> None:
    assert reader("metadata", "TopicRecord", 0) is reader("metadata", "TopicRecord", 0)


def test_thousands_of_claimed_versions_are_one_reader() -> None:
    """A damaged log may name any; each would stay in memory."""
    assert len({reader("metadata", "TopicRecord", version) for version in range(1, 1000)}) == 1


def test_a_structure_of_an_unknown_version_is_refused_as_kafka_does() -> None:
    """Without one inside, the record is read like the newest known version."""
    beyond = reader("metadata", "RegisterBrokerRecord", 9)
    front = bytes(4) + b"\0" + bytes(24)
    fields, _ = beyond(front + b"\1\1\0\1\0\0", 0)
    assert fields["endPoints"] == ()
    with pytest.raises(CorruptMessage):
        beyond(front + b"\2\2a\2h\0\0\0\0\0" + b"\1\0\1\0\0", 0)


def test_a_tag_of_a_newer_version_is_refused_and_one_of_none_is_passed_over() -> None:
    """As Kafka's tool was seen to do: last known replicas (7) are in PartitionChange since version 2."""
    front = bytes(20) + b"\1"
    read = reader("metadata", "PartitionChangeRecord", 1)
    assert read(front + b"\x63\1\0", 0)[0]["directories"] is None
    with pytest.raises(CorruptMessage, match="Tag 7 is not valid for version 1"):
        read(front + b"\7\1\1", 0)
