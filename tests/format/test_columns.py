"""Records as columns: the accessors for single records tell what the columns say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.errors import CorruptData
from kafkafs.format.batch import walk
from kafkafs.format.records import RECORD, Records, decode
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record

_maybe = st.one_of(st.none(), st.binary(max_size=200))
_headers = st.lists(st.tuples(st.binary(max_size=200), _maybe), max_size=4).map(tuple)


def columns(records: list[Record]) -> Records:
    """The only piece of one batch."""
    data = v2_batch(records)
    (piece,) = decode(data, 0, walk(data, 0).rows, 1 << 20)
    assert isinstance(piece, Records)
    return piece


@given(_maybe, _maybe, _headers)
def test_key_value_and_headers_are_the_bytes_that_were_written(key, value, headers):
    """Null is not empty, names repeat, and lengths take one byte or two."""
    piece = columns([Record(3, 4, 0, key, value, headers)])
    found_key, found_value = piece.key(0), piece.value(0)
    assert (None if found_key is None else bytes(found_key)) == key
    assert (None if found_value is None else bytes(found_value)) == value
    assert tuple(piece.headers(0)) == headers
    assert piece.rows["header_count"].tolist() == [len(headers)]


@given(st.sets(st.integers(0, 60), min_size=1), st.integers(0, 70), st.integers(0, 70))
def test_between_is_a_range_of_offsets(offsets, start, stop):
    """Compaction leaves gaps; the bounds may lie in them."""
    piece = columns([Record(offset, 0, 0, None, None) for offset in sorted(offsets)])
    assert set(piece.between(start, stop).rows["offset"].tolist()) == {o for o in offsets if start <= o < stop}


def test_nothing_is_copied():
    """A piece of an uncompressed batch stands in the buffer that was read."""
    data = v2_batch([Record(0, 0, 0, b"key", b"value")])
    (piece,) = decode(data, 0, walk(data, 0).rows, 1 << 20)
    assert isinstance(piece, Records)
    at = int(piece.rows["value_at"][0])
    assert data[at : at + 5] == b"value"
    assert piece.data.base is not None


@pytest.mark.parametrize("data", [b"\x80", b"\x80" * 4, b"\x80" * 40 + b"\0", b"\4k"])
def test_a_header_whose_size_does_not_end_is_corrupt(data):
    """Rows come from kernels that have looked; those of another make are read no further than a number may be long."""
    piece = Records(np.frombuffer(data, np.uint8), np.zeros(0, RECORD))
    with pytest.raises(CorruptData, match="number"):
        piece.header_at(0)
