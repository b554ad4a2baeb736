"""The metadata with its secrets, of clusters that real brokers left."""

from base64 import b64encode

from kafkafs.format.messages.records import InternalTopic, Message
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.options import ReadOptions
from kafkafs.revive.whole_image import WholeImage, read_metadata
from tests.cluster.reading import scram_secrets
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
