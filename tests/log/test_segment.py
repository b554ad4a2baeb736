"""Lookups in one segment against a list, and what they cost."""

import os
import random
from pathlib import Path

import pytest

from kafkafs.format.abstract_index import PAGE
from kafkafs.format.names import segment_file
from kafkafs.format.offset_index import OffsetIndex
from kafkafs.format.time_index import TimeIndex
from kafkafs.log.lookup import find_batch, locate
from kafkafs.log.offset_search import closed_end, scan_start
from kafkafs.log.time_search import largest_timestamp
from kafkafs.log.trace import no_trace
from tests.counting import counted
from tests.kafka.dataset import Dataset
from tests.log.making import log_of, made, partition_of, spread, write_partition
from tests.log.reading import aloud, reader

BATCHES = [made(number * 4, [1000 + number] * 3, size=100) for number in range(200)]
MANY = [made(offset, [1000 + offset]) for offset in range(600)]  # more than a page of either index tells of
MOST_READ = 64 << 10


@pytest.fixture
def segment(tmp_path):
    """800 offsets, of which every fourth is missing, in one closed segment."""
    write_partition(tmp_path, {0: BATCHES, 800: []})
    return log_of(tmp_path).segments[0]


def test_an_offset_leads_to_the_first_batch_that_ends_at_or_behind_it(segment):
    """Kafka's translateOffset: also from a gap, and none behind the last."""
    size = closed_end(segment)
    assert size == sum(len(batch.data) for batch in BATCHES)
    for offset in range(801):
        batch = next((batch for batch in BATCHES if batch.last >= offset), None)
        found = find_batch(segment, offset, size)
        assert (found and found.base_offset) == (batch and batch.base), offset
        assert found is None or found.last_offset >= offset


def test_a_scan_starts_at_a_batch_with_nothing_wanted_before_it(segment):
    for offset in range(0, 800, 7):
        start = scan_start(segment, offset)
        assert start.first_offset <= offset
        before = [batch for batch in BATCHES if batch.base < start.first_offset]
        assert start.position == sum(len(batch.data) for batch in before)
        assert start.position > 0 or offset < BATCHES[1].last


def test_steps_are_told(segment):
    told: list[str] = []
    find_batch(segment, 399, closed_end(segment), told.append)
    assert "slot 98 of 199: offset 398 -> position" in told[0]
    assert "to the batch 400..402" in told[1]


@pytest.mark.parametrize("trace", [no_trace, aloud])
def test_a_lookup_reads_pages_of_an_index_and_a_little_of_the_log(trace):
    """A gigabyte of segment must cost what a small one does."""
    data = Dataset("4.3.1", "stopped")
    log, records = log_of(data.path, "long-index-0"), data.records("long-index")
    assert log.end_of(log.segments[0]) > 2 * MOST_READ
    locate(log, records[0].offset)  # links the kernels
    for record in random.Random(1).sample(records, 60):
        (_, batch), read = counted(locate, log, record.offset, trace)
        assert batch.last_offset >= record.offset
        assert 0 < read <= MOST_READ
        found, read = counted(reader(log).first_at, record.timestamp_ms, trace)
        assert found is not None
        assert 0 < read <= MOST_READ


def test_a_closed_segments_largest_timestamp_is_told_by_a_glance_at_its_end(tmp_path):
    """`by-time` asks every segment: reading them all would read the partition."""
    write_partition(tmp_path, spread(BATCHES, 100))
    log = log_of(tmp_path)
    assert [largest_timestamp(segment, log.walk_end(segment)) for segment in log.segments] == [1099, 1199]
    assert [segment.indexes.indexed_largest() for segment in log.segments] == [1099, 1199]
    assert log.segments[0].indexes.indexed_between(0, 8) == 1001
    assert log.segments[0].indexes.indexed_between(300, 301) == -1


def rewrite_behind_its_first_page(index: Path, entry_size: int) -> None:
    """In place, under a reader that remembers what the second page began with: from the first page's last entry on,
    the last entry is all there is."""
    entries = index.read_bytes()
    assert len(entries) > PAGE + entry_size
    kept = (PAGE - 1) // entry_size
    index.write_bytes(entries[: kept * entry_size] + entries[-entry_size:] * (len(entries) // entry_size - kept))


@pytest.mark.parametrize("trace", [no_trace, aloud])
def test_a_time_index_entry_that_is_too_late_is_not_followed(tmp_path, trace):
    """Regression: in an index out of order a search can end on an entry that is true, and behind the answer."""
    path = write_partition(tmp_path, {0: MANY, len(MANY): []})
    log, newest = log_of(tmp_path), MANY[-1].max_timestamp
    assert all(reader(log).first_at(newest, each) for each in (no_trace, aloud))
    rewrite_behind_its_first_page(path / segment_file(0, "timeindex"), TimeIndex.entry_size)
    assert log.segments[0].indexes.time_index.lookup(newest - 1).timestamp == newest
    for time in range(1000, newest + 1, 7):
        found = reader(log).first_at(time, trace)
        assert found is not None
        assert found.offset == time - 1000
    assert reader(log).first_at(newest + 1, trace) is None


@pytest.mark.parametrize("trace", [no_trace, aloud])
def test_an_offset_index_entry_that_is_too_late_is_not_followed(tmp_path, trace):
    """The same for offsets."""
    path = write_partition(tmp_path, {0: MANY, len(MANY): []})
    segment, last = log_of(tmp_path).segments[0], MANY[-1].last
    end = closed_end(segment)
    assert all(find_batch(segment, last, end, each) for each in (no_trace, aloud))
    rewrite_behind_its_first_page(path / segment_file(0, "index"), OffsetIndex.entry_size)
    assert segment.indexes.offset_index.lookup(last - 1).offset == last
    for offset in range(0, last + 1, 7):
        found = find_batch(segment, offset, end, trace)
        assert found is not None
        assert found.base_offset == offset


def test_an_index_is_as_long_as_it_is_when_its_segment_was_rolled(tmp_path):
    """A broker cuts the zeros off the index of the segment it leaves, a moment after somebody looked at it."""
    batches = [made(base, [1000 + base] * 5) for base in range(0, 50, 5)]
    directory = write_partition(tmp_path, {0: batches})
    index = directory / segment_file(0, "index")
    size = index.stat().st_size
    os.truncate(index, 1 << 20)
    partition = partition_of(tmp_path)
    assert partition.log().segments[0].indexes.offset_index.length == 1 << 20
    os.truncate(index, size)
    write_partition(tmp_path, {50: [made(50, [2000])]})
    partition.look_again()
    assert partition.log().segments[0].indexes.offset_index.length == size
