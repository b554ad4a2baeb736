"""Runs that go on with an export that has an end, after retention, compaction or a cut; whole exports are in
`test_export_job` and `test_led_job`."""

import json

import pytest

from kafkafs.errors import UsageError
from kafkafs.tables.offsets import Specific, Timestamps, TopicPartition
from tests.log.making import write_start
from tests.spark.led_model import Cluster, export, exported

START, END = Timestamps(1000, "latest"), Timestamps(2000, "latest")
LEADER, OTHER = 1, 2


def write(cluster: Cluster, broker: int, *timestamps: int) -> None:
    """A batch for each timestamp."""
    for timestamp in timestamps:
        cluster.disks[broker].write("t-0", [(None, b"x")], timestamp=timestamp)


@pytest.fixture
def cluster(tmp_path) -> Cluster:
    return Cluster(tmp_path, brokers=2, partitions=1)


@pytest.mark.parametrize(
    ("times", "window", "first"),
    [
        ((1000, 1000, 3000, 1500, 4000), {"ending": END}, 2),
        ((500, 1000, 3000, 1500, 4000), {"starting": START, "ending": END}, 1),
        ((500, 500, 3000, 1500, 4000), {"starting": START, "ending": END}, 0),
        ((2000, 2000, 2000, 1500, 2000), {"starting": END, "ending": END}, 0),
    ],
)
@pytest.mark.parametrize("deleted", [3, 4, 5])
def test_the_record_behind_an_end_by_time_is_deleted(cluster, tmp_path, times, window, first, deleted):
    """Regression: a later run took the next record that was late enough for the end, and said that records between were
    deleted."""
    out = tmp_path / "out"
    write(cluster, LEADER, *times)
    for start in (0, deleted):
        write_start(cluster.disks[LEADER].path, start)
        done = export(cluster, LEADER, out, **window)
        assert (done.done.records, done.warnings) == (first, [])
    assert len(exported(out)) == first


def test_a_time_that_no_record_has_reached_settles_nothing(cluster, tmp_path):
    out = tmp_path / "out"
    for _ in range(2):
        write(cluster, LEADER, 1000)
        done = export(cluster, LEADER, out, ending=END)
    write(cluster, LEADER, 2000, 1000)
    assert [done.done.records, export(cluster, LEADER, out, ending=END).done.records] == [2, 2]
    saved = json.loads((out / "_kafkafs_export.led/topic=t/partition=0.json").read_text())
    assert [each[:3] for each in saved["ends"]] == [["t", 0, 2]]


def test_retention_behind_an_end_by_offset_deletes_nothing_of_the_export(cluster, tmp_path):
    """Regression: the run said that offsets 2 to 3 were deleted before it."""
    out, end = tmp_path / "out", Specific({TopicPartition("t", 0): 2})
    write(cluster, LEADER, *[1000] * 5)
    assert export(cluster, LEADER, out, ending=end).done.records == 2
    write_start(cluster.disks[LEADER].path, 4)
    assert export(cluster, LEADER, out, ending=end).warnings == []


def test_what_was_deleted_in_front_of_the_end_is_named(cluster, tmp_path):
    out = tmp_path / "out"
    write(cluster, LEADER, 1000, 1000)
    export(cluster, LEADER, out, ending=END)
    write(cluster, LEADER, 1000, 1000, 1000, 2000)
    write_start(cluster.disks[LEADER].path, 4)
    done = export(cluster, LEADER, out, ending=END)
    assert (done.done.records, done.warnings) == (3, ["offsets 2 to 3 of t-0 were deleted before this run"])


def test_a_log_that_lost_the_record_behind_the_end_is_refused(cluster, tmp_path):
    """No other broker got the record with which the leader settled the end. A replica that ends there adds nothing."""
    out = tmp_path / "out"
    for broker in cluster.brokers:
        write(cluster, broker, 1000, 1000)
    write(cluster, LEADER, 3000)
    export(cluster, LEADER, out, ending=END)
    cluster.elect(0, OTHER)
    assert export(cluster, OTHER, out, ending=END).done.records == 2
    write(cluster, OTHER, 1000)
    with pytest.raises(UsageError, match="t-0 has another batch at offset 2 than it had: it was cut or replaced"):
        export(cluster, OTHER, out, ending=END)
