"""Snappy blocks: every element that the format allows, against a decoder that copies byte by byte."""

import struct

from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format.codecs import SNAPPY, decompress, unpack
from tests.format.packers import bare_snappy, xerial
from tests.format.test_lz4 import naive


def literal(content: bytes, width: int) -> bytes:
    """A literal whose size is in the tag, or in `width` bytes behind it: none writes those for less than 4 bytes."""
    if (width == 0 and len(content) <= 60) or len(content) < 4:
        return bytes([len(content) - 1 << 2]) + content
    width = max(width, 1 if len(content) <= 256 else 2)
    return bytes([59 + width << 2]) + struct.pack("<I", len(content) - 1)[:width] + content


def copy(distance: int, length: int, kind: int) -> bytes:
    """A copy with its distance in 11, 16 or 32 bits."""
    if kind == 1 and 4 <= length <= 11 and distance < 2048:
        return bytes([1 | length - 4 << 2 | distance >> 8 << 5, distance & 255])
    if kind <= 2 and distance < 65536:
        return bytes([2 | length - 1 << 2]) + struct.pack("<H", distance)
    return bytes([3 | length - 1 << 2]) + struct.pack("<I", distance)


TIMES = st.sampled_from([1, 1, 1, 30])
FARTHEST = st.sampled_from([40, 1 << 32])


@st.composite
def blocks(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A block of random elements, and what it unpacks to."""
    packed, out = bytearray(), bytearray()
    for _ in range(draw(st.integers(0, 10))):
        if not out or draw(st.booleans()):
            content = draw(st.binary(min_size=1, max_size=70)) * draw(TIMES)
            packed += literal(content, draw(st.integers(0, 4)))
            out += content
        else:
            distance = draw(st.integers(1, min(len(out), draw(FARTHEST))))
            length = draw(st.integers(1, 64))
            packed += copy(distance, length, draw(st.integers(1, 3)))
            naive(out, distance, length)
    size, stated = len(out), bytearray()
    while size > 127:
        stated.append(size & 127 | 128)
        size >>= 7
    return bytes(stated) + bytes([size]) + bytes(packed), bytes(out)


@given(blocks(), st.integers(0, 40))
def test_any_elements_unpack_as_the_format_says(block, slack):
    """Overlapping copies of every distance, at every distance from the end of the room."""
    packed, want = block
    room = bytearray(b"\xee" * (len(want) + slack))
    assert unpack(SNAPPY, 2, packed, memoryview(room)) == len(want)
    assert room == want + b"\xee" * slack


@given(st.binary(max_size=30), st.integers(1, 3000), st.binary(max_size=3000))
def test_what_another_hand_packs_comes_back(pattern, times, noise):
    """The reference implementation chooses its own copies, in streams and in one bare block."""
    content = pattern * times + noise + pattern * 7
    assert bytes(decompress(SNAPPY, 2, xerial(content), 1 << 20)) == content
    assert bytes(decompress(SNAPPY, 2, bare_snappy(content), 1 << 20)) == content
