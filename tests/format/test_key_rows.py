"""Rows of keys: collected in any portions, merged, and compared byte by byte."""

from collections.abc import Sequence

import numpy as np
import pytest

from kafkafs.errors import CorruptData
from kafkafs.format.batch import walk
from kafkafs.format.key_index import KeyCollector, hashed, matching, merged, new_seed
from kafkafs.format.records import Records, decode
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record


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


def test_more_keys_than_are_collected_at_once(monkeypatch):
    monkeypatch.setattr("kafkafs.format.key_index._FEW", 64)
    collector = KeyCollector(0, new_seed())
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
