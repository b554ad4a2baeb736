"""Numbers of variable length, by the uncompiled source, against `format.varints`, which reads them one at a time."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.errors import CorruptData
from kafkafs.format import varints
from kafkafs.format.native import varint as native

Pair = tuple[int, int]
KINDS = {"varint": (native.varint, varints.varint), "varlong": (native.varlong, varints.varlong)}
LONG = st.builds(
    lambda front, last, rest: bytes(each | 128 for each in front) + bytes([last]) + rest,
    st.integers(0, 11).flatmap(lambda size: st.binary(min_size=size, max_size=size)),
    st.integers(0, 127), st.binary(max_size=2),
)  # fmt: skip
"""Numbers of any length, up to two bytes more than any may have."""
PLACES = st.sampled_from([0, 0, 0, 1, 2])


def expected(read: Callable[[bytes, int], Pair], data: bytes, at: int) -> int | None:
    """The number that stands there; None where there is none."""
    try:
        return read(data, at)[0]
    except CorruptData:
        return None


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.binary(max_size=12) | LONG, places=st.tuples(PLACES, PLACES))
def test_any_bytes_are_the_same_number_or_none(kind, data, places):
    """Lengths, deltas and counts of every record: cut, too long, longer than need be, with bits that do not fit."""
    kernel, one = KINDS[kind]
    at, end = min(places[0], len(data)), len(data) - min(places[1], len(data))
    value, behind = kernel(memoryview(data), at, end)
    if expected(one, data[:end], at) is None:
        assert (value, behind) == (0, -1)
    else:
        assert (value, behind) == one(data[:end], at)


@given(st.integers(-(2**63), 2**63 - 1), st.binary(max_size=3))
def test_what_is_written_is_read_and_what_follows_is_left(number, rest):
    data = varints.signed_bytes(number)
    assert native.varlong(memoryview(data + rest), 0, len(data + rest)) == (number, len(data))
    if -(2**31) <= number < 2**31:
        assert native.varint(memoryview(data + rest), 0, len(data + rest)) == (number, len(data))
