"""Planning: what a task is given. Each offset is in one task, whatever is wished for; logs: test_source.py."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.spark.locations import Location
from kafkafs.spark.offsets import TopicPartition
from kafkafs.spark.planning import PartitionLook, PartitionRange, splits
from tests.log.making import made, spread, write_partition

NAME = TopicPartition("t", 0)
END = 120


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> PartitionLook:
    """A log of 40 batches of three records, in 8 segments."""
    data = tmp_path_factory.mktemp("data")
    write_partition(data, spread([made(at, [at, at + 1, at + 2]) for at in range(0, END, 3)], 5))
    return PartitionLook(Location(data, NAME), "read_uncommitted")


@given(
    bounds=st.tuples(st.integers(0, END), st.integers(0, END)).map(sorted),
    least=st.none() | st.integers(1, 200),
    most=st.none() | st.integers(1, 50),
)
def test_each_offset_is_in_one_task(whole, bounds, least, most):
    """A range that is cut wrong doubles records, or loses some."""
    start, end = bounds
    ranges = [PartitionRange(whole.location, start, end)] if start < end else []
    tasks = splits(ranges, {NAME: whole}, least, most)
    tiles = [(each.start, each.end) for task in tasks for each in task]
    assert all(before[1] == after[0] for before, after in pairwise(tiles))
    assert [tiles[0][0], tiles[-1][1]] == bounds if start < end else tiles == []
    if most is not None:
        assert all(tile_end - tile_start <= most for tile_start, tile_end in tiles)
    elif least is not None:
        assert len(tasks) >= min(least, end - start)
