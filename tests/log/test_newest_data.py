"""The newest batch of a log's data: markers and emptied batches do not count."""

from pathlib import Path

from kafkafs.log.newest_data import newest_data
from kafkafs.log.time_search import Newest
from tests.format.batch_maker import v2_around
from tests.log.making import Made, log_of, made, write_partition, write_start
from tests.log.transactional import marker


def newest_of(path: Path) -> Newest | None:
    log = log_of(path)
    return newest_data(log)


def test_the_newest_batch_of_data(tmp_path: Path) -> None:
    emptied = Made(v2_around(b"", 0, 4, 5, -1, 9_000), ())
    write_partition(tmp_path, {0: [made(0, [3, 7])], 2: [made(2, [5, 4]), emptied], 6: [marker(6, 1, True)]})
    found = newest_of(tmp_path)
    assert found is not None
    assert (found.timestamp, found.base_offset) == (7, 0)
    write_start(tmp_path, 2)
    found = newest_of(tmp_path)
    assert found is not None
    assert (found.timestamp, found.base_offset) == (5, 2)


def test_nothing_has_no_newest(tmp_path: Path) -> None:
    write_partition(tmp_path, {0: [marker(0, 1, True)]})
    assert newest_of(tmp_path) is None
