"""Runs that go on with an export that has an end, after retention, compaction or a cut; whole exports are in
`test_export_job` and `test_led_job`."""

import json

import pytest

from kafkafs.errors import UsageError
from kafkafs.spark.export.export_plan import save
from kafkafs.spark.export.output import output
from kafkafs.spark.export.settling import settle
from kafkafs.tables.locations import open_directories
from kafkafs.tables.offsets import Specific, Timestamps, TopicPartition
from tests.log.making import write_start
from tests.spark.led_model import Cluster, export, exported, request

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


@pytest.mark.parametrize("window", [{}, {"starting": START}, {"ending": END}])
@pytest.mark.parametrize("has_metadata", [True, False])
def test_a_replica_that_begins_earlier_adds_its_beginning(tmp_path, has_metadata, window):
    """Regression: the machine whose replica began at offset 4 ran first. Offsets 1 to 3 of the other replica were left
    out without a word, and 6 to 7, which were deleted from the first one before its second run."""
    cluster, out = Cluster(tmp_path, brokers=2, partitions=1, has_metadata=has_metadata), tmp_path / "out"
    for start, count, records, gone in (
        (4, 6, 2, []),
        (8, 3, 3, ["offsets 6 to 7 of t-0 were deleted before this run"]),
    ):
        for broker in cluster.brokers:
            write(cluster, broker, *[1000] * count)
        write_start(cluster.disks[LEADER].path, start)
        done = export(cluster, LEADER, out, **window)
        assert (done.done.records, done.warnings) == (records, gone)
    cluster.elect(0, OTHER)
    write_start(cluster.disks[OTHER].path, 1)
    for _ in range(2):
        assert export(cluster, OTHER, out, **window).done.records == 8
    assert sorted(offset for _, offset in (place for place, _ in exported(out))) == list(range(1, 9))
    assert set(exported(out).values()) == {1}


def test_another_export_names_what_was_not_there(cluster, tmp_path):
    """As without --tiered at first, and then with it."""
    out, wanted = output(str(tmp_path / "out")), request(cluster, LEADER, led_by=None)
    write(cluster, LEADER, *[1000] * 6)
    found = []
    for start in (4, 1, 5):
        write_start(cluster.disks[LEADER].path, start)
        open_directories.close()
        plan = settle(out, wanted)
        save(out, wanted, plan)
        found.append((sum(unit.range.end - unit.range.start for unit in plan.units), plan.gone))
        write(cluster, LEADER, 1000)
    said = "offsets 1 to 3 of t-0 were not there in an earlier run; name a new directory to export them"
    assert found == [(2, []), (3, [said]), (4, [])]
