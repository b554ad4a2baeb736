"""The metadata with its secrets, of clusters that real brokers left."""

from base64 import b64encode

from kafkafs.cluster.metadata import METADATA_LOG
from kafkafs.format.messages.topic_records import InternalTopic, Message
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.read_options import ReadOptions
from kafkafs.revive.topics import made_up_id
from kafkafs.revive.whole_image import WholeImage, read_metadata
from tests.cluster.reading import scram_secrets
from tests.cluster.writing import Data, metadata, snapshot
from tests.kafka.clusters import Cluster


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


def record(kind, /, **value):
    return Message(InternalTopic.CLUSTER_METADATA, 0, kind, None, 0, value)


def test_what_was_taken_back_is_gone():
    image = WholeImage()
    image.take(record("TopicRecord", name="t", topicId="A" * 22))
    image.take(record("RemoveTopicRecord", topicId="A" * 22))
    image.take(record("UserScramCredentialRecord", name="u", mechanism=1, iterations=1))
    image.take(record("RemoveUserScramCredentialRecord", name="u", mechanism=1))
    image.take(record("DelegationTokenRecord", tokenId="d"))
    image.take(record("DelegationTokenRecord", tokenId="e"))
    image.take(record("RemoveDelegationTokenRecord", tokenId="d"))
    assert (image.removed, image.credentials, list(image.tokens), image.topics) == ({"A" * 22}, {}, ["e"], {})
