"""What is to be revived, before a byte is written."""

import json
import os
import shutil
from typing import NamedTuple

import pytest

from kafkafs.errors import CorruptData, DiskError, UsageError
from kafkafs.format.names import METADATA_LOG
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.data_directory import open_data_directory
from kafkafs.revive.job import revive
from kafkafs.revive.place import NewDirectory
from kafkafs.revive.plan import Choices, make_plan, next_block
from kafkafs.revive.room import check_room, choose_method
from kafkafs.revive.topics import made_up_id
from kafkafs.sample import unpack
from tests.cluster.writing import Data, metadata
from tests.kafka.clusters import Cluster


def plan(paths, to, **more):
    return make_plan(paths, Choices(to=to, **more))


def test_a_clusters_plan_tells_what_it_is(tmp_path):
    found = plan([Cluster("4.3.1", "stopped").path], tmp_path / "new")
    records = found.report()
    assert json.loads(json.dumps(records)) == records
    assert (records["kafka"], records["nodeId"], records["topics"], records["lostPartitions"]) == ("4.4", 1, 6, 0)
    assert records["clusterId"] == Cluster("4.3.1", "stopped").truth["clusterId"]
    assert records["problems"] == []
    assert not (tmp_path / "new").exists()


def test_disks_without_metadata_say_so(tmp_path):
    records = plan([unpack(tmp_path)], tmp_path / "new").report()
    assert any("no metadata" in sentence for sentence in records["leftOut"])
    assert records["nextProducerId"] >= 1000  # behind those that transactions are known of


def test_groups_of_newer_protocols_are_known_without_metadata(tmp_path):
    """A broker refuses whoever asks for such a group where its feature is not there."""
    data = Cluster("4.3.1", "stopped").copy_to(tmp_path / "data")
    shutil.rmtree(data / "__cluster_metadata-0")
    features = plan([data], tmp_path / "new").features
    assert (features["group.version"], features["share.version"], features["streams.version"]) == (1, 1, 1)


def test_a_target_that_would_lose_something_is_refused_by_name(tmp_path):
    with pytest.raises(UsageError, match=r"Kafka 3\.9 has no share groups .* \('shared' is one\)"):
        plan([Cluster("4.3.1", "stopped").path], tmp_path / "new", kafka="3.9")
    with pytest.raises(UsageError, match=r"'2\.8' is not a release that revive writes for"):
        plan([Cluster("4.3.1", "stopped").path], tmp_path / "new", kafka="2.8")


def test_a_share_group_of_later_does_not_keep_from_an_older_release(tmp_path):
    """As of the first offset that was committed there was none yet."""
    source = open_data_directory(Cluster("4.3.1", "stopped").path)
    logs = [source.partition(name).log() for name in source.names() if name.startswith("__consumer_offsets-")]
    runs = (item for log in logs for _, item in log.walk(0, log.end_offset) if isinstance(item, BatchRun))
    first = min(int(run.rows["max_timestamp"].min()) for run in runs)
    records = plan([source.path], tmp_path / "new", kafka="3.9", until_ms=first).report()
    assert not any("keeps its offsets" in sentence for sentence in records["leftOut"])


def test_an_empty_cluster_is_nothing_to_revive(tmp_path):
    data = Data(tmp_path / "data")
    data.write("__cluster_metadata-0", [metadata("NoOpRecord")])
    with pytest.raises(UsageError, match="nothing to revive: the metadata know no topic"):
        plan([data.path], tmp_path / "new")


def test_before_the_first_topic_there_is_nothing_to_revive(tmp_path):
    with pytest.raises(UsageError, match="nothing to revive: the metadata of that moment know no topic"):
        plan([Cluster("4.3.1", "stopped").path], tmp_path / "new", until_ms=1000)


def test_metadata_that_are_not_whole_are_named_unless_they_may_be(tmp_path):
    data = Cluster("4.3.1", "killed").copy_to(tmp_path / "data")
    (log,) = (data / "__cluster_metadata-0").glob("*.log")
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(content)
    with pytest.raises(CorruptData, match="metadata is not whole: __cluster_metadata-0"):
        plan([data], tmp_path / "new")
    assert plan([data], tmp_path / "new", corrupt="skip").problems


def test_a_log_start_that_cannot_be_read_is_reported(tmp_path):
    source = unpack(tmp_path)
    (source / "log-start-offset-checkpoint").write_text("what?")
    assert any("log-start-offset-checkpoint" in each for each in plan([source], tmp_path / "new").problems)


class Room(NamedTuple):
    """A disk with so many blocks of a byte."""

    f_bavail: int
    f_frsize: int = 1


def test_a_disk_that_would_not_hold_it_is_reported_first(tmp_path, monkeypatch):
    found = plan([unpack(tmp_path)], tmp_path / "new")
    monkeypatch.setattr(os, "statvfs", lambda path: Room(found.size))
    with pytest.raises(DiskError, match=r"bytes are needed and the disk of .* has .* free"):
        check_room(found, "copy", tmp_path, 0)
    monkeypatch.setattr(os, "statvfs", lambda path: Room(2 * found.size + 400_000))
    check_room(found, "copy", tmp_path, 0)
    monkeypatch.setattr(os, "statvfs", lambda path: Room(found.size // 50 + 400_000))
    check_room(found, "link", tmp_path, 0)  # which takes no room


def test_the_way_is_what_was_asked_for(tmp_path):
    found = plan([unpack(tmp_path)], tmp_path / "new")
    place = NewDirectory(tmp_path / "new", {})
    assert choose_method(found, "copy", place) == "copy"
    assert choose_method(found, "link", place) == "link"
    assert choose_method(found, None, place) in ("copy", "reflink")


def test_ids_come_in_blocks():
    assert [next_block(each) for each in (0, 999, 1000)] == [1000, 1000, 2000]


def test_metadata_that_lead_out_of_the_directory_lead_nowhere(tmp_path):
    """Names of topics and the cluster's id are a stranger's; each would be a path, or a line of a file."""
    source = unpack(tmp_path)
    partition = {"topicId": made_up_id("evil"), "partitionId": 0, "replicas": (1,), "isr": (1,), "leader": 1}
    topic = metadata("TopicRecord", name="../../evil", topicId=made_up_id("evil"))
    Data(source).write(METADATA_LOG, [topic, metadata("PartitionRecord", **partition)])
    report = revive([source], Choices(to=tmp_path / "below/new"))
    assert "the topic '../../evil' of the metadata is left out: Kafka allows no topic of that name" in report["leftOut"]
    assert "evil" not in {each["topic"] for each in report["revived"]}
    assert sorted(os.listdir(tmp_path)) == ["below", source.name]
    assert os.listdir(tmp_path / "below") == ["new"]
    snapshot = next((tmp_path / "below/new" / METADATA_LOG).iterdir()).read_bytes()
    assert b"evil" not in snapshot
    (source / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=a\\u000alog.dirs=/etc\n")
    with pytest.raises(CorruptData, match="is not an id that Kafka makes"):
        plan([source], tmp_path / "other")


def test_a_link_in_place_of_a_partition_is_reported(tmp_path):
    source = unpack(tmp_path)
    (source / "linked-0").symlink_to(tmp_path)
    assert f"{str(source)!r}: linked-0 is a symbolic link, and left out" in plan([source], tmp_path / "new").sentences


@pytest.mark.parametrize(
    ("states", "is_reported"), [((2,), True), ((2, 1), False), ((2, 1, 3), False), ((0,), False), ((), False)]
)
def test_a_migration_from_zookeeper_that_had_only_begun_is_reported(tmp_path, states, is_reported):
    """Regression: there were metadata, and nothing said that rights and users were elsewhere."""
    data = Data(unpack(tmp_path))
    records = [metadata("ZkMigrationStateRecord", zkMigrationState=state) for state in states]
    data.write("__cluster_metadata-0", [metadata("NoOpRecord"), *records])
    found = plan([data.path], tmp_path / "new").report()
    assert found["topics"] == 7
    assert any("migration from ZooKeeper had not copied" in each for each in found["leftOut"]) == is_reported


def test_a_path_that_leads_in_a_circle_is_named(tmp_path):
    """Regression: it was told as a bug of kafkafs."""
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    with pytest.raises(UsageError, match=r"'.*loop' cannot be opened: Too many levels of symbolic links"):
        revive([loop], Choices(to=tmp_path / "new"))
    with pytest.raises(UsageError, match=r"'.*loop/x' cannot be used: Too many levels of symbolic links"):
        revive([tmp_path], Choices(to=loop / "x"))
