"""A range of a partition as a task reads it, without Spark: records that are gone are told, or end it."""

import pytest

from kafkafs.errors import NotFound
from kafkafs.tables.locations import Location, partition
from kafkafs.tables.offsets import TopicPartition
from kafkafs.tables.planning import PartitionRange
from kafkafs.tables.ranges import data_loss, records_of
from tests.log.making import made, write_partition
from tests.log.transactional import data, marker
from tests.nobody import as_nobody, takes_root


@pytest.fixture
def location(tmp_path):
    """A partition that begins at offset 10 and ends at 30."""
    write_partition(tmp_path, {10: [made(at, range(at, at + 5)) for at in range(10, 30, 5)]})
    return Location(tmp_path, TopicPartition("t", 0))


def offsets(location, start, end, lost):
    found = records_of(PartitionRange(location, start, end), "read_uncommitted", lost)
    return [offset for piece in found for offset in piece.rows["offset"].tolist()]


def test_a_range_has_its_own_records_only(location):
    """Batches at its ends hold others, too."""
    assert offsets(location, 12, 23, data_loss(fail=True)) == list(range(12, 23))


@pytest.mark.parametrize(
    ("start", "end", "reported"),
    [(3, 12, "offsets 3 to 9 of t-0 are gone"), (28, 40, "t-0 ends at offset 30 by now, before 40")],
)
def test_what_is_gone_is_reported_and_the_rest_is_read_where_that_was_asked_for(location, start, end, reported, caplog):
    with pytest.raises(NotFound, match=f"{reported}; set failOnDataLoss to false to go on without them"):
        offsets(location, start, end, data_loss(fail=True))
    kept = list(range(max(start, 10), min(end, 30)))
    assert offsets(location, start, end, data_loss(fail=False)) == kept
    assert f"{reported}; going on without them" in caplog.text


@pytest.mark.parametrize("is_there", [True, False])
def test_a_range_that_ends_before_its_transaction_waits_for_the_marker(is_there, tmp_path, caplog):
    """Regression: an executor that had looked at the log a moment before the driver did took for committed what was
    aborted, where a range ended between the two. A log that was cut in between has no marker at all."""
    batches = [made(0, range(2)), *(data(at, 7) for at in range(2, 6)), marker(6, 7, commit=False)]
    segment = write_partition(tmp_path, {0: batches[:-1]}) / f"{0:020}.log"
    location = Location(tmp_path, TopicPartition("t", 0))
    assert partition(location).log().end_offset == 6
    if is_there:
        segment.write_bytes(b"".join(batch.data for batch in batches))
    found = records_of(PartitionRange(location, 0, 4, 7), "read_committed", data_loss(fail=False))
    assert [offset for piece in found for offset in piece.rows["offset"].tolist()] == [0, 1]
    assert ("t-0 ends at offset 2 by now, before 4" in caplog.text) == (not is_there)


@takes_root
def test_a_log_that_may_not_be_read_is_no_gap_that_nobody_hears_of(open_path, caplog):
    """A count by whoever may not read one of the files was short, and right to the eye."""
    place = Location(open_path, TopicPartition("t", 0))
    segments = {at: [made(at, range(at, at + 5))] for at in (0, 5, 10)}
    (write_partition(open_path, segments) / f"{5:020}.log").chmod(0o600)
    reported = f"{5:020}.log of t-0 may not be read"
    with as_nobody():
        assert offsets(place, 0, 5, data_loss(fail=True)) == list(range(5))
        with pytest.raises(NotFound, match=reported):
            offsets(place, 3, 12, data_loss(fail=True))
        assert offsets(place, 3, 12, data_loss(fail=False)) == [3, 4, 10, 11]
    assert f"{reported}; going on without them" in caplog.text
