"""The metadata snapshot: read back by the reader of brokers' own, it says what was put in. Brokers: test_brokers.py."""

from dataclasses import replace

from kafkafs.cluster.image import PartitionState
from kafkafs.format.messages.topic_records import InternalTopic, Message
from kafkafs.format.names import METADATA_LOG
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.read_options import ReadOptions
from kafkafs.revive.kept_configs import Config
from kafkafs.revive.kept_rights import kept_rights
from kafkafs.revive.metadata_log import read_metadata
from kafkafs.revive.metadata_snapshot import Node, State, snapshot_bytes, snapshot_name
from kafkafs.revive.topics import RevivedPartition, RevivedTopic, made_up_id
from kafkafs.revive.whole_image import WholeImage
from tests.kafka.clusters import Cluster

NODE = Node(1, made_up_id("d"), made_up_id("i"), "127.0.0.1", 9092)
KNOWN = PartitionState(2, 7, 9, (2, 3), (2,), (3,), (), (3,), (), None)
TOPIC = RevivedTopic(
    "t", made_up_id("t"), {}, (RevivedPartition("t", 0, None, KNOWN), RevivedPartition("t", 1, None, None))
)
STATE = State(
    NODE, {"metadata.version": 30, "group.version": 1}, [TOPIC], {"t-0": 8, "t-1": 3},
    [Config(2, "t", "retention.ms", "5")], (), 5000, 1700000000000, 4, True,
)  # fmt: skip


def read_back(tmp_path, state):
    place = tmp_path / METADATA_LOG
    place.mkdir(parents=True)
    (place / snapshot_name(17, 4)).write_bytes(snapshot_bytes(state))
    found = read_metadata([open_data_directory_of(tmp_path)], ReadOptions())
    assert found.problems == ()
    assert found.image is not None
    assert found.as_of is not None
    assert (found.as_of.offset, found.as_of.epoch, found.as_of.timestamp) == (16, 4, state.timestamp_ms)
    return found.image


def open_data_directory_of(path):
    (path / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=c\n")
    return open_data_directory(path)


def test_every_partition_has_its_one_replica_in_sync(tmp_path):
    """Without replica in sync and directory a partition has no leader for ever, and nobody says so."""
    image = read_back(tmp_path, STATE)
    first, second = image.topics[TOPIC.topic_id].partitions[0], image.topics[TOPIC.topic_id].partitions[1]
    assert (first.leader, first.replicas, first.isr, first.directories) == (-1, (1,), (1,), (NODE.directory_id,))
    assert (first.adding, first.removing, first.eligible, first.last_known) == ((), (), (), ())
    assert (first.leader_epoch, first.partition_epoch) == (8, 10)  # behind what the metadata knew, and what the log has
    assert (second.leader_epoch, second.partition_epoch) == (3, 0)


def test_the_node_is_registered_as_one_that_has_stopped(tmp_path):
    broker = read_back(tmp_path, STATE).brokers[1]
    assert (broker.fenced, broker.log_dirs, broker.epoch) == (True, (NODE.directory_id,), 1)


def test_features_settings_and_producer_ids_are_there(tmp_path):
    image = read_back(tmp_path, STATE)
    assert image.features == STATE.features
    assert image.configs == {(2, "t"): {"retention.ms": "5"}}
    assert image.next_producer_id == 5000


def test_records_have_the_versions_of_old_releases(tmp_path):
    """3.9 ends at a record that it does not know."""
    old = replace(STATE, features={"metadata.version": 14}, is_dynamic=False)
    assert read_back(tmp_path, old).topics[TOPIC.topic_id].partitions[0].directories is None


def test_thousands_of_topics_take_several_batches(tmp_path):
    topics = [
        RevivedTopic(f"t{n}", made_up_id(str(n)), {}, (RevivedPartition(f"t{n}", 0, None, None),)) for n in range(2000)
    ]
    assert len(read_back(tmp_path, replace(STATE, topics=topics)).topics) == 2000


def test_rights_quotas_and_users_of_a_real_cluster_come_back_whole(tmp_path):
    before = read_metadata([open_data_directory(Cluster("4.3.1", "killed").path)], ReadOptions()).image
    assert before is not None
    after = read_back(tmp_path, replace(STATE, rights=kept_rights(before)[0]))
    assert (after.acls, after.quotas, after.users) == (before.acls, before.quotas, before.users)
    assert after.credentials == before.credentials
    assert len(after.acls) >= 3
    assert len(after.credentials) >= 2


def test_delegation_tokens_come_back(tmp_path):
    image = WholeImage()
    token = {"owner": "User:a", "requester": "User:a", "renewers": ("User:b",), "issueTimestamp": 1, "maxTimestamp": 2,
             "expirationTimestamp": 3, "tokenId": "x"}  # fmt: skip
    image.apply(Message(InternalTopic.CLUSTER_METADATA, 10, "DelegationTokenRecord", None, 0, token))
    assert read_back(tmp_path, replace(STATE, rights=kept_rights(image)[0])).tokens == {"x": token}
