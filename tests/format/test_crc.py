"""The checksums: right for every length and alignment, or a sound batch would be called corrupt."""

import zlib
from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format.kernels import crc32c
from kafkafs.format.native import checksum


def naive_crc32c(data: bytes) -> int:
    """The definition: bit by bit, reflected Castagnoli polynomial."""
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


def test_the_published_check_values_hold():
    """RFC 3720 and the catalogue of CRCs give these; a wrong polynomial fails them all."""
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32(b"123456789") == 0xCBF43926


def test_every_length_around_the_strands_is_right():
    """One byte at a time, words, three strands: each seam between the three ways is crossed."""
    data = bytes(i * 131 >> 3 & 255 for i in range(3 * checksum.STRAND * 2 + 20))
    for size in [*range(40), *range(3 * checksum.STRAND - 9, 3 * checksum.STRAND + 18), len(data)]:
        assert crc32c(data[:size]) == naive_crc32c(data[:size]), size


@given(st.binary(max_size=300), st.integers(0, 8))
def test_any_bytes_at_any_alignment(data, skip):
    """Batches start anywhere in a buffer; the kernel reads eight bytes at a time from wherever that is."""
    view = memoryview(data)[skip:]
    assert crc32c(view) == naive_crc32c(bytes(view))
    assert crc32(view) == zlib.crc32(bytes(view))
