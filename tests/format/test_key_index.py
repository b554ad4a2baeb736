"""The file of a key index: what is written is read, and what is damaged is found out."""

import numpy as np
import pytest

from kafkafs.format.kernels import crc32c
from kafkafs.format.key_index import Identity, encode, parse_fences, parse_header, sample_positions

SEED, IDENTITY = bytes(range(16)), Identity(500, 1 << 30, 0xDEADBEEF)


@pytest.mark.parametrize("count", [0, 1, 510, 511, 512, 5000])
def test_what_is_written_is_read(count):
    rows = np.arange(count, dtype=np.int64) << 33
    data = encode(rows, SEED, IDENTITY)
    header = parse_header(data[:4096])
    assert header is not None
    assert (header.seed, header.identity, header.rows, header.size) == (SEED, IDENTITY, count, len(data))
    fences = parse_fences(data[header.fences_at :], header)
    assert fences is not None
    assert fences.tolist() == rows[::511].tolist()
    for page in range(header.pages):
        content = data[4096 * (page + 1) : 4096 * (page + 2)]
        assert int.from_bytes(content[4092:], "little") == crc32c(content[:4092])
        own = rows[page * 511 : page * 511 + 511]
        assert np.frombuffer(content, "<i8", 511)[: len(own)].tolist() == own.tolist()
    assert len(data) <= 4096 * 2 + count * 8.1 + 4096


def test_any_flipped_bit_of_header_or_fences_is_found_out():
    data = encode(np.arange(2000, dtype=np.int64) << 33, SEED, IDENTITY)
    header = parse_header(data[:4096])
    assert header is not None
    for at in [*range(70), *range(4090, 4096)]:
        broken = bytearray(data[:4096])
        broken[at] ^= 4
        assert parse_header(bytes(broken)) is None
    fences = bytearray(data[header.fences_at :])
    fences[9] ^= 1
    assert parse_fences(bytes(fences), header) is None
    assert parse_fences(bytes(fences)[:-8], header) is None
    assert parse_header(b"") is None


def test_the_name_tells_which_log_it_is_of():
    assert IDENTITY.file_name == "00000000000000000500-1073741824-deadbeef.keys"


@pytest.mark.parametrize("size", [0, 1, 4096, 4097, 1 << 30])
def test_samples_lie_within_the_log(size):
    positions = sample_positions(size)
    assert positions[0] == 0
    assert positions[-1] == max(0, size - 4096)
    assert positions == sorted(positions)
