"""Batches that no producer writes but that are whole and valid: extreme numbers, any attributes, any bytes.

All of them go into one log, which Kafka's own tool and kafkafs dump alike."""

import gzip
import random
import struct
from pathlib import Path

import pytest

from kafkafs.dump.text_log import control_text
from kafkafs.errors import CorruptData
from tests.dump.dumped import by_the_tool, dumped, options_of
from tests.format.batch_maker import record_bytes, v2_around
from tests.format.golden import Record

LOG = "00000000000000000000.log"
BATCHES = 400
INT16, INT32, INT64 = 2**15 - 1, 2**31 - 1, 2**63 - 1
BYTES = bytes.fromhex("00 0a 41 7f 80 a0 bf c2 c3 e0 e2 ed ef f0 f4 ff")
MARKER_KEYS = (b"\0\0\0\0", b"\0\0\0\x01", b"\0\x07\0\x01more", b"\0\0\0\x09")


def number(dice: random.Random, largest: int) -> int:
    """Small, huge or at an edge."""
    return dice.choice([-1, 0, 1, 7, largest, largest - 1, -largest - 1, dice.randint(-largest - 1, largest)])


def some_bytes(dice: random.Random) -> bytes | None:
    """Null, empty, text or what is no text."""
    kind = dice.randrange(6)
    if kind < 2:
        return None if kind else b""
    if kind < 4:
        return "".join(dice.choice("abc é€😀\x7f\u0085") for _ in range(dice.randrange(30))).encode()
    return bytes(dice.choice(BYTES) for _ in range(dice.randrange(40)))


def batch(dice: random.Random, base: int) -> bytes:
    """One batch from `base` on; some are control batches, compressed, or empty."""
    is_control = dice.random() < 0.15
    delta = dice.randrange(8)
    base_timestamp = number(dice, INT64 // 4)
    records = b""
    offsets = sorted(dice.sample(range(delta + 1), dice.randrange(delta + 2)))
    for offset in offsets:
        timestamp = base_timestamp + number(dice, INT64 // 4)
        headers = tuple((some_bytes(dice) or b"h", some_bytes(dice)) for _ in range(dice.choice([0, 0, 1, 3])))
        key, value = some_bytes(dice), some_bytes(dice)
        if is_control:
            key, value = dice.choice(MARKER_KEYS), struct.pack(">hi", dice.choice([0, 1]), number(dice, INT32))
        records += record_bytes(Record(base + offset, timestamp, 0, key, value, headers), base, base_timestamp)
    codec = 1 if dice.random() < 0.3 and not is_control else 0
    attributes = codec | dice.choice([0, 8, 0x10, 0x40, 0x58, 0x780]) | (0x20 if is_control else 0)
    header = (attributes, delta, base_timestamp, number(dice, INT64), number(dice, INT64), number(dice, INT16),
              number(dice, INT32), len(offsets))  # fmt: skip
    return v2_around(gzip.compress(records) if codec else records, 0, base, header=header, epoch=number(dice, INT32))


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    dice, place = random.Random(5), tmp_path_factory.mktemp("random")
    log = b""
    for _ in range(BATCHES):
        log += batch(dice, dice.choice([0, 7, 2**40, INT64 - 100]) + dice.randrange(50))
    (place / LOG).write_bytes(log)
    return place


@pytest.mark.parametrize(
    "flags",
    [
        [],
        ["--deep-iteration"],
        ["--print-data-log"],
        ["--print-data-log", "--skip-record-metadata"],
        ["--max-bytes", "9000"],
    ],
    ids=" ".join,
)
def test_any_valid_batch_is_shown_as_the_tool_shows_it(directory: Path, flags: list[str]) -> None:
    """The kernels and the tool must agree where no recorded data goes."""
    reported = by_the_tool(directory, [LOG], *flags)[LOG]
    assert not reported.crashed
    assert dumped(directory, LOG, options_of(flags)).text == reported.text


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
def test_each_type_is_reported_with_its_fields(kind: int, value: bytes, text: str) -> None:
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


def test_voters_are_reported_with_their_endpoints() -> None:
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
