"""Control records: what Kafka writes between the records of clients. Real ones are in the recorded dumps."""

import struct

import pytest

from kafkafs.dump.control_text import control_text
from kafkafs.errors import CorruptData

VOTER = bytes.fromhex("00000001") + bytes(range(16)) + b"\x02" + b"\x0bCONTROLLER" + b"\x05host" + b"\x23\x84\x00"
VOTERS = b"\x00\x00" + b"\x02" + VOTER + b"\x00\x00\x00\x01\x00" + b"\x00" + b"\x00"


def key(kind: int, version: int = 0) -> bytes:
    return struct.pack(">hh", version, kind)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (0, b"\0\0\0\0\0\x09", " endTxnMarker: ABORT coordinatorEpoch: 9"),
        (1, b"\0\0\xff\xff\xff\xff", " endTxnMarker: COMMIT coordinatorEpoch: -1"),
        (1, b"\0\x05\0\0\0\x01later", " endTxnMarker: COMMIT coordinatorEpoch: 1"),
        (3, b"\0\0" + struct.pack(">q", 77) + b"\0", ' SnapshotHeader {"version":0,"lastContainedLogTimestamp":77}'),
        (4, b"\0\0\0", ' SnapshotFooter {"version":0}'),
        (5, b"\0\0\0\x01\0", ' KRaftVersion {"version":0,"kRaftVersion":1}'),
        (9, b"anything", " controlType: UNKNOWN(9)"),
        (-1, b"", " controlType: UNKNOWN(-1)"),
    ],
)
def test_each_type_is_told_with_its_fields(kind: int, value: bytes, text: str) -> None:
    """The words are the tool's; only LeaderChange has a colon."""
    assert control_text(key(kind), value).decode() == text
    assert control_text(key(kind, version=3), value).decode() == text


def test_a_leader_change_names_the_voters() -> None:
    """Whoever looks for a lost quorum reads this line."""
    voters = b"\x03" + struct.pack(">i", 1) + b"\0" + struct.pack(">i", 2) + b"\0"
    value = b"\0\0" + struct.pack(">i", 2) + voters + b"\x01" + b"\0"
    assert control_text(key(2), value).decode() == (
        ' LeaderChange: {"version":0,"leaderId":2,"voters":[{"voterId":1},{"voterId":2}],"grantingVoters":[]}'
    )


def test_voters_are_told_with_their_endpoints() -> None:
    """Nested structures, each with tagged fields at its end; one that nobody knows is stepped over."""
    text = (
        ' KRaftVoters {"version":0,"voters":[{"voterId":1,"voterDirectoryId":"AAECAwQFBgcICQoLDA0ODw",'
        '"endpoints":[{"name":"CONTROLLER","host":"host","port":9092}],'
        '"kRaftVersionFeature":{"minSupportedVersion":0,"maxSupportedVersion":1}}]}'
    )
    assert control_text(key(6), VOTERS).decode() == text
    assert control_text(key(6), VOTERS[:-1] + b"\x01\x07\x02ab").decode() == text


@pytest.mark.parametrize("cut", range(len(VOTERS)))
def test_a_cut_value_is_an_error_and_no_guess(cut: int) -> None:
    """A damaged batch is shown as far as it goes."""
    with pytest.raises(CorruptData, match="KRAFT_VOTERS"):
        control_text(key(6), VOTERS[:cut])


@pytest.mark.parametrize(
    ("key", "value"),
    [(None, b""), (b"\0\0\0", b""), (key(0, -1), bytes(6)), (key(0), None), (key(1), bytes(5)), (key(0), b"\xff" * 6)],
)
def test_what_is_no_control_record_is_an_error(key: bytes | None, value: bytes | None) -> None:
    """Where Kafka's tool ends with an exception."""
    with pytest.raises(CorruptData):
        control_text(key, value)
