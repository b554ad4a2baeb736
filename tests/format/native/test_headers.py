"""Walks over many batches: the same headers as one by one, and an end where entries end."""

import random
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format import kernels
from kafkafs.format.batch import (
    BATCH,
    INVALID,
    UNCHECKED,
    VALID,
    batch_at,
    count_in_order,
    crc_holds,
    is_overfull,
    parse_batch,
    walk,
)
from kafkafs.format.native import headers
from kafkafs.format.records import Records, decode
from tests.format.batch_maker import v2_around
from tests.format.decoding import unpacked
from tests.format.golden import BATCHES, COMMIT, V1_GZIP, V1_NONE, V2_GZIP, V2_NONE
from tests.format.hostile import mutated


def test_one_row_is_the_header_as_a_value():
    """What walks in bulk and what parses one header must never disagree."""
    data = V2_NONE + V1_NONE + V1_GZIP + COMMIT
    found = walk(data, 700)
    for index, row in enumerate(found.rows):
        assert batch_at(found.rows, index) == parse_batch(data, int(row["position"]) - 700, int(row["position"]))


ENTRIES = st.lists(st.sampled_from([V2_NONE, V2_GZIP, V1_NONE, V1_GZIP, COMMIT]), max_size=6)
SMALLEST = (26, 34, 61)  # bytes of an entry's header, by magic
HEADERS = st.builds(
    lambda offset, size, magic, delta, rest: struct.pack(">qiibIhi", offset, size - 12, 0, magic, 0, 0, delta) + rest,
    st.sampled_from([-1, 0, 1, 2**63 - 1]), st.integers(12, 70), st.integers(-1, 4), st.integers(-1, 1),
    st.binary(max_size=50),
)  # fmt: skip
"""What looks like the beginning of an entry, with sizes around the smallest and beyond what there is of it."""


def stop_at(tail: bytes) -> str | None:
    """How a walk ends in front of `tail`, by the broker's rules; None where an entry stands there."""
    if len(tail) < 18:
        return "cut" if tail else "end"
    offset, size, magic = struct.unpack_from(">qi4xb", tail)
    if offset < 0 or not 0 <= magic <= 2 or size + 12 < SMALLEST[magic]:
        return "corrupt"
    if size + 12 > len(tail):
        return "cut"
    return "corrupt" if magic == 2 and struct.unpack_from(">i", tail, 23)[0] < 0 else None


@given(ENTRIES, st.one_of(st.binary(max_size=40), HEADERS))
def test_a_walk_ends_where_entries_end(entries, tail):
    """The broker's own rule: fewer than 18 bytes are nothing, a size that cannot be is broken, the rest is cut."""
    data = b"".join(entries) + tail
    found = walk(data, 0)
    assert len(found.rows) >= sum(entry_count(entry) for entry in entries)
    assert found.stop == stop_at(data[found.at :])
    ends = [int(row["position"]) + int(row["size"]) for row in found.rows]
    assert found.at == (ends[-1] if ends else 0)
    assert all(stop_at(data[int(row["position"]) :]) is None for row in found.rows)


def entry_count(entry: bytes) -> int:
    return len(walk(entry, 0).rows)


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


def test_a_hundred_thousand_empty_batches_are_all_found():
    """The table grows with what is there, not with what might be."""
    data = v2_around(b"", 0) * 100_000
    assert len(walk(data, 0, verify=False).rows) == 100_000


def all_of(data: bytes) -> object:
    """What a walk and its records say of these bytes. Padding is as it was in memory: nobody writes it."""
    found = walk(data, 0)
    reported = [name for name in BATCH.names or () if name != "padding"]
    return found.rows[reported].tolist(), found.stop, found.at, found.missing, [
        unpacked(piece) if isinstance(piece, Records) else str(piece.error)
        for piece in decode(data, 0, found.rows, 1 << 10)
    ]  # fmt: skip


@given(ENTRIES, st.one_of(st.binary(max_size=40), HEADERS), st.integers(0, 1 << 30))
def test_uncompiled_the_same_is_said_of_sound_and_of_damaged_batches(entries, tail, seed):
    """Which batches are decoded alike, too: where it is stepped through, the same must be seen."""
    whole, chance = b"".join(entries) + tail, random.Random(seed)
    for data in (whole, *(mutated(whole, chance) for _ in range(3 * bool(whole)))):
        compiled = all_of(data)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernels, "walk", headers.walk)
            patch.setattr(kernels, "next_alike", headers.next_alike)
            assert all_of(data) == compiled


SMALL = st.integers(-1, 6)
ROWS = st.lists(st.tuples(st.sampled_from([VALID, VALID, VALID, INVALID, UNCHECKED]), SMALL, SMALL, SMALL), max_size=5)


@pytest.mark.parametrize("source", [kernels, headers], ids=["compiled", "uncompiled"])
@given(rows=ROWS, before=SMALL, next_base=st.none() | SMALL)
def test_batches_follow_each_other_as_far_as_their_headers_say(source, rows, before, next_base):
    """Row by row: valid, behind the one in front, below the next segment; and no more records than offsets."""
    table = np.zeros(len(rows), BATCH)
    for row, fields in zip(table, rows, strict=True):
        row["valid"], row["base_offset"], row["last_offset"], row["count"] = fields
    expected, last = 0, before
    for valid, base, end, _ in rows:
        if valid != VALID or base <= last or end < base or (next_base is not None and end >= next_base):
            break
        expected, last = expected + 1, end
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "count_in_order", source.count_in_order)
        patch.setattr(kernels, "count_until_overfull", source.count_until_overfull)
        assert count_in_order(table, before, next_base) == expected
        assert is_overfull(table) == any(count > end - base + 1 for _, base, end, count in rows)


@pytest.mark.parametrize("source", [kernels, headers], ids=["compiled", "uncompiled"])
def test_the_largest_offset_that_there_is_is_in_order(source):
    """Where no segment follows there is no offset too large."""
    table = np.zeros(1, BATCH)
    table["valid"], table["base_offset"], table["last_offset"] = VALID, 2**63 - 1, 2**63 - 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "count_in_order", source.count_in_order)
        assert (count_in_order(table, 5, None), count_in_order(table, 2**63 - 1, None)) == (1, 0)
