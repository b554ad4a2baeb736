"""Lookups in one segment against a list, and what they cost."""

import os
import random

import pytest

from kafkafs.format.names import segment_file
from kafkafs.format.offset_index import OffsetIndex
from kafkafs.format.time_index import TimeIndex, TimestampOffset
from kafkafs.log.files import DataFile
from tests.kafka.dataset import Dataset
from tests.log.making import log_of, made, partition_of, spread, write_partition
from tests.log.reading import reader

BATCHES = [made(number * 4, [1000 + number] * 3, size=100) for number in range(200)]


@pytest.fixture
def segment(tmp_path):
    """800 offsets, of which every fourth is missing, in one closed segment."""
    write_partition(tmp_path, {0: BATCHES, 800: []})
    return log_of(tmp_path).segments[0]


def test_an_offset_leads_to_the_first_batch_that_ends_at_or_behind_it(segment):
    """Kafka's translateOffset: also from a gap, and none behind the last."""
    size = segment.closed_end()
    assert size == sum(len(batch.data) for batch in BATCHES)
    for offset in range(801):
        batch = next((batch for batch in BATCHES if batch.last >= offset), None)
        found = segment.find(offset, size)
        assert (found and found.base_offset) == (batch and batch.base), offset
        assert found is None or found.last_offset >= offset


def test_a_scan_starts_at_a_batch_with_nothing_wanted_before_it(segment):
    for offset in range(0, 800, 7):
        start = segment.start(offset)
        assert start.first_offset <= offset
        before = [batch for batch in BATCHES if batch.base < start.first_offset]
        assert start.position == sum(len(batch.data) for batch in before)
        assert start.position > 0 or offset < BATCHES[1].last


def test_steps_are_told(segment):
    told: list[str] = []
    segment.find(399, segment.closed_end(), told.append)
    assert "slot 98 of 199: offset 398 -> position" in told[0]
    assert "to the batch 400..402" in told[1]


def test_a_lookup_scans_no_more_than_an_index_interval(monkeypatch):
    """A gigabyte of segment must cost what a small one does: the index, then a little of the log."""
    data = Dataset("4.3.1", "stopped")
    log, read = log_of(data.path, "long-index-0"), [0]
    real = DataFile.read

    def counting(self: DataFile, position: int, size: int, *, passing: bool = False) -> bytes:
        got = real(self, position, size, passing=passing)
        read[0] += len(got)
        return got

    monkeypatch.setattr(DataFile, "read", counting)
    records = data.records("long-index")
    for record in random.Random(1).sample(records, 60):
        read[0] = 0
        assert log.locate(record.offset)[1].last_offset >= record.offset
        assert read[0] <= 96 << 10
        read[0] = 0
        found = reader(log).first_at(record.timestamp_ms)
        assert found is not None
    assert read[0] <= 128 << 10


def test_a_closed_segments_largest_timestamp_is_told_by_a_glance_at_its_end(tmp_path):
    """`by-time` asks every segment: reading them all would read the partition."""
    write_partition(tmp_path, spread(BATCHES, 100))
    log = log_of(tmp_path)
    assert [segment.largest_timestamp(log.walk_end(segment)) for segment in log.segments] == [1099, 1199]
    assert [segment.hinted_largest() for segment in log.segments] == [1099, 1199]
    assert log.segments[0].hinted_between(0, 8) == 1001
    assert log.segments[0].hinted_between(300, 301) == -1


def test_a_time_index_entry_that_is_too_late_is_not_followed(tmp_path, segment, monkeypatch):
    """Regression: in an index out of order a search can end on an entry that is true, and behind the answer."""
    late = TimestampOffset(150, 1150, 602)
    monkeypatch.setattr(TimeIndex, "lookup", lambda *_: late)
    log = log_of(tmp_path)
    for time in (1000, 1100, 1150):
        found = reader(log).first_at(time)
        assert found is not None
        assert found.offset == (time - 1000) * 4
    found = reader(log).first_at(1151)
    assert found is not None
    assert found.offset == 604


def test_an_offset_index_entry_that_is_too_late_is_not_followed(segment, monkeypatch):
    """The same for offsets."""
    late = segment.offset_index.entry(150)
    monkeypatch.setattr(OffsetIndex, "lookup", lambda *_: late)
    for offset in (0, 5, 399, late.offset - 1, late.offset):
        found = segment.find(offset, segment.closed_end())
        assert found is not None
        assert found.base_offset == (offset // 4 * 4 if offset % 4 < 3 else offset + 1)


def test_an_index_is_as_long_as_it_is_when_its_segment_was_rolled(tmp_path):
    """A broker cuts the zeros off the index of the segment it leaves, a moment after somebody looked at it."""
    batches = [made(base, [1000 + base] * 5) for base in range(0, 50, 5)]
    directory = write_partition(tmp_path, {0: batches})
    index = directory / segment_file(0, "index")
    size = index.stat().st_size
    os.truncate(index, 1 << 20)
    partition = partition_of(tmp_path)
    assert partition.log().segments[0].offset_index.length == 1 << 20
    os.truncate(index, size)
    write_partition(tmp_path, {50: [made(50, [2000])]})
    partition.look_again()
    assert partition.log().segments[0].offset_index.length == size
