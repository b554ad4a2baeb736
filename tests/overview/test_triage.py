"""The first minute: what is told of whole and of broken data directories, and within how long."""

import shutil

import pytest

from kafkafs.log.data_directory import open_data_directory
from kafkafs.overview.triage import triage
from tests.cluster.writing import Data, commit, metadata, transaction
from tests.kafka.clusters import Cluster
from tests.kafka.tiered import Tiered
from tests.log.making import made, write_partition

NOW = 1_900_000_000_000
TOPIC_ID = "A" * 21 + "Q"


def reported(*paths):
    return triage([open_data_directory(path) for path in paths], NOW)


def test_nothing_is_wrong_with_a_whole_cluster():
    cluster = Cluster("4.3.1", "stopped")
    found = reported(cluster.path)
    assert (found.damage, found.missing, found.problems) == ([], [], [])
    assert (found.brokers, found.registered, found.clean) == ([1], [1], [True])
    assert found.topics == len(cluster.truth["topics"])
    behind = {each["group"]: 0 for each in cluster.truth["offsets"]}
    assert found.groups >= len(behind)
    assert {each.group for each in found.behind} <= {*behind}
    assert found.newest_ms is not None


def test_a_killed_cluster_was_not_stopped_cleanly():
    found = reported(Cluster("4.3.1", "killed").path)
    assert (found.clean, found.damage, found.problems) == ([False], [], [])
    assert found.open_transactions > 0
    assert found.oldest_open is not None


def test_a_tier_is_counted():
    found = reported(Tiered().left)
    assert (found.tiered, found.in_tier) == (3, 4)
    assert found.damage == []


@pytest.fixture
def data(tmp_path):
    """A topic of three partitions of which one is missing, and a group that is behind."""
    made_data = Data(tmp_path / "data")
    numbers = [
        metadata("PartitionRecord", topicId=TOPIC_ID, partitionId=number, replicas=[1], isr=[1], leader=1)
        for number in range(3)
    ]
    feature = metadata("FeatureLevelRecord", name="metadata.version", featureLevel=20)
    made_data.write("__cluster_metadata-0", [feature, metadata("TopicRecord", name="t", topicId=TOPIC_ID), *numbers])
    for number in range(2):
        write_partition(made_data.path, {0: [made(0, [NOW - 60_000, NOW - 1000])]}, f"t-{number}")
    made_data.write(
        "__consumer_offsets-0", [commit("late", "t", 0, 0), commit("late", "t", 1, 1), commit("on", "t", 0, 2)]
    )
    ongoing = transaction("tx", transactionStatus=1, transactionStartTimestampMs=NOW - 5000, producerId=7)
    made_data.write("__transaction_state-0", [ongoing])
    checkpoint(made_data.path, "replication", t=2)
    return made_data.path


def checkpoint(path, kind, **ends):
    lines = [f"{topic} {number} {end}" for topic, end in ends.items() for number in range(2)]
    (path / f"{kind}-offset-checkpoint").write_text("\n".join(["0", str(len(lines)), *lines, ""]))


def test_what_is_missing_behind_and_open_is_reported(data):
    found = reported(data)
    assert found.missing == ["of t partition 2 of 3 is not on these disks"]
    assert [(each.group, each.lag, each.lag_ms) for each in found.behind] == [("late", 3, 59_000)]
    assert found.groups == 2
    assert (found.open_transactions, found.oldest_open) == (1, ("tx", NOW - 5000))
    assert (found.newest_ms, found.newest_partition[:2], found.future) == (NOW - 1000, "t-", 0)
    assert found.damage == []


def broken_index(path):
    (path / "t-0/00000000000000000000.index").write_bytes(b"123")


def gone_index(path):
    write_partition(path, {0: [made(0, [1])], 1: [made(1, [1])]}, "t-0")
    (path / "t-0/00000000000000000000.timeindex").unlink()


def gone_log(path):
    (path / "t-0/00000000000000000009.index").write_bytes(b"12345678")


def emptied_log(path):
    write_partition(path, {0: [made(0, [1])], 1: [made(1, [1])]}, "t-0")
    (path / "t-0/00000000000000000000.log").write_bytes(b"")


def cut_log(path):
    checkpoint(path, "replication", t=5)


def lost_log(path):
    checkpoint(path, "recovery-point", t=5)


def torn_checkpoint(path):
    (path / "replication-offset-checkpoint").write_text("0\n7\nt 0 2\n")


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        (broken_index, "ends within an entry"),
        (gone_index, "has no timeindex"),
        (gone_log, "00000000000000000009.log is missing"),
        (emptied_log, "is empty though a later segment follows"),
        (cut_log, "before its high watermark 5"),
        (lost_log, "was on the disk up to 5"),
        (torn_checkpoint, "replication-offset-checkpoint is ignored"),
    ],
)
def test_damage_is_reported(break_it, words, data):
    break_it(data)
    damage = reported(data).damage
    assert damage
    assert any(words in sentence for sentence in damage), damage


def test_times_in_the_future_are_no_newest_record(data):
    write_partition(data, {0: [made(0, [NOW + 10**10])]}, "t-1")
    found = reported(data)
    assert (found.newest_partition, found.future) == ("t-0", 1)


def test_a_directory_without_anything_of_kafkas_own_is_reported(tmp_path):
    write_partition(tmp_path, {0: [made(0, [1])]})
    found = reported(tmp_path)
    assert (found.groups, found.open_transactions, found.registered, found.problems) == (None, None, [], [])
    assert found.topics == 1


def test_an_answer_is_one_object(data):
    reported_json = reported(data).as_json()
    assert reported_json["behind"][0]["lagMs"] == 59_000
    shutil.rmtree(data / "t-0")
    assert reported(data).as_json()["missing"] == ["of t partitions 0, 2 of 3 are not on these disks"]
