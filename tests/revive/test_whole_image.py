"""The metadata with its secrets, record by record."""

from kafkafs.format.messages.topic_records import InternalTopic, Message
from kafkafs.revive.whole_image import WholeImage


def record(kind, /, **value):
    return Message(InternalTopic.CLUSTER_METADATA, 0, kind, None, 0, value)


def test_what_was_taken_back_is_gone():
    image = WholeImage()
    image.apply(record("TopicRecord", name="t", topicId="A" * 22))
    image.apply(record("RemoveTopicRecord", topicId="A" * 22))
    image.apply(record("UserScramCredentialRecord", name="u", mechanism=1, iterations=1))
    image.apply(record("RemoveUserScramCredentialRecord", name="u", mechanism=1))
    image.apply(record("DelegationTokenRecord", tokenId="d"))
    image.apply(record("DelegationTokenRecord", tokenId="e"))
    image.apply(record("RemoveDelegationTokenRecord", tokenId="d"))
    assert (image.removed, image.credentials, list(image.tokens), image.topics) == ({"A" * 22}, {}, ["e"], {})
