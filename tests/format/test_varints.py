"""Variable-length integers against an encoder, and where they are none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.errors import CorruptData
from kafkafs.format.varints import signed_bytes, unsigned, unsigned_bytes, varint, varlong
from tests.format.batch_maker import varint as encoded


@given(st.integers(-(2**31), 2**31 - 1), st.binary(max_size=3))
def test_a_varint_is_read_and_what_follows_is_left(number: int, rest: bytes) -> None:
    """Lengths, deltas and counts of every record."""
    data = encoded(number)
    assert varint(data + rest, 0) == (number, len(data))


@given(st.integers(-(2**63), 2**63 - 1), st.binary(max_size=3))
def test_a_varlong_is_read_from_where_it_stands(number: int, front: bytes) -> None:
    """Timestamp deltas."""
    data = front + encoded(number)
    assert varlong(data, len(front)) == (number, len(data))


def test_longer_than_need_be_is_no_error() -> None:
    """Kafka's decoders do not demand the shortest form."""
    assert varint(b"\x82\x80\x00", 0) == (1, 3)
    assert unsigned(b"\xff\xff\xff\xff\x7f", 0) == (2**35 - 1, 5)


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff\xff\xff\xff"])
def test_a_cut_number_is_an_error(data: bytes) -> None:
    """Never a guess, and never a read behind the end."""
    with pytest.raises(CorruptData, match="ends inside a number"):
        varint(data, 0)


def test_a_number_that_does_not_end_is_an_error() -> None:
    """Five bytes for 32 bits, ten for 64."""
    with pytest.raises(CorruptData, match="longer than 5"):
        varint(b"\xff" * 5 + b"\0", 0)
    with pytest.raises(CorruptData, match="longer than 10"):
        varlong(b"\xff" * 10 + b"\0", 0)


@given(st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**35 - 1))
def test_what_is_written_is_read_again(number: int, count: int) -> None:
    """As short as another hand writes it."""
    assert signed_bytes(number) == encoded(number)
    assert unsigned(unsigned_bytes(count), 0) == (count, len(unsigned_bytes(count)))
