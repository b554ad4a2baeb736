"""Which topics are revived from which directories: by the metadata, and without it."""

import pytest

from kafkafs.errors import CorruptData, UsageError
from kafkafs.format.checkpoints import partition_metadata_bytes
from kafkafs.format.messages.topic_records import InternalTopic, Message
from kafkafs.log.data_directory import open_data_directory
from kafkafs.revive.topics import choose_topics, made_up_id
from kafkafs.revive.whole_image import WholeImage
from tests.cluster.writing import Data

ONE, TWO = made_up_id("one"), made_up_id("two")


def disk(path, ids, node=1):
    """A data directory with these partitions; of each the topic id, None for none."""
    data = Data(path)
    (path / "meta.properties").write_text(f"version=1\nnode.id={node}\ncluster.id=c\n")
    for name, topic_id in ids.items():
        data.write(name, [(b"k", b"v")])
        if topic_id is not None:
            (path / name / "partition.metadata").write_bytes(partition_metadata_bytes(topic_id))
    return open_data_directory(path)


def image(*topics, removed=(), isr=(1,)):
    """Metadata of these topics: name, id, number of partitions."""
    made = WholeImage()
    for name, topic_id, count in topics:
        apply(made, "TopicRecord", name=name, topicId=topic_id)
        for number in range(count):
            apply(
                made, "PartitionRecord", topicId=topic_id, partitionId=number, leader=1, leaderEpoch=3,
                partitionEpoch=4, replicas=(1,), isr=isr, addingReplicas=(), removingReplicas=(),
            )  # fmt: skip
    made.removed.update(removed)
    return made


def apply(made, record, /, **value):
    made.apply(Message(InternalTopic.CLUSTER_METADATA, 0, record, None, 0, value))


def chosen(directories, metadata=None, wanted=None, include=()):
    return choose_topics(directories, metadata, wanted, "cluster", include)


def shape(found):
    return {topic.name: [each.replica is not None for each in topic.partitions] for topic in found.topics}


def test_a_damaged_id_is_not_another_topics(tmp_path):
    """A bit of `partition.metadata` is not worth the partition."""
    misspelt = ONE[:5] + chr(ord(ONE[5]) ^ 1) + ONE[6:]
    found = chosen([disk(tmp_path / "a", {"t-0": misspelt, "t-1": TWO})], image(("t", ONE, 2)))
    assert shape(found) == {"t": [True, False]}
    assert [topic.topic_id for topic in found.topics] == [ONE]
    assert any(misspelt in each and f"one of {ONE}" in each for each in found.sentences)


def test_without_metadata_directories_tell_topics_and_partitions(tmp_path):
    """As on disks of ZooKeeper's time. A number in between that is nowhere begins anew: a controller wants all."""
    found = chosen([disk(tmp_path / "a", {"t-0": ONE, "t-2": ONE, "old-0": None})])
    assert shape(found) == {"old": [True], "t": [True, False, True]}
    ids = {topic.name: topic.topic_id for topic in found.topics}
    assert ids == {"t": ONE, "old": made_up_id("cluster", "old")}
    assert "t-1: no disk has a replica, so it begins empty" in found.sentences


def test_the_brokers_own_topics_and_compacted_ones_keep_their_policy(tmp_path):
    """Retention would delete what groups have read, if they were topics like others."""
    directory = disk(tmp_path / "a", {"__consumer_offsets-0": None, "kept-0": None, "t-0": None})
    (tmp_path / "a/cleaner-offset-checkpoint").write_text("0\n1\nkept 0 7\n")
    configs = {topic.name: topic.configs for topic in chosen([directory]).topics}
    assert configs["__consumer_offsets"]["cleanup.policy"] == configs["kept"]["cleanup.policy"] == "compact"
    assert configs["t"] == {}


def test_a_directory_of_an_earlier_topic_of_that_name_is_left_out(tmp_path):
    """A disk that was away when the topic was deleted and made anew; it may well be the longer one."""
    directories = [disk(tmp_path / "a", {"t-0": ONE}, 1), disk(tmp_path / "b", {"t-0": TWO}, 2)]
    for removed in ([], [ONE]):
        found = chosen(directories, image(("t", TWO, 1), removed=removed))
        (replica,) = (each.replica for each in found.topics[0].partitions)
        assert replica is not None
        assert replica.directory is directories[1]
        (sentence,) = (each for each in found.sentences if "another topic of that name" in each)
        assert ("in a copy of that disk" in sentence) == (not removed)  # else it may be newer than the metadata


def test_a_directory_under_a_new_name_is_a_topic_of_its_own(tmp_path):
    """The way that the sentence about another topic of the same name names."""
    directories = [disk(tmp_path / "a", {"u-0": ONE}, 1), disk(tmp_path / "b", {"t-0": TWO}, 2)]
    assert shape(chosen(directories, image(("t", TWO, 1)))) == {"t": [True], "u": [True]}


def test_a_deleted_topic_stays_deleted_and_an_unknown_one_comes_back(tmp_path):
    directory = disk(tmp_path / "a", {"t-0": ONE, "gone-0": TWO, "unknown-0": made_up_id("three")})
    found = chosen([directory], image(("t", ONE, 1), removed=[TWO]))
    assert shape(found) == {"t": [True], "unknown": [True]}
    assert len(found.sentences) == 3
    assert "unknown: its settings are unknown, so it gets those of a new topic" in found.sentences


def test_what_was_made_after_the_moment_is_left_out(tmp_path):
    """A topic, and a partition of one that was there."""
    directory = disk(tmp_path / "a", {"t-0": ONE, "t-1": ONE, "u-0": TWO})
    then = image(("t", ONE, 1))
    then.later = {(ONE, 1), (TWO, 0)}
    found = chosen([directory], then)
    assert shape(found) == {"t": [True]}
    assert [each.split(" is ")[0] for each in found.sentences] == [
        f"'{tmp_path}/a/t-1'", f"'{tmp_path}/a/u-0'",
    ]  # fmt: skip
    assert all("1 record, offsets 0 to 0" in each for each in found.sentences)


def test_one_id_in_two_topics_is_refused(tmp_path):
    with pytest.raises(CorruptData, match=f"the topic id {ONE} is claimed by a .* and by b"):
        chosen([disk(tmp_path / "a", {"a-0": ONE, "b-0": ONE})])
    with pytest.raises(CorruptData, match="the metadata"):
        chosen([disk(tmp_path / "b", {"b-0": ONE})], image(("a", ONE, 1)))


def test_two_ids_of_one_topic_need_metadata(tmp_path):
    with pytest.raises(CorruptData, match="t has 2 topic ids"):
        chosen([disk(tmp_path / "a", {"t-0": ONE}, 1), disk(tmp_path / "b", {"t-1": TWO}, 2)])


def test_a_wild_number_does_not_make_a_million_partitions(tmp_path):
    with pytest.raises(CorruptData, match="partition 2147483647"):
        chosen([disk(tmp_path / "a", {"t-0": ONE, "t-2147483647": ONE})])


def test_some_topics_bring_kafkas_own_along(tmp_path):
    directory = disk(tmp_path / "a", {"t-0": ONE, "u-0": TWO, "__consumer_offsets-0": None})
    assert list(shape(chosen([directory], wanted=["t"]))) == ["__consumer_offsets", "t"]
    with pytest.raises(UsageError, match="no topic 'x'"):
        chosen([directory], wanted=["t", "x"])


def test_twice_on_one_broker_is_refused(tmp_path):
    """Nothing tells which of them is true."""
    with pytest.raises(UsageError, match="t-0 is both in"):
        chosen([disk(tmp_path / "a", {"t-0": ONE}), disk(tmp_path / "b", {"t-0": ONE})])


def test_what_lies_in_a_tier_is_not_asked_for(tmp_path):
    metadata = image(("t", ONE, 1))
    metadata.configs[2, "t"] = {"remote.storage.enable": "true", "retention.ms": "5"}
    found = chosen([disk(tmp_path / "a", {"t-0": ONE})], metadata)
    assert found.topics[0].configs == {"retention.ms": "5"}
    assert any("remote.storage.enable" in sentence for sentence in found.sentences)


def test_that_only_a_replica_out_of_sync_is_left_is_reported(tmp_path):
    """As one that was being moved there: a tenth of the partition, and nothing of it damaged."""
    one, other = disk(tmp_path / "a", {"t-0": ONE}, node=3), disk(tmp_path / "b", {"t-0": ONE}, node=1)
    reported = (
        "t-0: no disk has a replica that was in sync (of broker 1, 2), so its last records may be missing;"
        f" '{tmp_path}/a/t-0' (offsets 0 to 0, last leader epoch 0) is used"
    )
    assert chosen([one], image(("t", ONE, 1), isr=(2, 1))).sentences == [reported]
    assert chosen([one, other], image(("t", ONE, 1), isr=(2, 1))).sentences == []
    assert chosen([one], image(("t", ONE, 1), isr=())).sentences == []


def test_settings_of_a_topic_whose_first_record_is_lost_stay(tmp_path):
    """They were told behind it: damage took one batch of the metadata, not these."""
    metadata = image(("u", TWO, 1))
    for topic, name in (("t", "retention.ms"), ("__consumer_offsets", "segment.bytes")):
        apply(metadata, "ConfigRecord", resourceType=2, resourceName=topic, name=name, value="1048576")
    found = chosen([disk(tmp_path / "a", {"t-0": ONE, "u-0": TWO, "__consumer_offsets-0": None})], metadata)
    configs = {topic.name: dict(topic.configs) for topic in found.topics}
    assert configs["t"] == {"retention.ms": "1048576"}
    assert configs["__consumer_offsets"] == {
        "cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "1048576"
    }  # fmt: skip


@pytest.mark.parametrize(
    "name", ["../../evil", "", ".", "..", "x" * 250, "a b", "a/b", "a\0b", "a\nb", "é", "__cluster_metadata"]
)
def test_a_topic_that_kafka_would_refuse_is_left_out_and_named(name, tmp_path):
    """Its name becomes a path here, and in the broker that starts from what was written."""
    found = chosen([disk(tmp_path / "a", {"t-0": ONE})], image(("t", ONE, 1), (name, TWO, 1)))
    assert shape(found) == {"t": [True]}
    (sentence,) = found.sentences
    assert repr(name)[1:200].rstrip("'") in sentence
    assert "is left out" in sentence


def test_a_partition_below_zero_leaves_its_topic_out(tmp_path):
    metadata = image(("t", ONE, 1), ("u", TWO, 1))
    states = metadata.topics[TWO].partitions
    states[-1] = states[0]
    found = chosen([disk(tmp_path / "a", {"t-0": ONE})], metadata)
    assert shape(found) == {"t": [True]}
    assert any("its partition -1" in each for each in found.sentences)


def test_a_wild_number_of_the_metadata_is_not_blamed_on_a_directory(tmp_path):
    metadata = image(("t", ONE, 1))
    metadata.topics[ONE].partitions[2**31 - 1] = metadata.topics[ONE].partitions[0]
    with pytest.raises(CorruptData, match=r"partition 2147483647.*the metadata name it"):
        chosen([disk(tmp_path / "a", {"t-0": ONE})], metadata)


def test_topics_that_were_not_asked_for_are_named(tmp_path):
    found = chosen([disk(tmp_path / "a", {"t-0": ONE, "u-0": TWO})], image(("t", ONE, 1), ("u", TWO, 1)), wanted=["t"])
    assert found.sentences == ["topics that --topics does not name are left out: 'u'"]


@pytest.mark.parametrize("topic_id", ["AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAQ"])
def test_an_id_that_no_topic_has_leaves_the_topic_out(topic_id, tmp_path):
    """A broker would end at it."""
    found = chosen([disk(tmp_path / "a", {"t-0": ONE})], image(("t", ONE, 1), ("u", topic_id, 1)))
    assert shape(found) == {"t": [True]}
    assert any("'u' is left out" in each for each in found.sentences)
