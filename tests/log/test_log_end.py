"""The end of a log that was not closed cleanly, held against what `Partition` finds."""

import pytest

from kafkafs.log.data_directory import DataDirectory, open_data_directory
from tests.kafka.dataset import Dataset
from tests.log.making import made, write_partition


def _log_end(directory: DataDirectory, name: str, base: int) -> tuple[int, int | None]:
    with directory.root.inside(name) as inside:
        return directory.log_end(inside, name, base)


def test_the_end_is_that_of_the_partition(live: Dataset):
    directory = open_data_directory(live.path)
    for name, parsed in directory.names().items():
        segments = directory.partition(name).segments()
        if segments and not parsed.mark:
            end, _ = _log_end(directory, name, segments[-1].base_offset)
            assert end == directory.partition(name).log().end_offset, name


@pytest.mark.parametrize("garbage", [b"\0" * 100, b"x" * 100, b"x" * 17], ids=["zeros", "text", "few"])
def test_the_end_is_before_what_is_no_batch(garbage, tmp_path):
    partition = write_partition(tmp_path, {5: [made(5, [50]), made(6, [70]), made(7, [60])]})
    with (partition / "00000000000000000005.log").open("ab") as log:
        log.write(garbage)
    assert _log_end(open_data_directory(tmp_path), "t-0", 5) == (8, 60)  # the time index has the 70


def test_a_log_that_is_gone_ends_where_it_begins(tmp_path):
    write_partition(tmp_path, {5: [made(5, [50])]})
    assert _log_end(open_data_directory(tmp_path), "t-0", 6) == (6, None)
