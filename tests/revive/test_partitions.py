"""A partition's new directory: what a broker finds there, against what it had left itself."""

import os

import pytest

from kafkafs.format.producer_snapshot import parse_producer_snapshot
from kafkafs.log.data_directory import open_data_directory
from kafkafs.revive.other_replicas import Replica
from kafkafs.revive.partitions import PartitionWriter, report_of
from kafkafs.revive.place import NewDirectory
from kafkafs.revive.scan_state import Rules
from kafkafs.revive.scanning import PartitionScan
from kafkafs.revive.topics import made_up_id
from kafkafs.revive.writing import Writing
from kafkafs.spark.reindex_job import topic_intervals
from tests.kafka.dataset import Dataset

SOURCE = Dataset("4.3.1", "stopped")


def written(tmp_path, name, method="copy", path=SOURCE.path, until_ms=None, interval=4096):
    directory = open_data_directory(path)
    replica = Replica(directory, directory.partition(name))
    scan = PartitionScan(replica.partition, replica.partition.log(), Rules("refuse", until_ms, interval))
    place, moved = NewDirectory(tmp_path / "new", {}), list[int]()
    with place.partition(name) as target, Writing(place, 0) as writing:
        PartitionWriter(replica, made_up_id("t"), target, method, writing).write(scan, moved.append)
    return tmp_path / "new" / name, scan, replica, moved


@pytest.mark.parametrize("name", ["segments-0", "transactions-0"])
def test_the_files_are_the_brokers_own(tmp_path, name):
    """An uninterrupted broker's indexes, logs and epochs; of its snapshots all but the times of idle producers."""
    interval = topic_intervals(open_data_directory(SOURCE.path))[name[:-2]]
    place, scan, _, moved = written(tmp_path, name, interval=interval)
    source = SOURCE.path / name
    for file in place.iterdir():
        theirs = source / file.name
        if file.suffix in (".log", ".index", ".timeindex", ".txnindex") or file.name == "leader-epoch-checkpoint":
            assert file.read_bytes() == theirs.read_bytes(), file.name
        elif file.suffix == ".snapshot":
            ours = {each.producer_id: each for each in parse_producer_snapshot(file.read_bytes())}
            reported = {each.producer_id: each for each in parse_producer_snapshot(theirs.read_bytes())}
            assert ours.keys() == reported.keys()
            assert {each.transaction_first_offset for each in ours.values()} == {
                each.transaction_first_offset for each in reported.values()
            }
    logs = [file.name for file in source.glob("*.log")]
    assert sorted(file.name for file in place.glob("*.log")) == sorted(logs)
    assert {file.suffix for file in place.iterdir()} >= {".log", ".index", ".timeindex", ".snapshot"}
    assert [(place / log).stat().st_mtime_ns for log in logs] == [(source / log).stat().st_mtime_ns for log in logs]
    assert sum(moved) == sum((source / log).stat().st_size for log in logs)
    assert (place / f"{scan.tally.end_offset:020}.snapshot").exists()


def test_behind_linked_logs_stands_an_empty_segment(tmp_path):
    """To which the broker appends: the original stays as it is."""
    data = SOURCE.copy_to(tmp_path / "data", "segments-0")
    place, scan, _, _ = written(tmp_path, "segments-0", "link", data)
    end = f"{scan.tally.end_offset:020}"
    for log in (data / "segments-0").glob("*.log"):
        assert log.samefile(place / log.name)
    assert [(place / f"{end}.{kind}").read_bytes() for kind in ("log", "index", "timeindex")] == [b"", b"", b""]
    assert {file.suffix for file in place.iterdir() if os.stat(file).st_nlink > 1} == {".log"}


def test_nothing_is_kept_and_a_log_is_there(tmp_path):
    """A broker that finds none would begin at 0."""
    place, scan, replica, _ = written(tmp_path, "transactions-0", until_ms=1)
    assert (scan.tally.end_offset, scan.tally.records) == (0, 0)
    assert (place / f"{0:020}.log").read_bytes() == b""
    assert report_of(scan, replica)["firstBase"] == 0


def test_what_is_reported_it(tmp_path):
    _, scan, replica, _ = written(tmp_path, "transactions-0")
    reported = report_of(scan, replica)
    assert reported["records"] == len(SOURCE.records("transactions"))
    assert (reported["endOffset"], reported["lost"], reported["losses"]) == (
        SOURCE.offsets("transactions").latest,
        0,
        [],
    )
    assert reported["replica"] == str(SOURCE.path / "transactions-0")
    assert reported["largestProducerId"] >= 0
