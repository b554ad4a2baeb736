"""The time index's entries and whether it is sound, on real files too. Lookups are in test_index."""

import struct

import pytest

from kafkafs.format.index import TimeIndex, TimestampOffset


def index_of(data: bytes, base: int = 0) -> TimeIndex:
    return TimeIndex(lambda position, size: data[position : position + size], len(data), base)


def test_entries_tell_time_and_absolute_offset():
    """The worked example: 1632390207745 -> 23388 and 1632390208071 -> 23475."""
    index = index_of(struct.pack(">qiqi", 1632390207745, 241, 1632390208071, 328), 23147)
    assert index.lookup(1632390207806) == TimestampOffset(0, 1632390207745, 23388)
    assert index.last() == TimestampOffset(1, 1632390208071, 23475)
    assert index.lookup(1632390207744) == TimestampOffset(-1, -1, 23147)
    assert index.lookup_offset(23474) == TimestampOffset(0, 1632390207745, 23388)
    assert index.lookup_offset(23387) == TimestampOffset(-1, -1, 23147)


def test_a_file_of_one_entry_is_not_padded():
    """A preallocated one has room for more. Kafka counts from -1, so a first record of time 0 has an entry of zeros."""
    index = index_of(bytes(12), 700)
    assert not index.is_padded
    assert index.last() == TimestampOffset(0, 0, 700)
    assert index_of(bytes(24)).is_padded


@pytest.mark.parametrize(
    ("pairs", "sound"),
    [
        ([], True),
        ([(5, 0)], True),
        ([(5, 1), (6, 1)], True),
        ([(5, 1), (5, 2)], False),
        ([(6, 1), (5, 2)], False),
        ([(5, 2), (6, 1)], False),
        ([(-5, 2)], False),
        ([(5, -2)], False),
    ],
)
def test_soundness_is_rising_times_and_offsets_that_do_not_fall(pairs, sound):
    assert index_of(b"".join(struct.pack(">qi", *pair) for pair in pairs)).is_sound() == sound


def test_every_index_of_a_real_broker_is_sound(dataset):
    for file in dataset.path.glob("*/*.timeindex"):
        assert index_of(file.read_bytes()).is_sound(), file


def test_the_last_entry_of_a_closed_segment_is_its_largest_timestamp(stopped):
    """`by-time/` is listed by this, without a look into any log."""
    files = sorted(stopped.directory("segments").glob("*.timeindex"))
    records = stopped.records("segments")
    for file, behind in zip(files, [*files[1:], None], strict=True):
        base, end = int(file.stem), int(behind.stem) if behind else 2**63
        newest = max(record.timestamp_ms for record in records if base <= record.offset < end)
        assert index_of(file.read_bytes(), base).last().timestamp == newest
