"""LZ4 blocks: every sequence that the format allows, against a decoder that copies byte by byte."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format.codecs import LZ4, decompress, unpack
from tests.format.packers import lz4_frame

_HEADER = lz4_frame(b"")[:7]


def naive(out: bytearray, distance: int, length: int) -> None:
    """What a match means."""
    for _ in range(length):
        out.append(out[-distance])


def length_bytes(length: int) -> bytes:
    """What follows a nibble of 15."""
    return b"\xff" * ((length - 15) // 255) + bytes([(length - 15) % 255]) if length >= 15 else b""


TIMES = st.sampled_from([1, 1, 1, 20])
FARTHEST = st.sampled_from([40, 65535])
LENGTHS = st.one_of(st.integers(4, 40), st.sampled_from([18, 19, 20, 273, 274, 275, 1000]))


@st.composite
def blocks(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A block of random sequences, and what it unpacks to."""
    packed, out = bytearray(), bytearray()
    for _ in range(draw(st.integers(0, 8))):
        literals = draw(st.binary(min_size=0 if out else 1, max_size=40)) * draw(TIMES)
        out += literals
        distance = draw(st.integers(1, min(len(out), draw(FARTHEST))))
        length = draw(LENGTHS)
        packed.append(min(len(literals), 15) << 4 | min(length - 4, 15))
        packed += length_bytes(len(literals)) + literals + struct.pack("<H", distance) + length_bytes(length - 4)
        naive(out, distance, length)
    last = draw(st.binary(min_size=5 if out else 0, max_size=30))  # else Kafka's reader refuses it, too
    packed.append(min(len(last), 15) << 4)
    packed += length_bytes(len(last)) + last
    return bytes(packed), bytes(out + last)


@given(blocks(), st.integers(0, 40))
def test_any_sequences_unpack_as_the_format_says(block, slack):
    """Overlapping matches of every distance, at every distance from the end of the room."""
    packed, want = block
    frame = _HEADER + struct.pack("<I", len(packed)) + packed + bytes(4)
    room = bytearray(b"\xee" * (len(want) + slack))
    assert unpack(LZ4, 2, frame, memoryview(room)) == len(want)
    assert room[: len(want)] == want


@given(st.binary(max_size=30), st.integers(1, 3000), st.binary(max_size=3000))
def test_what_another_hand_packs_comes_back(pattern, times, noise):
    """The reference implementation chooses its own matches."""
    content = pattern * times + noise + pattern * 7
    assert bytes(decompress(LZ4, 2, lz4_frame(content), 1 << 20)) == content


@pytest.mark.parametrize("size", [18, 65_536, 70_000, 4 << 20])
def test_the_first_bytes_of_a_block_are_no_size(size):
    """With room enough they may read as one: of the zeros that an old message begins with, for example."""
    packed, content = b"\x12\0\1\0\xb0old message", bytes(7) + b"old message"
    frame = lz4_frame(b"", code=7)[:7] + struct.pack("<I", len(packed)) + packed + bytes(4)
    room = memoryview(bytearray(size))
    assert unpack(LZ4, 1, frame, room) == len(content)
    assert room[: len(content)] == content
