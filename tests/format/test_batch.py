"""Batch headers of all formats: Kafka's own bytes, cut and flipped anywhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format.batch import CODECS, FRAME_SIZE, SMALLEST, Batch, crc_holds, parse_batch
from tests.format.golden import BATCHES, COMMIT, V0_LZ4, V1_GZIP, V2_GZIP, V2_NONE

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
