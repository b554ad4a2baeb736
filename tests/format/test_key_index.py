"""Rows of keys, collected, merged and compared; and their file: what is damaged is found out."""

from collections.abc import Sequence

import numpy as np
import pytest

from kafkafs.errors import CorruptData
from kafkafs.format.batch import walk
from kafkafs.format.kernels import crc32c
from kafkafs.format.key_index import (
    Identity,
    KeyCollector,
    encode,
    hashed,
    matching,
    merged,
    new_seed,
    parse_fences,
    parse_header,
    sample_positions,
)
from kafkafs.format.records import Records, decode
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record

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


def records(base: int, keys: Sequence[bytes | None]) -> Records:
    data = v2_batch([Record(base + at, 5, 0, key, b"v") for at, key in enumerate(keys)])
    (piece,) = decode(data, 0, walk(data, 0).rows, 1 << 20)
    assert isinstance(piece, Records)
    return piece


def test_a_key_has_one_row_with_its_last_offset():
    seed, collector = new_seed(), KeyCollector(100, new_seed())
    collector = KeyCollector(100, seed)
    collector.add(records(100, [b"a", None, b"b", b"a", b""]))
    collector.add(records(110, [b"b", b"c"]))
    made = collector.finish()
    wanted = {b"a": 3, b"b": 10, b"c": 11, b"": 4}
    assert made.rows.tolist() == sorted(hashed(key, seed) << 32 | offset for key, offset in wanted.items())


def test_merging_is_collecting_both():
    seed = new_seed()
    parts = [[b"%d" % (number * at % 37) for at in range(300)] for number in (3, 5)]
    one, other, both = (KeyCollector(0, seed) for _ in range(3))
    for number, (collector, keys) in enumerate(zip((one, other), parts, strict=True)):
        for into in (collector, both):
            into.add(records(number * 300, keys))
    assert merged(one.finish(), other.finish()).rows.tolist() == both.finish().rows.tolist()


def test_more_keys_than_are_collected_at_once():
    collector = KeyCollector(0, new_seed(), 64)
    for number in range(50):
        collector.add(records(number * 50, [b"%d" % (number * 50 + at) for at in range(50)]))
    assert sorted(collector.finish().rows & 0xFFFFFFFF) == list(range(2500))


def test_only_the_very_key_matches():
    """Alike in their first or last bytes, longer, shorter, null."""
    piece = records(0, [b"12345678", b"1234567", b"12345678x", b"1234567x", None, b"12345678"])
    assert matching(piece, b"12345678").tolist() == [0, 5]
    assert matching(records(0, [b"", None, b"a"]), b"").tolist() == [0]


def test_an_offset_beyond_32_bits_is_refused():
    with pytest.raises(CorruptData):
        KeyCollector(0, new_seed()).add(records(2**32, [b"a"]))


def test_nothing_makes_no_rows():
    assert KeyCollector(0, new_seed()).finish().rows.tolist() == np.empty(0).tolist()
