"""Several brokers' directories at once: each partition is read once, from the replica that got furthest."""

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from kafkafs.errors import UsageError
from kafkafs.log.data_directory import open_data_directory
from kafkafs.spark.audit.directory_check import check_twins
from kafkafs.spark.profile import profile_job
from kafkafs.spark.segment_units import live_segments
from kafkafs.tables.choice import Replicas
from kafkafs.tables.locations import every_location
from kafkafs.tables.offsets import TopicPartition
from tests.log.making import Made, made, write_partition

NAME = TopicPartition("t", 0)


def broker(path: Path, node: int, *epochs: int, name: str = "t-0") -> Path:
    """A broker's directory: a partition with a record under each leader epoch."""
    batches = [made(at, [1_000 + at]) for at in range(len(epochs))]
    changed = [
        Made(batch.data[:12] + struct.pack(">i", epoch) + batch.data[16:], batch.records)
        for batch, epoch in zip(batches, epochs, strict=True)
    ]
    write_partition(path, {0: changed}, name)
    (path / "meta.properties").write_text(f"version=1\ncluster.id=c\nnode.id={node}\n")
    return path


def read_from(paths: Sequence[Path], replicas: Replicas = "furthest") -> str:
    return every_location(paths, replicas)[NAME].data_directory.name


@pytest.mark.parametrize(
    ("one", "two", "furthest"),
    [
        ((0, 0, 0), (0, 1), "two"),  # the leader epoch counts before the length
        ((0, 0, 0), (0, 0), "one"),
        ((0, 0), (0, 0), "one"),  # of equals the first
        ((), (0,), "two"),
    ],
)
def test_the_replica_that_got_furthest_is_read(one, two, furthest, tmp_path):
    paths = [broker(tmp_path / "one", 1, *one), broker(tmp_path / "two", 2, *two)]
    assert read_from(paths) == furthest
    assert len(live_segments(paths, "furthest")) == 1
    assert check_twins(map(open_data_directory, paths)) == []


def test_a_profile_counts_a_record_once(tmp_path):
    paths = [broker(tmp_path / name, node, 0, 0) for node, name in enumerate(("one", "two", "three"))]
    units = live_segments(paths, "furthest")
    (numbers,) = profile_job.added_up(units, [profile_job.measure_segment(unit) for unit in units]).values()
    assert numbers.records == 2


def test_future_deleted_and_stray_replicas_never_count(tmp_path):
    paths = [broker(tmp_path / "one", 1, 0)]
    mark = "0123456789abcdef0123456789abcdef"
    for node, kind in enumerate(("future", "delete", "stray"), 2):
        paths.append(broker(tmp_path / kind, node, 5, 5, name=f"t-0.{mark}-{kind}"))
    assert read_from(paths[::-1]) == "one"


def test_replicas_can_be_refused(tmp_path):
    paths = [broker(tmp_path / "one", 1, 0), broker(tmp_path / "two", 2, 0)]
    with pytest.raises(UsageError, match="t-0 is both in"):
        read_from(paths, "refuse")


def test_two_directories_of_one_broker_are_no_replicas(tmp_path):
    paths = [broker(tmp_path / "one", 1, 0), broker(tmp_path / "two", 1, 0)]
    with pytest.raises(UsageError, match="t-0 is both in"):
        read_from(paths)
    assert [finding.kind for finding in check_twins(map(open_data_directory, paths))] == ["twin"]
