"""Index files as somebody finds them: they count as long as they are the segment's own, and no longer."""

import gc
import os

from kafkafs.format.names import segment_file
from tests.disk.descriptors import open_below
from tests.log.making import made, partition_of, write_partition


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


def test_a_log_that_is_dropped_gives_its_descriptors_back_at_once(tmp_path):
    """Not when the garbage collector comes, which is seldom: a process of Spark's reads many directories in between."""
    write_partition(tmp_path, {0: [made(base, [1000 + base] * 5) for base in range(0, 50, 5)]})
    gc.disable()
    try:
        partition = partition_of(tmp_path)
        indexes = partition.log().segments[0].indexes
        assert indexes.offset_index.lookup(20).position > 0
        assert indexes.time_index.last().timestamp == 1045
        del partition, indexes
        assert open_below(tmp_path) == []
    finally:
        gc.enable()
