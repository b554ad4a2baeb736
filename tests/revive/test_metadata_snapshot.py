"""The metadata snapshot: read back by the reader of brokers' own, it says what was put in. Brokers: test_brokers.py."""

from dataclasses import replace

import pytest

from kafkafs.cluster.image import PartitionState
from kafkafs.format.messages.topic_records import InternalTopic, Message
from kafkafs.format.names import METADATA_LOG
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.read_options import ReadOptions
from kafkafs.revive.metadata_log import read_metadata
from kafkafs.revive.metadata_snapshot import Config, Node, State, kept_configs, snapshot_bytes, snapshot_name
from kafkafs.revive.releases import RELEASES
from kafkafs.revive.topics import RevivedPartition, RevivedTopic, made_up_id
from kafkafs.revive.whole_image import WholeImage
from tests.kafka.clusters import Cluster

NODE = Node(1, made_up_id("d"), made_up_id("i"), "127.0.0.1", 9092)
KNOWN = PartitionState(2, 7, 9, (2, 3), (2,), (3,), (), (3,), (), None)
TOPIC = RevivedTopic("t", made_up_id("t"), {}, (RevivedPartition(0, None, KNOWN), RevivedPartition(1, None, None)))
STATE = State(
    NODE, {"metadata.version": 30, "group.version": 1}, [TOPIC], {"t-0": 8, "t-1": 3},
    [Config(2, "t", "retention.ms", "5")], None, 5000, 1700000000000, 4, True,
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
    topics = [RevivedTopic(f"t{n}", made_up_id(str(n)), {}, (RevivedPartition(0, None, None),)) for n in range(2000)]
    assert len(read_back(tmp_path, replace(STATE, topics=topics)).topics) == 2000


def test_rights_quotas_and_users_of_a_real_cluster_come_back_whole(tmp_path):
    before = read_metadata([open_data_directory(Cluster("4.3.1", "killed").path)], ReadOptions()).image
    assert before is not None
    after = read_back(tmp_path, replace(STATE, image=before))
    assert (after.acls, after.quotas, after.users) == (before.acls, before.quotas, before.users)
    assert after.credentials == before.credentials
    assert len(after.acls) >= 3
    assert len(after.credentials) >= 2


def test_delegation_tokens_come_back(tmp_path):
    image = WholeImage()
    token = {"owner": "User:a", "requester": "User:a", "renewers": ("User:b",), "issueTimestamp": 1, "maxTimestamp": 2,
             "expirationTimestamp": 3, "tokenId": "x"}  # fmt: skip
    image.apply(Message(InternalTopic.CLUSTER_METADATA, 10, "DelegationTokenRecord", None, 0, token))
    assert read_back(tmp_path, replace(STATE, image=image)).tokens == {"x": token}


def test_settings_that_belong_to_another_machine_are_left_out():
    image = WholeImage()
    image.configs = {
        (4, ""): {"log.cleaner.threads": "2", "log.retention.ms": "5"},
        (4, "1"): {"listener.name.x.ssl.key.password": "SECRET", "num.io.threads": "8", "cordoned.log.dirs": "/d"},
        (4, "2"): {"num.io.threads": "9"},
        (32, "g"): {"consumer.session.timeout.ms": "50000"},
        (16, "watch"): {"interval.ms": "60000"},
        (2, "gone"): {"retention.ms": "1"},
    }
    kept, sentences = kept_configs(image, [], 1, frozenset({"log.retention.ms"}), RELEASES["3.9"])
    assert kept == [
        Config(4, "", "log.cleaner.threads", "2"), Config(4, "1", "num.io.threads", "8"),
        Config(16, "watch", "interval.ms", "60000"),
    ]  # fmt: skip
    assert len(sentences) == 5
    assert not any("SECRET" in sentence for sentence in sentences)
    kept, _ = kept_configs(image, [], 1, frozenset(), RELEASES["4.4"])
    assert Config(32, "g", "consumer.session.timeout.ms", "50000") in kept


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("log.dirs", "/"), ("log.dir", "/etc"), ("metadata.log.dir", "x"), ("ssl.keystore.location", "a.jks"),
        ("ssl.truststore.location", "b.jks"), ("remote.log.storage.manager.class.path", "x.jar"),
        ("principal.builder.class", "Evil"), ("config.providers", "file"), ("config.providers.file.class", "x"),
        ("sasl.oauthbearer.jwks.endpoint.url", "x"), ("rsm.config.dir", "x"), ("whatever", "/etc/passwd"),
        ("max.connections", "${file:/etc/passwd:x}"), ("some.plugin", "file:///etc"), ("early.start.listeners", "X"),
        ("log.dirs\n", "x"),
    ],
)  # fmt: skip
def test_no_setting_names_a_path_of_this_machine(name, value):
    image = WholeImage()
    image.configs = {(4, ""): {name: value}, (4, "1"): {name: value}}
    kept, sentences = kept_configs(image, [], 1, frozenset(), RELEASES["4.4"])
    assert kept == []
    assert len(sentences) == 2


def test_tokens_without_their_key_are_reported():
    image = WholeImage()
    image.tokens = {"x": {"owner": "User:a", "requester": "User:a", "renewers": []}}
    _, (sentence,) = kept_configs(image, [], 1, frozenset(), RELEASES["4.4"])
    assert "delegation.token.secret.key" in sentence


def test_a_setting_below_what_the_target_starts_from_is_raised():
    """Kafka 4 ends at its start where the segments of one topic are smaller than a mebibyte."""
    image = WholeImage()
    image.configs = {(4, ""): {"log.segment.bytes": "1000"}}
    topics = [RevivedTopic("small", made_up_id("s"), {"segment.bytes": "14"}, ()),
              RevivedTopic("large", made_up_id("l"), {"segment.bytes": "1048577"}, ())]  # fmt: skip
    kept, sentences = kept_configs(image, topics, 1, frozenset(), RELEASES["4.4"])
    assert [each.value for each in kept] == ["1048576", "1048577", "1048576"]
    assert sentences == [
        "the setting segment.bytes=14 of small becomes 1048576, the least for Kafka 4.4",
        "the setting log.segment.bytes=1000 of all brokers becomes 1048576, the least for Kafka 4.4",
    ]
    kept, sentences = kept_configs(image, topics, 1, frozenset(), RELEASES["3.9"])
    assert ([each.value for each in kept], sentences) == (["14", "1048577", "1000"], [])


@pytest.mark.parametrize("release", RELEASES)
def test_topics_settings_that_a_release_refuses_are_left_out(release):
    """Regression: on 3.9 no setting of such a topic could be changed any more."""
    configs = {"retention.ms": "5", "remote.copy.lag.ms": "7", "internal.segment.bytes": "2000"}
    kept, sentences = kept_configs(
        None, [RevivedTopic("t", made_up_id("t"), configs, ())], 1, frozenset(), RELEASES[release]
    )
    names = {each.name for each in kept}
    assert names == ({"retention.ms"} if release == "3.9" else {*configs})
    assert sorted(sentences) == [
        f"the setting {name}={configs[name]} of t is left out: Kafka 3.9 does not know it"
        for name in sorted({*configs} - names)
    ]
