"""The metadata as all disks tell them together, whole and damaged, of clusters that real brokers left."""

import os
import shutil
from base64 import b64encode
from pathlib import Path

import pytest

from kafkafs.format.names import CLEAN_SHUTDOWN, METADATA_LOG
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.read_options import ReadOptions
from kafkafs.revive.metadata_log import read_metadata
from kafkafs.revive.topics import made_up_id
from tests.cluster.reading import scram_secrets
from tests.cluster.writing import Data, metadata, snapshot
from tests.kafka import replicated
from tests.kafka.clusters import Cluster

LOG = f"{METADATA_LOG}/{0:020}.log"
EPOCH_AT, BODY_AT = 12, 70


def test_secrets_and_producer_ids_are_kept():
    cluster = Cluster("4.3.1", "killed")
    found = read_metadata([open_data_directory(cluster.path)], ReadOptions())
    assert found.image is not None
    assert found.problems == ()
    assert found.is_dynamic
    secrets = {
        b64encode(fields[name])
        for fields in found.image.credentials.values()
        for name in ("salt", "storedKey", "serverKey")
    }
    assert secrets == {*scram_secrets(cluster.path)}
    assert found.image.next_producer_id >= 1000
    assert found.as_of is not None
    assert found.image.ids.keys() >= {"shop", "stock", "placed"}


def test_without_a_metadata_log_there_is_no_image():
    found = read_metadata([open_data_directory(Cluster("2.8.0", "stopped").path)], ReadOptions())
    assert (found.image, found.as_of, found.is_dynamic) == (None, None, False)


def test_as_of_a_moment_settings_and_topics_are_those_of_then(tmp_path):
    """What was made later is named, and what must never be given out twice is as it is at the end."""
    one, two = made_up_id("one"), made_up_id("two")
    data = Data(tmp_path / "data")
    partition = {"replicas": (1,), "isr": (1,), "leader": 1}
    data.write(METADATA_LOG, [
        metadata("TopicRecord", name="t", topicId=one),
        metadata("PartitionRecord", topicId=one, partitionId=0, leaderEpoch=1, **partition),
        metadata("ConfigRecord", resourceType=2, resourceName="t", name="retention.ms", value="1"),
    ], timestamp=1000)  # fmt: skip
    data.write(METADATA_LOG, [
        metadata("ConfigRecord", resourceType=2, resourceName="t", name="retention.ms", value="2"),
        metadata("TopicRecord", name="u", topicId=two),
        metadata("PartitionRecord", topicId=two, partitionId=0, leaderEpoch=1, **partition),
        metadata("PartitionRecord", topicId=one, partitionId=1, leaderEpoch=1, **partition),
        metadata("PartitionChangeRecord", topicId=one, partitionId=0, leader=1),
        metadata("ProducerIdsRecord", brokerId=1, brokerEpoch=1, nextProducerId=7000),
    ], timestamp=2000)  # fmt: skip
    data.write(METADATA_LOG, [metadata("NoOpRecord")], timestamp=1500)  # by a clock that was put back
    then = read_metadata([open_data_directory(data.path)], ReadOptions(), 1999)
    assert then.image is not None
    assert (then.problems, then.sentences) == ((), ())
    assert then.image.configs == {(2, "t"): {"retention.ms": "1"}}
    assert [*then.image.ids] == ["t"]
    assert then.image.later == {(two, 0), (one, 1)}
    assert (then.image.next_producer_id, then.image.topics[one].partitions[0].leader_epoch) == (7000, 2)
    assert then.as_of is not None
    assert then.as_of.offset == 9
    now = read_metadata([open_data_directory(data.path)], ReadOptions(), 2000)
    assert now.image is not None
    assert (now.image.configs, now.image.later) == ({(2, "t"): {"retention.ms": "2"}}, set())


def test_where_the_metadata_of_then_are_gone_it_says_so(tmp_path):
    """A controller deletes its old snapshots."""
    data = Data(tmp_path / "data")
    data.write(METADATA_LOG, [metadata("TopicRecord", name="t", topicId=made_up_id("t"))], timestamp=1000)
    (data.path / METADATA_LOG / f"{1:020}-{0:010}.checkpoint").write_bytes(
        snapshot(metadata("TopicRecord", name="t", topicId=made_up_id("t")))
    )
    (data.path / METADATA_LOG / f"{0:020}.log").unlink()
    found = read_metadata([open_data_directory(data.path)], ReadOptions(), 5)
    assert found.image is not None
    assert [*found.image.ids] == ["t"]
    assert "those of the end" in found.sentences[0]


def damaged_at(path: Path, share: float, at: int = BODY_AT, by: int = 0x55) -> int:
    """A byte of the batch at that share of the metadata log is another now: the batch's first offset."""
    log = open_data_directory(path).partition(METADATA_LOG).log()
    rows = [row for _, item in log.walk(0, log.end_offset) if isinstance(item, BatchRun) for row in item.rows]
    row, content = rows[int(len(rows) * share)], bytearray((path / LOG).read_bytes())
    content[int(row["position"]) + at] ^= by
    (path / LOG).write_bytes(content)
    return int(row["base_offset"])


def reported(*paths: Path):
    """What the metadata of these disks are together, and what is said of them."""
    found = read_metadata([open_data_directory(path) for path in paths], ReadOptions())
    image = found.image
    assert image is not None
    state = image.ids, image.configs, image.acls, image.quotas, image.credentials, image.features, image.topics
    return state, found.as_of, found.problems


@pytest.mark.parametrize("share", [0.2, 0.5, 0.97])
def test_a_log_that_lost_its_end_is_not_whole(tmp_path, share):
    """The broker noted where it ended when it stopped: rights that were taken away must not come back in silence."""
    path = Cluster("4.3.1", "stopped").copy_to(tmp_path / "data")
    content = (path / LOG).read_bytes()
    os.truncate(path / LOG, int(len(content) * share))
    _, as_of, (problem,) = reported(path)
    assert as_of is not None
    assert f"offsets {as_of.offset + 1} to " in problem
    assert "the broker recorded its end at" in problem
    (path / CLEAN_SHUTDOWN).unlink()  # a broker that was copied while it ran
    found = read_metadata([open_data_directory(path)], ReadOptions())
    assert found.problems == ()
    assert "the broker recorded its end at" in found.sentences[0]


def test_a_last_batch_with_an_offset_where_none_can_be_is_damaged(tmp_path):
    """No CRC is about it, and the new controller would go on behind it."""
    path = Cluster("4.3.1", "stopped").copy_to(tmp_path / "data")
    last = damaged_at(path, 0.999, at=0, by=0x40)
    _, as_of, (problem,) = reported(path)
    assert as_of is not None
    assert as_of.offset == last - 1
    assert "says that it begins at" in problem


def test_the_epoch_is_one_that_the_broker_knew(tmp_path):
    """That of a batch is under no CRC."""
    path = Cluster("4.3.1", "stopped").copy_to(tmp_path / "data")
    whole = reported(path)
    damaged_at(path, 0.999, at=EPOCH_AT, by=0x7F)
    assert reported(path) == whole


def test_what_one_disk_has_lost_of_it_another_has(tmp_path):
    disks = [shutil.copytree(each, tmp_path / each.name) for each in replicated.directories()]
    whole = reported(*disks)
    first = damaged_at(disks[0], 0.3)
    damaged_at(disks[1], 0.6)
    assert reported(*disks) == whole
    found = read_metadata([open_data_directory(path) for path in disks], ReadOptions())
    assert any(f"offsets {first} to " in each and str(disks[1]) in each for each in found.sentences)


def topic(name: str) -> tuple[bytes | None, bytes | None]:
    return metadata("TopicRecord", name=name, topicId=made_up_id(name))


def with_snapshot(path: Path, offset: int, content: bytes) -> Data:
    """A data directory with a snapshot alone."""
    data = Data(path)
    (path / METADATA_LOG).mkdir(exist_ok=True)
    (path / METADATA_LOG / f"{offset:020}-{1:010}.checkpoint").write_bytes(content)
    return data


def test_a_snapshot_that_another_disk_has_whole_counts(tmp_path):
    whole = snapshot(topic("t"))
    one = with_snapshot(tmp_path / "1", 9, whole[:-1])
    one.write(METADATA_LOG, [topic("behind")], at=9)
    two = with_snapshot(tmp_path / "2", 9, whole)
    (ids, *_), as_of, problems = reported(one.path, two.path)
    assert [*ids] == ["t", "behind"]
    assert as_of is not None
    assert (as_of.offset, problems) == (9, ())


def test_the_beginning_that_one_log_has_lost_comes_from_another(tmp_path):
    """Its first segment is gone, and there was no snapshot yet."""
    for number in (1, 2):
        data = Data(tmp_path / str(number))
        data.write(METADATA_LOG, [topic("first"), topic("second")])
        data.write(METADATA_LOG, [topic("third")])
        (data.path / METADATA_LOG / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    one = Data(tmp_path / "1")
    (one.path / LOG).unlink()
    one.write(METADATA_LOG, [topic("third")], at=2)
    one.write(METADATA_LOG, [topic("fourth")])
    (ids, *_), as_of, problems = reported(tmp_path / "1", tmp_path / "2")
    assert [*ids] == ["first", "second", "third", "fourth"]
    assert as_of is not None
    assert (as_of.offset, problems) == (3, ())


def test_of_a_snapshot_that_is_not_whole_counts_what_is_left(tmp_path):
    """Where nothing else tells of what stood before, and what the log has behind it, too."""
    whole = snapshot(topic("t"), topic("u"))
    data = with_snapshot(tmp_path, 9, whole[:-1])
    data.write(METADATA_LOG, [topic("behind")], at=9)
    (ids, *_), as_of, problems = reported(data.path)
    assert [*ids] == ["t", "u", "behind"]
    assert as_of is not None
    assert as_of.offset == 9
    assert any("what is left of" in each for each in problems)


def test_what_is_left_of_a_snapshot_another_disk_may_have(tmp_path):
    """Regression: only the first disk's was looked at, of which nothing was left."""
    one = with_snapshot(tmp_path / "1", 9, bytes(100))
    one.write(METADATA_LOG, [topic("behind")], at=9)
    two = with_snapshot(tmp_path / "2", 9, snapshot(topic("t"))[:-1])
    (ids, *_), _, problems = reported(one.path, two.path)
    assert [*ids] == ["t", "behind"]
    assert any("what is left of" in each for each in problems)


def test_a_log_without_its_beginning_tells_what_it_has(tmp_path):
    """As it does behind a gap between two segments."""
    data = Data(tmp_path)
    data.write(METADATA_LOG, [topic("late")], at=7)
    (ids, *_), _, problems = reported(data.path)
    assert [*ids] == ["late"]
    assert any("offsets 0 to 6 are missing" in each for each in problems)
    with_snapshot(tmp_path, 5, snapshot(topic("t")))
    (ids, *_), _, problems = reported(data.path)
    assert [*ids] == ["t", "late"]
    assert problems == (f"{METADATA_LOG}: offsets 5 to 6 are missing: no segment has them",)


def test_a_change_that_its_controller_had_not_ended_is_reported(tmp_path):
    """No controller would count it, and its records are on the disk."""
    data = Data(tmp_path)
    data.write(METADATA_LOG, [topic("t"), metadata("BeginTransactionRecord"), topic("u"), topic("v")])
    found = read_metadata([open_data_directory(data.path)], ReadOptions())
    assert found.image is not None
    assert [*found.image.ids] == ["t"]
    assert "its last 2 records are left out" in found.sentences[0]
    data.write(METADATA_LOG, [metadata("EndTransactionRecord")])
    assert read_metadata([open_data_directory(data.path)], ReadOptions()).sentences == ()


def test_without_anything_left_nothing_is_known(tmp_path):
    """What a node was formatted with tells of no topic."""
    for at in (0, 5):
        data = with_snapshot(tmp_path / str(at), at, bytes(100))
        found = read_metadata([open_data_directory(data.path)], ReadOptions())
        assert found.image is None
        assert f"{METADATA_LOG}: the log is empty" in found.problems


@pytest.mark.parametrize("content", [None, b"", bytes(100)])
def test_that_the_quorum_is_a_dynamic_one_the_log_tells_too(tmp_path, content):
    path = Cluster("4.3.1", "stopped").copy_to(tmp_path / "data")
    state = path / METADATA_LOG / "quorum-state"
    state.unlink() if content is None else state.write_bytes(content)
    assert read_metadata([open_data_directory(path)], ReadOptions()).is_dynamic
