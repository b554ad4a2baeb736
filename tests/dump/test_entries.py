"""Headers as Kafka's tool takes them, and Java's arithmetic."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.dump.entries import HEADER_READ, UnreadableEntry, entry_at, sequence_after, sequence_before, wrap
from kafkafs.format.batch import Batch
from tests.format.golden import V1_NONE, V2_NONE

LARGEST = 2**31 - 1
sequences = st.integers(0, LARGEST)


@given(st.integers(-(2**66), 2**66))
def test_numbers_wrap_as_javas_do(number: int) -> None:
    """A damaged header may sum up to more than 64 bits."""
    assert wrap(number, 64) == int.from_bytes((number % 2**64).to_bytes(8, "big"), "big", signed=True)
    assert wrap(number, 32) == int.from_bytes((number % 2**32).to_bytes(4, "big"), "big", signed=True)


@given(sequences, sequences)
def test_a_sequence_goes_round_from_the_largest_to_zero(sequence: int, delta: int) -> None:
    """There are 2^31 sequence numbers, and none is negative."""
    assert sequence_after(sequence, delta) == (sequence + delta) % 2**31
    assert sequence_before(sequence_after(sequence, delta), delta) == sequence


def test_a_whole_batch_has_a_header() -> None:
    """The plain case, in v2 and v1."""
    batch = entry_at(V2_NONE[:HEADER_READ], 40, 40 + len(V2_NONE))
    assert isinstance(batch, Batch)
    assert (batch.position, batch.size, batch.base_offset, batch.last_offset, batch.count) == (40, 97, 100, 102, 3)
    message = entry_at(V1_NONE[:HEADER_READ], 0, len(V1_NONE))
    assert isinstance(message, Batch)
    assert (message.size, message.magic, message.last_offset, message.max_timestamp) == (38, 1, 100, 1000)


@pytest.mark.parametrize("end", range(len(V2_NONE)))
def test_a_cut_entry_is_the_end(end: int) -> None:
    """The newest batch of a running broker may be half there."""
    assert entry_at(V2_NONE[: min(end, HEADER_READ)], 0, end) is None


def test_a_size_that_no_message_has_is_the_end() -> None:
    """Zeros behind the last batch of a preallocated file."""
    assert entry_at(bytes(HEADER_READ), 0, 4096) is None


def test_a_magic_below_zero_is_no_format() -> None:
    """Its size still leads to the next entry."""
    data = V2_NONE[:16] + b"\xbd" + V2_NONE[17:]
    assert entry_at(data[:HEADER_READ], 0, len(data)) == UnreadableEntry(0, 97, -67, 100)


@given(st.binary(max_size=HEADER_READ), st.integers(0, 2**40), st.integers(0, 2**41))
def test_any_bytes_have_an_answer(header: bytes, position: int, end: int) -> None:
    """And one that leads on, within the file."""
    entry = entry_at(header, position, end)
    assert entry is None or (entry.size > 25 and entry.position + entry.size <= end)
