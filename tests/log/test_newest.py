"""The newest data of a log: markers, batches that compaction emptied, and what the log start cuts do not count."""

from pathlib import Path

from kafkafs.log.log import largest_timestamps, newest_data
from tests.format.batch_maker import v2_around
from tests.log.making import Made, log_of, made, write_partition, write_start
from tests.log.transactional import marker


def test_the_newest_batch_of_data(tmp_path: Path) -> None:
    emptied = Made(v2_around(b"", 0, 4, 5, -1, 9_000), ())
    write_partition(tmp_path, {0: [made(0, [3, 7])], 2: [made(2, [5, 4]), emptied], 6: [marker(6, 1, True)]})
    log = log_of(tmp_path)
    found = newest_data(log, largest_timestamps(log))
    assert found is not None
    assert (found.timestamp, found.base_offset) == (7, 0)
    write_start(tmp_path, 2)
    log = log_of(tmp_path)
    found = newest_data(log, largest_timestamps(log))
    assert found is not None
    assert (found.timestamp, found.base_offset) == (5, 2)


def test_nothing_has_no_newest(tmp_path: Path) -> None:
    write_partition(tmp_path, {0: [marker(0, 1, True)]})
    log = log_of(tmp_path)
    assert newest_data(log, largest_timestamps(log)) is None
