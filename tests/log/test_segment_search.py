"""Offsets in one segment, against a list; what an index says counts as far as the log agrees."""

import pytest

from kafkafs.format.index import OffsetIndex
from kafkafs.format.names import segment_file
from kafkafs.log.segment import Segment
from kafkafs.log.segment_search import batch_reaching, closed_end, scan_start
from tests.log.making import log_of, made, rewrite_behind_its_first_page, write_partition
from tests.log.reading import lookup_of
from tests.nobody import as_nobody, takes_root

BATCHES = [made(number * 4, [1000 + number] * 3, size=100) for number in range(200)]
MANY = [made(offset, [1000 + offset]) for offset in range(600)]  # more than a page of either index tells of


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
        found = batch_reaching(segment, offset, size)
        assert (found and found.base_offset) == (batch and batch.base), offset
        assert found is None or found.last_offset >= offset


def test_a_scan_starts_at_a_batch_with_nothing_wanted_before_it(segment):
    for offset in range(0, 800, 7):
        start = scan_start(segment, offset)
        assert start.first_offset <= offset
        before = [batch for batch in BATCHES if batch.base < start.first_offset]
        assert start.position == sum(len(batch.data) for batch in before)
        assert start.position > 0 or offset < BATCHES[1].last


def test_steps_are_reported(segment):
    reported: list[str] = []
    batch_reaching(segment, 399, closed_end(segment), reported.append)
    assert "slot 98 of 199: offset 398 -> position" in reported[0]
    assert "to the batch 400..402" in reported[1]
    assert "probe 1: slot " in reported[0]


def test_entries_that_are_tried_behind_a_wrong_one_have_no_probes_of_their_own(segment):
    """The search was one; what follows is a look back."""
    reported: list[str] = []
    scan_start(segment, 399, reported.append)
    assert sum("probe 1:" in step for step in reported) == 1


def forget_pages(segment: Segment) -> None:
    """As if later lookups elsewhere had taken their place."""
    segment.log().hints.index_pages.clear()


def test_an_offset_index_entry_that_is_too_late_is_not_followed(tmp_path):
    """The same for offsets."""
    path = write_partition(tmp_path, {0: MANY, len(MANY): []})
    segment, last = log_of(tmp_path).segments[0], MANY[-1].last
    end = closed_end(segment)
    assert batch_reaching(segment, last, end)
    rewrite_behind_its_first_page(path / segment_file(0, "index"), OffsetIndex.entry_size)
    forget_pages(segment)
    assert segment.indexes.offset_index.lookup(last - 1).offset == last
    for offset in range(0, last + 1, 7):
        found = batch_reaching(segment, offset, end)
        assert found is not None
        assert found.base_offset == offset


@takes_root
def test_indexes_that_one_may_read_again_are_read(open_path):
    """What was refused once would cost a scan from the segment's start for as long as a mount stands."""
    path = write_partition(open_path, {0: MANY, len(MANY): []})
    indexes = [path / segment_file(0, kind) for kind in ("index", "timeindex")]
    for file in indexes:
        file.chmod(0o600)
    with as_nobody():
        log = log_of(open_path)
        assert lookup_of(log).first_at(1500)
    for file in indexes:
        file.chmod(0o644)
    with as_nobody():
        found = log.segments[0].indexes
        assert found.offset_index.entries > 0
        assert found.time_index.entries > 0
