"""The offset index's entries and whether it is sound, on real files too. Lookups are in test_index."""

import struct

import pytest

from kafkafs.format.index import OffsetIndex, OffsetPosition
from kafkafs.format.names import parse_segment_file


def index_of(data: bytes, base: int = 0) -> OffsetIndex:
    return OffsetIndex(lambda position, size: data[position : position + size], len(data), base)


def test_relative_offsets_are_made_absolute():
    """The worked example: base 23147, entries 23228 -> 4171, 23307 -> 8279, 23479 -> 16648."""
    index = index_of(struct.pack(">6i", 81, 4171, 160, 8279, 332, 16648), 23147)
    assert index.lookup(23307) == OffsetPosition(1, 23307, 8279, 0)
    assert index.lookup(23350) == OffsetPosition(1, 23307, 8279, 0)
    assert index.lookup(23227) == OffsetPosition(-1, 23147, 0, 8279)
    assert index.load().tolist() == [(81, 4171), (160, 8279), (332, 16648)]


@pytest.mark.parametrize(
    ("pairs", "sound"),
    [
        ([], True),
        ([(1, 10)], True),
        ([(1, 10), (2, 20)], True),
        ([(1, 10), (1, 20)], False),
        ([(2, 10), (1, 20)], False),
        ([(1, 10), (2, 10)], False),
        ([(1, 10), (2, 5)], False),
        ([(-1, 10)], False),
    ],
)
def test_soundness_is_strict_order(pairs, sound):
    """`info.json` says "damaged" by this."""
    assert index_of(b"".join(struct.pack(">ii", *pair) for pair in pairs)).is_sound() == sound


def test_every_index_of_a_real_broker_is_sound(dataset):
    """A healthy file called damaged sends an operator looking for what is not there."""
    seen = 0
    for file in dataset.path.glob("*/*.index"):
        named = parse_segment_file(file.name)
        assert named is not None
        index = index_of(file.read_bytes(), named.offset)
        assert index.is_sound(), file
        assert index.entries == 0 or index.lookup(2**62).offset >= named.offset
        seen += index.entries
    assert seen > 2000
