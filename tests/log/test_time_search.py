"""Times in one segment; what a time index says counts as far as the log agrees."""

from kafkafs.format.index import TimeIndex
from kafkafs.format.names import segment_file
from kafkafs.log.time_search import largest_timestamp
from tests.log.making import log_of, made, rewrite_behind_its_first_page, spread, write_partition
from tests.log.reading import lookup_of

BATCHES = [made(number * 4, [1000 + number] * 3, size=100) for number in range(200)]
MANY = [made(offset, [1000 + offset]) for offset in range(600)]  # more than a page of the index tells of


def test_a_closed_segments_largest_timestamp_is_known_by_a_look_at_its_end(tmp_path):
    """`by-time` asks every segment: reading them all would read the partition."""
    write_partition(tmp_path, spread(BATCHES, 100))
    log = log_of(tmp_path)
    assert [largest_timestamp(segment, log.walk_end(segment)) for segment in log.segments] == [1099, 1199]
    assert [segment.indexes.indexed_largest() for segment in log.segments] == [1099, 1199]
    assert log.segments[0].indexes.indexed_between(0, 8) == 1001
    assert log.segments[0].indexes.indexed_between(300, 301) == -1


def test_a_time_index_entry_that_is_too_late_is_not_followed(tmp_path):
    """Regression: in an index out of order a search can end on an entry that is true, and behind the answer."""
    path = write_partition(tmp_path, {0: MANY, len(MANY): []})
    log, newest = log_of(tmp_path), MANY[-1].max_timestamp
    assert lookup_of(log).first_at(newest)
    rewrite_behind_its_first_page(path / segment_file(0, "timeindex"), TimeIndex.entry_size)
    log.segments[0].log().hints.index_pages.clear()  # as if lookups elsewhere had taken their place
    assert log.segments[0].indexes.time_index.lookup(newest - 1).timestamp == newest
    for time in range(1000, newest + 1, 7):
        found = lookup_of(log).first_at(time)
        assert found is not None
        assert found.offset == time - 1000
    assert lookup_of(log).first_at(newest + 1) is None
