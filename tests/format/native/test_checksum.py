"""The checksums: right for every length and alignment, or a sound batch would be called corrupt."""

import struct
import zlib

from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format.batch import walk
from kafkafs.format.kernels import crc32c
from kafkafs.format.native import checksum

PAST_STRANDS = 3 * checksum.STRAND
DATA = bytes(i * 131 >> 3 & 255 for i in range(2 * PAST_STRANDS + 20))
SIZES = [*range(40), *range(PAST_STRANDS - 9, PAST_STRANDS + 18), len(DATA)]


def naive_crc32c(data: bytes) -> int:
    """The definition: bit by bit, reflected Castagnoli polynomial."""
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


def uncompiled(data: bytes | memoryview) -> tuple[int, int]:
    """Both checksums by the source as Python, where it may be stepped through."""
    view = memoryview(data)
    return checksum.crc32c_of(view, 0, len(view), 0), checksum.crc32_of(view, 0, len(view))


def test_the_published_check_values_hold():
    """RFC 3720 and the catalogue of CRCs give these; a wrong polynomial fails them all."""
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert uncompiled(b"123456789") == (0xE3069283, 0xCBF43926)


def test_every_length_around_the_strands_is_right():
    """One byte at a time, words, three strands: each seam between the three ways is crossed."""
    for size in SIZES:
        assert crc32c(DATA[:size]) == naive_crc32c(DATA[:size]), size
        assert uncompiled(DATA[:size]) == (naive_crc32c(DATA[:size]), zlib.crc32(DATA[:size])), size


@given(st.binary(max_size=300), st.integers(0, 8))
def test_any_bytes_at_any_alignment(data, skip):
    """Batches start anywhere in a buffer; the kernel reads eight bytes at a time from wherever that is."""
    view = memoryview(data)[skip:]
    assert crc32c(view) == naive_crc32c(bytes(view))
    assert crc32c(view[skip:], crc32c(view[:skip])) == naive_crc32c(bytes(view)), "in two pieces"
    assert uncompiled(view) == (naive_crc32c(bytes(view)), zlib.crc32(view))


def message(value: bytes) -> bytes:
    """One of format v1, whose checksum is the CRC-32 of all behind it."""
    covered = struct.pack(">bbqi", 1, 0, 5, -1) + struct.pack(">i", len(value)) + value
    return struct.pack(">qiI", 0, len(covered) + 4, zlib.crc32(covered)) + covered


@given(st.binary(max_size=300) | st.sampled_from(SIZES).map(lambda size: DATA[:size]), st.data())
def test_messages_of_old_formats_are_held_against_zlibs_checksum(value, data):
    """Its kernel has no door of its own: the walk over messages asks it, wherever they begin."""
    first, second = message(b"x" * data.draw(st.integers(0, 8))), message(value)
    assert walk(first + second, 0).rows["valid"].tolist() == [1, 1]
    flipped = bytearray(second)
    flipped[data.draw(st.integers(16, len(second) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    assert walk(first + flipped, 0).rows["valid"].tolist() in ([1, 0], [1])
