"""One segment asked by a task, whatever the broker does with it meanwhile."""

import shutil
import time
from pathlib import Path

from kafkafs.log.read_options import ReadOptions
from kafkafs.sample import unpack
from kafkafs.spark.segment_units import SegmentUnit, live_segments, segments_of


def base_of(data: Path, base_offset: int) -> int | None:
    return SegmentUnit(data, "test-0", base_offset, 0).ask(lambda snapshot: snapshot.segment.base_offset)


def test_a_partition_that_is_deleted_meanwhile_is_left_out(tmp_path: Path):
    """A job that runs for hours must not end because somebody deletes a topic."""
    data = unpack(tmp_path)
    assert (base_of(data, 23147), base_of(data, 5)) == (23147, None)
    shutil.rmtree(data / "test-0")
    time.sleep(2 * ReadOptions().names_fresh_s)  # until the names are looked at again
    assert base_of(data, 23147) is None


def test_only_live_partitions_where_they_are_asked_for(tmp_path: Path):
    data = unpack(tmp_path)
    (data / "test-0").rename(data / "test-0.0123456789abcdef0123456789abcdef-delete")
    assert any(unit.partition_directory.endswith("-delete") for unit in segments_of([data]))
    assert not any(unit.partition_directory.endswith("-delete") for unit in live_segments([data], "furthest"))
