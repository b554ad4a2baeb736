"""Rows of JSON about what fills the disk: their fields, their order, and that they add up."""

from pathlib import Path

import pytest

from kafkafs.cluster.image import Image, PartitionState, TopicImage
from kafkafs.log.data_directory import open_data_directory
from kafkafs.overview.report import Question, rows_of
from kafkafs.overview.scanning import count
from tests.kafka.dataset import Dataset
from tests.log.making import made, write_partition

NOW = 1_700_000_000_000
FIELDS = [
    "topic", "partition", "path", "bytes", "logBytes", "indexBytes", "records", "oldest", "newest", "segments",
    "policy", "retentionMs", "retentionBytes", "deletable", "nextDeletion", "kept",
]  # fmt: skip
SUMS = ("bytes", "logBytes", "indexBytes", "records", "segments", "deletable")
REASONS = {"time", "size", "compact-only", "future-timestamp", "high-watermark", "unlimited"}


def rows(*paths, image=None, **question):
    reported: list[str] = []
    directories = [open_data_directory(Path(path)) for path in paths]
    counts = [(directory, count(directory, reported.append)) for directory in directories]
    found = rows_of(counts, image, Question(question.pop("at_ms", NOW), **question))
    assert reported == []
    return found.rows


def replicated(count):
    """Metadata in which `t-0` has so many replicas."""
    image = Image()
    replicas = tuple(range(count))
    state = PartitionState(0, 0, 0, replicas, replicas, (), (), (), (), None)
    image.topics["id"], image.ids["t"] = TopicImage("t", "id", {0: state}), "id"
    return image


@pytest.mark.parametrize("by_partition", [False, True])
def test_rows_are_ordered_and_add_up(stopped: Dataset, by_partition):
    found = rows(stopped.path, by_partition=by_partition)
    assert all(list(row) == FIELDS for row in found)
    *others, total = found
    assert (total["topic"], total["path"]) == (None, None)
    for field in SUMS:
        assert total[field] == sum(row[field] for row in others), field
    for row in found:
        assert row["deletable"] + sum(row["kept"].values()) == row["logBytes"]
        assert set(row["kept"]) <= REASONS
        assert (row["partition"] is None) or by_partition or row["path"]
    at = next((number for number, row in enumerate(others) if row["path"]), len(others))
    for part in (others[:at], others[at:]):
        assert [row["bytes"] for row in part] == sorted((row["bytes"] for row in part), reverse=True)
    assert all(row["path"] for row in others[at:])
    assert total["newest"] == max(row["newest"] or 0 for row in others)


def test_a_leftover_has_its_topic_and_no_log(tmp_path):
    write_partition(tmp_path, {0: [made(0, [1])]})
    write_partition(tmp_path, {0: [made(0, [1])]}, f"old-3.{'0' * 32}-delete")
    _, leftover, total = rows(tmp_path)
    assert (leftover["topic"], leftover["partition"], leftover["path"]) == ("old", 3, f"old-3.{'0' * 32}-delete")
    assert (leftover["logBytes"], leftover["kept"], leftover["policy"]) == (0, {}, None)
    assert total["bytes"] > leftover["bytes"] > 0


def test_a_topic_has_the_earliest_deletion_of_its_partitions(tmp_path):
    for number, time in enumerate((NOW, NOW - 5, NOW - 2)):
        write_partition(tmp_path, {0: [made(0, [time])]}, f"t-{number}")
    (topic, _) = rows(tmp_path, asked={"t": {"retention.ms": "1000"}})
    assert topic["nextDeletion"] == NOW - 5 + 1000 + 1
    assert topic["kept"] == {"time": topic["logBytes"]}


def limited(tmp_path):
    write_partition(tmp_path, {0: [made(0, [1])], 1: [made(1, [2])], 2: [made(2, [3])]})
    (tmp_path / "replication-offset-checkpoint").write_text("0\n1\nt 0 1\n")
    return tmp_path


@pytest.mark.parametrize(
    ("replicas", "kept"), [(0, set()), (1, set()), (2, {"high-watermark"}), (3, {"high-watermark"})]
)
def test_the_high_watermark_counts_where_there_are_other_replicas(replicas, kept, tmp_path):
    (row, _) = rows(limited(tmp_path), image=replicated(replicas) if replicas else None)
    assert set(row["kept"]) == ({"high-watermark"} if replicas > 1 else set())
    assert row["deletable"] > 0
    assert row["nextDeletion"] is None


def test_a_replica_without_a_high_watermark_begins_at_its_log_start(tmp_path):
    """Source: Partition.createLog takes 0 where the checkpoint has no entry."""
    (limited(tmp_path) / "replication-offset-checkpoint").unlink()
    (row, _) = rows(tmp_path, image=replicated(3))
    assert (row["deletable"], set(row["kept"])) == (0, {"high-watermark"})


def test_replicas_add_their_bytes_but_not_their_records(tmp_path):
    for broker, records in ((1, 3), (2, 2)):
        write_partition(tmp_path / f"{broker}", {0: [made(number, [number]) for number in range(records)]})
    (row, _) = rows(tmp_path / "1", tmp_path / "2", by_partition=True)
    one, other = (rows(tmp_path / f"{broker}")[0] for broker in (1, 2))
    assert (row["records"], row["segments"]) == (3, 2)
    assert row["logBytes"] == one["logBytes"] + other["logBytes"]


def test_the_metadata_log_is_raft_s(tmp_path):
    write_partition(tmp_path, {0: [made(0, [1])]}, "__cluster_metadata-0")
    (row, _) = rows(tmp_path)
    assert (row["policy"], row["deletable"], row["kept"]) == (None, 0, {"unlimited": row["logBytes"]})
