"""One segment asked by a task, whatever the broker does with it meanwhile."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkafs.disk.data_paths import data_path
from kafkafs.sample import unpack
from kafkafs.spark.segment_units import SegmentUnit, begin, live_segments, segments_of
from tests.kafka.buckets import bucket_of
from tests.log.making import made, spread, write_partition
from tests.mounting import wait_until


def base_of(data: Path, base_offset: int) -> int | None:
    return SegmentUnit(data, "test-0", base_offset, 0).ask(lambda snapshot: snapshot.segment.base_offset)


def test_a_partition_that_is_deleted_meanwhile_is_left_out(tmp_path: Path):
    """A job that runs for hours must not end because somebody deletes a topic."""
    data = unpack(tmp_path)
    assert (base_of(data, 23147), base_of(data, 5)) == (23147, None)
    shutil.rmtree(data / "test-0")
    wait_until(lambda: base_of(data, 23147) is None)  # the names are looked at again after a moment


def test_only_live_partitions_where_they_are_asked_for(tmp_path: Path):
    data = unpack(tmp_path)
    (data / "test-0").rename(data / "test-0.0123456789abcdef0123456789abcdef-delete")
    assert any(unit.partition_directory.endswith("-delete") for unit in segments_of([data]))
    assert not any(unit.partition_directory.endswith("-delete") for unit in live_segments([data], "furthest"))


@pytest.mark.usefixtures("bucket_keys")
def test_the_files_of_a_begun_segment_are_fetched_once_and_no_others(tmp_path: Path, forgotten: Callable[[], None]):
    """Regression: an audit of a bucket waited for the first bytes of each log."""
    forgotten()
    batches = [made(number, [1000 + number], size=200_000) for number in range(21)]  # a segment of 1.4 MB: two pieces
    write_partition(tmp_path / "data", spread(batches, 7))
    with bucket_of(tmp_path) as store:
        unit = segments_of([data_path(store.address("data"))])[1]
        store.asked.clear()
        begin(unit)
        begin(unit)
        wait_until(lambda: len(store.ranges()) >= 3)
        assert unit.ask(lambda look: [run.last_offset for run in look.runs()][-1]) == 13
        asked = [each.split(" bytes=")[0] for each in store.ranges() if "00000000000000000007." in each]
        assert sorted(asked) == sorted(set(asked))
        assert {each.rpartition(".")[2] for each in asked} == {"log", "index", "timeindex"}


def test_a_segment_on_the_disk_needs_no_beginning(tmp_path: Path):
    begin(SegmentUnit(tmp_path / "nowhere", "test-0", 0, 0))
