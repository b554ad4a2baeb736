"""Topics that are known by their names: what a decoded line shows, and that nothing else is taken for it."""

import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format.batch import walk
from kafkafs.format.decoding import DecodedLines
from kafkafs.format.known_topics import known_texts
from kafkafs.format.records import Records, decode
from kafkafs.format.schemas.decoder_table import DecoderTable
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record

LIMIT = 1 << 20
NOW = 1_795_859_853_204
SYNCS, CHECKPOINTS, HEARTBEATS = "mm2-offset-syncs.dst.internal", "src.checkpoints.internal", "src.heartbeats"
PLACE = b"\0\nheartbeats\0\0\0\0"
"""A key as connect-mirror 4.3.1 wrote it."""


def lines(topic: str, *pairs: tuple[bytes | None, bytes | None], timestamp: int = NOW) -> list[dict[str, Any]]:
    """The decoded lines of records of that topic."""
    batch = v2_batch([Record(number, timestamp, 0, key, value, ()) for number, (key, value) in enumerate(pairs)])
    (piece,) = decode(batch, 0, walk(batch, 0).rows, LIMIT)
    assert isinstance(piece, Records)
    made = DecodedLines(topic, 0, DecoderTable(lambda name, is_key: None)).pieces(piece)
    return [json.loads(line) for line in b"".join(map(bytes, made)).splitlines()]


def shown(topic: str, key: bytes | None, value: bytes | None, timestamp: int = NOW) -> tuple[Any, Any]:
    (line,) = lines(topic, (key, value), timestamp=timestamp)
    return line.get("key", line.get("keyBase64")), line.get("value", line.get("valueBase64"))


def text(value: str) -> bytes:
    return struct.pack(">h", len(value.encode())) + value.encode()


CASES = [
    (SYNCS, PLACE, struct.pack(">qq", 11, 12), {"topic": "heartbeats", "partition": 0},
     {"upstreamOffset": 11, "downstreamOffset": 12}),
    ("mm2-offset-syncs_dst_internal", PLACE, None, {"topic": "heartbeats", "partition": 0}, None),
    (CHECKPOINTS, text("g") + text("t") + struct.pack(">i", 3), b"\0\0" + struct.pack(">qq", 5, 6) + text("at\n"),
     {"consumerGroupId": "g", "topic": "t", "partition": 3},
     {"upstreamOffset": 5, "downstreamOffset": 6, "metadata": "at\n"}),
    (HEARTBEATS, text("src") + text("dst"), b"\0\0" + struct.pack(">q", NOW),
     {"sourceClusterAlias": "src", "targetClusterAlias": "dst"}, {"timestamp": NOW}),
    ("heartbeats", text("src") + text("dst"), b"\0\0" + struct.pack(">q", NOW),
     {"sourceClusterAlias": "src", "targetClusterAlias": "dst"}, {"timestamp": NOW}),
]  # fmt: skip


@pytest.mark.parametrize(("topic", "key", "value", "key_shown", "value_shown"), CASES)
def test_mirror_makers_records_are_shown_by_their_fields(topic, key, value, key_shown, value_shown):
    assert shown(topic, key, value) == (key_shown, value_shown)


@pytest.mark.parametrize(("topic", "key", "value", "_key", "_value"), CASES)
def test_bytes_that_do_not_fit_are_shown_as_they_are(topic, key, value, _key, _value):
    """One byte less or more, another version, or no text: such a topic may be for something else."""
    for other_key, other_value in (
        (key[:-1], value), (key + b"\0", value), (key, (value or b"") + b"\0"), (None, value),
        (b"\xff" + key[1:], value),
    ):  # fmt: skip
        reported = shown(topic, other_key, other_value)
        assert not any(isinstance(each, dict) for each in reported), (other_key, other_value)
    assert shown("orders", key, value) == shown("orders-x", key, value)
    assert not isinstance(shown("orders", key, value)[0], dict)


def test_json_in_a_topic_called_heartbeats_stays_json():
    assert shown("app.heartbeats", b"k", b'{"at":1}') == ("k", {"at": 1})


def window(key: bytes, start: int, sequence: int = 0) -> bytes:
    return key + struct.pack(">qi", start, sequence)


def session(key: bytes, start: int, end: int) -> bytes:
    return key + struct.pack(">qq", end, start)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (window(b"customer-1", NOW - 5000), {"key": "customer-1", "window": {"start": NOW - 5000}}),
        (window(b"a", NOW, 7), {"key": "a", "window": {"start": NOW}, "sequence": 7}),
        (window(b'{"id":\n1.50}', NOW), {"key": {"id": 1.5}, "window": {"start": NOW}}),
        (window(b"", NOW), {"key": "", "window": {"start": NOW}}),
        (window(b"\xff\0", NOW), {"keyBase64": "/wA=", "window": {"start": NOW}}),
        (session(b"a", NOW - 9, NOW), {"key": "a", "window": {"start": NOW - 9, "end": NOW}}),
        (session(b"a", NOW, NOW), {"key": "a", "window": {"start": NOW, "end": NOW}}),
    ],
)
def test_a_key_of_a_window_is_shown_with_it(key, expected):
    assert shown("app-store-changelog", key, b"5") == (expected, 5)
    assert not isinstance(shown("app-store", key, b"5")[0], dict)


@pytest.mark.parametrize(
    "key",
    [
        b"customer-1", b"twelve bytes", b"sixteen bytes...", b"\0" * 12, b"\0" * 16, window(b"a", NOW + 10**9),
        window(b"a", NOW, -1), session(b"a", NOW, NOW - 1), struct.pack(">q", NOW), b"",
    ],
)  # fmt: skip
def test_a_key_without_a_window_is_shown_as_it_is(key):
    assert not isinstance(shown("app-store-changelog", key, b"5")[0], dict)


def test_a_tombstone_of_a_window_has_its_key():
    assert shown("app-store-changelog", window(b"a", NOW), None) == ({"key": "a", "window": {"start": NOW}}, None)


@given(
    st.sampled_from([SYNCS, CHECKPOINTS, HEARTBEATS, "app-store-changelog"]),
    st.lists(st.tuples(st.none() | st.binary(max_size=40), st.none() | st.binary(max_size=40)), min_size=1, max_size=5),
)
def test_no_bytes_end_the_line(topic, pairs):
    assert len(lines(topic, *pairs)) == len(pairs)


def test_other_names_say_nothing():
    for name in ("orders", "changelog", "mm2-offset-syncs", "checkpoints.internal", "myheartbeats", "heartbeats.x"):
        assert known_texts(name) is None
