"""Batch headers of all formats: Kafka's own bytes, cut and flipped anywhere; and batches that are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format.batch import (
    CODECS,
    FRAME_SIZE,
    LARGEST_HEADER,
    SMALLEST,
    VALID,
    Batch,
    Pair,
    batch_at,
    batch_bytes,
    crc_holds,
    crc_holds_in,
    first_offsets,
    parse_batch,
    walk,
)
from kafkafs.format.messages.writing import metadata_record
from kafkafs.format.records import Records, decode
from tests.format.batch_maker import v2_batch
from tests.format.golden import BATCHES, COMMIT, V0_LZ4, V1_GZIP, V2_GZIP, V2_NONE, Record

EPOCH = range(12, 16)


def test_a_v2_header_field_by_field():
    batch = parse_batch(V2_GZIP, 0, 5000)
    assert batch == Batch(5000, 117, 2, 100, 102, 7, 0x592AD703, 1, 1000, 1005, -1, -1, -1, 3)
    assert (batch.end, CODECS[batch.codec], batch.timestamp_type) == (5117, "gzip", "CreateTime")
    assert (batch.is_transactional, batch.is_control) == (False, False)


def test_a_marker_is_transactional_and_control():
    batch = parse_batch(COMMIT, 0, 0)
    assert batch is not None
    assert (batch.is_transactional, batch.is_control, batch.producer_id, batch.producer_epoch) == (True, True, 4242, 3)


def test_legacy_entries_state_their_last_offset_and_no_producer():
    for data, magic, timestamp in ((V0_LZ4, 0, -1), (V1_GZIP, 1, 1005)):
        batch = parse_batch(data, 0, 0)
        assert batch is not None
        assert (batch.magic, batch.last_offset, batch.max_timestamp, batch.producer_id) == (magic, 102, timestamp, -1)
        assert batch.timestamp_type == (None if magic == 0 else "CreateTime")
        assert (batch.is_transactional, batch.is_control) == (False, False)


@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_cut_anywhere_is_a_result(name):
    """Beside a live broker the last batch is half-written: its header reads, or it does not, and its CRC fails."""
    data = BATCHES[name][0]
    whole = parse_batch(data, 0, 0)
    assert whole is not None
    assert crc_holds(whole, data[: whole.size])
    for cut in range(whole.size):
        found = parse_batch(data[:cut], 0, 0)
        assert found in (None, whole)
        assert found is None or not crc_holds(found, data[:cut])
        assert cut >= FRAME_SIZE or found is None


@given(name=st.sampled_from(sorted(BATCHES)), data=st.data())
def test_any_flipped_bit_is_seen(name, data):
    """By the header's own bounds or by the CRC; what is outside the CRC changes offset, length or epoch alone."""
    whole = BATCHES[name][0]
    first = parse_batch(whole, 0, 0)
    assert first is not None
    at, bit = data.draw(st.integers(0, first.size - 1)), data.draw(st.integers(0, 7))
    flipped = bytearray(whole[: first.size])
    flipped[at] ^= 1 << bit
    found = parse_batch(bytes(flipped), 0, 0)
    covered = at not in EPOCH or first.magic < 2
    if found is not None and at >= 8 and covered:
        assert not crc_holds(found, bytes(flipped))


@given(st.binary(max_size=80))
def test_noise_never_raises(noise):
    for at in range(len(noise) + 1):
        found = parse_batch(noise, at, at)
        assert found is None or found.size >= SMALLEST[found.magic]


@pytest.mark.parametrize("magic", [3, 4, 127, 128, 255])
def test_an_unknown_magic_is_no_batch(magic):
    assert parse_batch(V2_NONE[:16] + bytes([magic]) + V2_NONE[17:], 0, 0) is None


TOPIC_ID = "AAAAAAAAAAEAAAAAAAAAAg"
fields = st.none() | st.binary(max_size=200)


def test_a_batch_is_kafkas_own() -> None:
    """From a snapshot that a real controller loaded: feature level, topic and partition, checksum and all."""
    records: list[Pair] = [
        (None, metadata_record("FeatureLevelRecord", 0, {"name": "metadata.version", "featureLevel": 21})),
        (None, metadata_record("TopicRecord", 0, {"name": "t", "topicId": TOPIC_ID})),
        (None, metadata_record("PartitionRecord", 1, {
            "partitionId": 0, "topicId": TOPIC_ID, "replicas": (1,), "isr": (1,), "leader": -1, "leaderEpoch": 3,
            "partitionEpoch": 4,
            "directories": ("AAAAAAAAAAMAAAAAAAAABA",),
        })),
    ]  # fmt: skip
    kafkas = bytes.fromhex(
        "0000000000000001000000b600000001022544d7dc0000000000020000018bcfe568000000018bcfe56800ffffffffffffffffffffffffffff"
        "000000033a000000012e010c00116d657461646174612e76657273696f6e001500"
        "0038000002012c010200027400000000000000010000000000000002000090010000040182010103010000000000000000000000010000000000"
        "000002020000000102000000010101ffffffff000000030000000402000000000000000300000000000000040000"
    )
    assert batch_bytes(records, 1, timestamp=1700000000000, leader_epoch=1) == kafkas


@given(st.lists(st.tuples(fields, fields), min_size=1, max_size=20), st.integers(0, 2**40), st.booleans())
def test_what_is_written_is_read_again(records: list[Pair], base: int, is_control: bool) -> None:
    made = batch_bytes(records, base, timestamp=1000, leader_epoch=7, is_control=is_control)
    walked = walk(made, 0)
    assert (walked.stop, walked.rows["valid"].tolist()) == ("end", [VALID])
    batch = parse_batch(made, 0, 0)
    assert batch is not None
    assert (batch.leader_epoch, batch.is_control, batch.producer_id, batch.base_sequence) == (7, is_control, -1, -1)
    (piece,) = decode(made, 0, walked.rows, 1 << 20)
    assert isinstance(piece, Records)
    assert piece.rows["offset"].tolist() == list(range(base, base + len(records)))
    assert piece.rows["timestamp"].tolist() == [1000] * len(records)
    read = [(piece.key(row), piece.value(row)) for row in range(len(records))]
    assert [(_bytes(key), _bytes(value)) for key, value in read] == records


def _bytes(field: bytes | memoryview | None) -> bytes | None:
    return None if field is None else bytes(field)


@given(
    whole=st.one_of(
        st.sampled_from([V0_LZ4, V1_GZIP, V2_GZIP, V2_NONE]),
        st.binary(max_size=900).map(lambda value: v2_batch([Record(5, 1000, 0, b"key", value)])),
    ),
    sizes=st.lists(st.integers(0, 90), max_size=9),
    flips=st.lists(st.integers(FRAME_SIZE, 10**4), max_size=1),
)
def test_a_crc_in_pieces_is_that_of_the_whole(whole: bytes, sizes: list[int], flips: list[int]) -> None:
    """Whatever the pieces are: the first has the header."""
    header = parse_batch(whole, 0, 0)
    assert header is not None
    data, behind_crc = bytearray(whole)[: header.size], FRAME_SIZE + 4
    for at in flips:
        data[behind_crc + at % (len(data) - behind_crc)] ^= 1
    pieces, at = [], 0
    for size in [LARGEST_HEADER, *sizes]:
        if len(data) - at > size:
            pieces.append(bytes(data[at : at + size]))
            at += size
    pieces.append(bytes(data[at:]))
    assert crc_holds_in(header, pieces) == crc_holds(header, bytes(data)) == (not flips)
    assert not crc_holds_in(header, pieces[:-1])


def test_a_row_of_a_table_is_the_header_that_it_was_made_of():
    """From in front or from behind, of a whole table or of a part of it."""
    data = b"".join(data for data, _ in BATCHES.values())
    rows = walk(data, 1000).rows
    headers = [parse_batch(data, row["position"] - 1000, row["position"]) for row in rows]
    assert len(headers) > 2
    for part, expected in ((rows, headers), (rows[1:], headers[1:]), (rows[:-1], headers[:-1])):
        assert [batch_at(part, at) for at in range(len(part))] == expected
        assert [batch_at(part, at - len(part)) for at in range(len(part))] == expected
    for at in range(len(rows)):
        header = batch_at(rows, at)
        assert first_offsets(rows[at:]) == (header.base_offset, header.last_offset, VALID)
