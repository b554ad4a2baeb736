"""Rows as JSON lines, by the kernel alone: into rooms of any size, compiled and uncompiled: nothing lost."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafkafs.format import kernels
from kafkafs.format.batch import walk
from kafkafs.format.native import json_lines
from kafkafs.format.records import Records, decode
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.view.json_model import line as model_line

PREFIX = b'{"topic":"t","partition":0,"offset":'
BYTES = st.none() | st.binary(max_size=30) | st.text(max_size=30).map(str.encode)
HEADERS = st.lists(st.tuples(st.binary(max_size=20), BYTES), max_size=6).map(tuple)
RECORDS = st.lists(st.tuples(st.integers(-5, 5), BYTES, BYTES, HEADERS), min_size=1, max_size=8).map(
    lambda listed: [Record(at, 1000 + time, 0, key, value, own) for at, (time, key, value, own) in enumerate(listed)]
)
SOURCES = {"compiled": kernels, "uncompiled": json_lines}


def rows_of(records: list[Record]) -> Records:
    batch = v2_batch(records)
    (piece,) = decode(batch, 0, walk(batch, 0).rows, 1 << 20)
    assert isinstance(piece, Records)
    return piece


def guarded(size: int) -> "tuple[np.ndarray[tuple[int], np.dtype[np.uint8]], Callable[[], bool]]":
    """A room of that size, and whether what stands behind it is untouched."""
    memory = np.full(size + 64, 0xEE, np.uint8)
    return memory[:size], lambda: bool((memory[size:] == 0xEE).all())


@pytest.mark.parametrize("source", SOURCES)
@given(records=RECORDS, sizes=st.lists(st.integers(0, 1500), min_size=1))
def test_any_rooms_together_hold_every_line_once(source, records, sizes):
    """A kernel ends before a line that might not fit; where none does, the caller takes a larger room."""
    kernel, piece = SOURCES[source], rows_of(records)
    text, first, turn = b"", 0, 0
    while first < len(piece):
        room, untouched = guarded(sizes[turn % len(sizes)] if turn < 2 * len(sizes) else 1 << 14)
        size, stop = kernel.json_lines(piece.rows, first, len(piece), piece.data, PREFIX + bytes(16), len(PREFIX), room)
        assert untouched()
        assert (size > 0) == (stop > first)
        text, first, turn = text + room[:size].tobytes(), stop, turn + 1
    assert text == b"".join(model_line("t", 0, record) for record in records)


@pytest.mark.parametrize("source", SOURCES)
@given(records=RECORDS)
def test_the_bound_is_one(source, records):
    """What a caller takes so much room for is written in one call."""
    kernel, piece = SOURCES[source], rows_of(records)
    bound = kernel.lines_bound(piece.rows, 0, len(piece), len(PREFIX))
    room, untouched = guarded(bound)
    size, stop = kernel.json_lines(piece.rows, 0, len(piece), piece.data, PREFIX + bytes(16), len(PREFIX), room)
    assert untouched()
    assert (stop, size <= bound) == (len(piece), True)


@pytest.mark.parametrize("source", SOURCES)
@given(headers=HEADERS, size=st.integers(400, 700))
@example(headers=((b"k" * 20, b"v" * 120),), size=400)
def test_headers_in_parts_are_the_headers(source, headers, size):
    """A record may have more of them than any room holds."""
    kernel, piece = SOURCES[source], rows_of([Record(0, 0, 0, None, None, headers)])
    row = piece.rows[0]
    at, end, index, text = int(row["headers_at"]), int(row["headers_at"] + row["headers_size"]), 0, b""
    while index < len(headers):
        room, untouched = guarded(size)
        made, at, index = kernel.json_headers(piece.data, at, end, index, len(headers), room)
        assert untouched()
        if not made:  # the next one might not fit: the caller takes a larger room, and any of these fits into thrice it
            assert size <= 700
            size *= 3
        text += room[:made].tobytes()
    assert (at, text) == (end, model_line("t", 0, Record(0, 0, 0, None, None, headers)).partition(b"[")[2][:-3])
