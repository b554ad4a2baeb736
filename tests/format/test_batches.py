"""Walks over many batches: the same headers as one by one, and an end where entries end."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format.batch import crc_holds, parse_batch
from kafkafs.format.batches import UNCHECKED, batch_at, walk
from tests.format.batch_maker import v2_around
from tests.format.golden import BATCHES, COMMIT, V1_GZIP, V1_NONE, V2_GZIP, V2_NONE


def test_one_row_is_the_header_as_a_value():
    """What walks in bulk and what parses one header must never disagree."""
    data = V2_NONE + V1_NONE + V1_GZIP + COMMIT
    found = walk(data, 700)
    for index, row in enumerate(found.rows):
        assert batch_at(found.rows, index) == parse_batch(data, int(row["position"]) - 700, int(row["position"]))


@given(st.lists(st.sampled_from([V2_NONE, V2_GZIP, V1_NONE, V1_GZIP, COMMIT]), max_size=6), st.binary(max_size=40))
def test_a_walk_ends_where_entries_end(entries, tail):
    """The broker's own rule: fewer than 18 bytes are nothing, a size that cannot be is broken, the rest is cut."""
    data = b"".join(entries)
    found = walk(data + tail, 0)
    assert found.at >= len(data)
    if found.at == len(data):
        want = "end" if not tail else "cut"
        if len(tail) >= 18 and (struct.unpack_from(">i", tail, 8)[0] < 14 or tail[16] > 2 or tail[0] > 127):
            want = "broken"
        assert found.stop in (want, "broken")


@pytest.mark.parametrize("name", BATCHES)
def test_the_verdict_is_that_of_one_batch_alone(name):
    """For every flipped bit, bulk and single reading agree on what is valid."""
    data = BATCHES[name][0]
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        for row in walk(bytes(flipped), 0).rows:
            start = int(row["position"])
            batch = parse_batch(bytes(flipped), start, start)
            assert batch is not None
            assert bool(row["valid"]) == crc_holds(batch, bytes(flipped[start : batch.end]))


def test_without_verify_nothing_is_said_about_validity():
    """Listing headers of cold data need not read all of it."""
    assert walk(V2_NONE + V1_NONE, 0, verify=False).rows["valid"].tolist() == [UNCHECKED] * 4


def test_a_walk_starts_anywhere_and_counts_positions_from_the_start_of_the_data():
    """A reader goes on behind what it has seen, in the same buffer."""
    data = V2_NONE + V2_GZIP + COMMIT
    found = walk(data, 10_000, len(V2_NONE))
    assert found.rows["position"].tolist() == [10_000 + len(V2_NONE), 10_000 + len(V2_NONE + V2_GZIP)]
    assert found.at == len(data)


def test_a_hundred_thousand_empty_batches_are_all_found():
    """The table grows with what is there, not with what might be."""
    data = v2_around(b"", 0) * 100_000
    assert len(walk(data, 0, verify=False).rows) == 100_000
