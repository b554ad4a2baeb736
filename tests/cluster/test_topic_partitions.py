"""The topics by the metadata, against the partitions on the disks."""

import shutil

import pytest

from kafkafs.cluster.metadata import read_once
from kafkafs.cluster.topic_partitions import Places, TopicMetadata, compare_with, many, places_by_topic
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.read_options import ReadOptions
from tests.cluster.writing import Data, metadata, snapshot
from tests.counting import opened
from tests.kafka import replicated

ORDERS, FORMER, OTHER = "A" * 21 + "Q", "A" * 21 + "g", "A" * 21 + "w"
FEATURE = metadata("FeatureLevelRecord", name="metadata.version", featureLevel=20)


def topic(name, topic_id, count):
    return [
        metadata("TopicRecord", name=name, topicId=topic_id),
        *(
            metadata("PartitionRecord", partitionId=number, topicId=topic_id, replicas=[1], isr=[1], leader=1)
            for number in range(count)
        ),
    ]


@pytest.fixture
def one(tmp_path):
    data = Data(tmp_path / "one")
    data.write("orders-1", [(None, b"x")])
    belongs(data, "orders-1", ORDERS)
    return data


def belongs(data, directory, topic_id):
    (data.path / directory).mkdir(exist_ok=True)
    (data.path / directory / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")


def compared(*data):
    """As `compare_with` has it; `TopicMetadata` has the same of each topic."""
    return compared_in([open_data_directory(each.path) for each in data])


def compared_in(directories):
    metadata = TopicMetadata(directories, ReadOptions())
    image = None if metadata.source is None else read_once(metadata.source, ReadOptions()).image
    found, here = compare_with(image, directories), places_by_topic(directories)
    assert {topic: metadata.compare(topic, here.get(topic, [])) for topic in {*here, *metadata.topics()}} == found
    return found


def test_without_metadata_one_partition_tells_the_id_of_its_topic(one):
    """There is nothing to compare the others with."""
    for name in ("orders-0", "orders-2"):
        belongs(one, name, ORDERS)
    directory = open_data_directory(one.path)
    assert compare_with(None, [directory])["orders"] == ("orders", ORDERS, (0, 1, 2), (), {})
    assert opened(lambda: compare_with(None, [directory]))["partition.metadata"] == 1


def test_what_the_metadata_name_and_no_disk_has_is_missing(one):
    one.write("__cluster_metadata-0", topic("orders", ORDERS, 3) + topic("gone", OTHER, 1))
    found = compared(one)
    assert found["orders"][:4] == ("orders", ORDERS, (0, 1, 2), (0, 2))
    assert found["orders"].problems == ["of orders partitions 0, 2 of 3 are not on these disks"]
    assert found["gone"][:4] == ("gone", OTHER, (0,), (0,))
    assert found["gone"].problems == ["of gone partition 0 of 1 is not on these disks"]
    assert found["__cluster_metadata"].missing == ()


def test_without_metadata_nothing_is_missing(one):
    assert compared(one)["orders"] == ("orders", ORDERS, (1,), (), {})
    assert compared(one)["orders"].problems == []


def test_another_disk_may_have_it(one, tmp_path):
    one.write("__cluster_metadata-0", topic("orders", ORDERS, 3))
    two = Data(tmp_path / "two")
    (two.path / "meta.properties").write_text("version=1\nnode.id=2\ncluster.id=uBxTSvaETEx3i2U_wtBtcQ\n")
    two.write("orders-0", [(None, b"x")])  # without a partition.metadata: nothing says that it is another topic's
    two.write("orders-2-stray", [(None, b"x")])
    for order in (one, two), (two, one):
        assert compared(*order)["orders"][2:4] == ((0, 1, 2), (2,))


def test_directories_of_a_former_topic_of_the_name_do_not_count(one):
    one.write("__cluster_metadata-0", topic("orders", ORDERS, 2))
    belongs(one, "orders-0", FORMER)
    found = compared(one)["orders"]
    assert (found.missing, found.replaced) == ((0,), {0: FORMER})
    (said,) = found.problems
    assert "partition 0 here belong" in said
    assert FORMER in said
    assert ORDERS in said


def test_a_topic_that_was_deleted_has_what_is_here(one):
    removed = metadata("RemoveTopicRecord", topicId=ORDERS)
    one.write("__cluster_metadata-0", [*topic("orders", ORDERS, 3), removed])
    assert compared(one)["orders"][2:4] == ((1,), ())


def test_a_snapshot_tells_too(one):
    one.write_snapshot(50, snapshot(FEATURE, *topic("orders", ORDERS, 3)))
    one.write("__cluster_metadata-0", [metadata("NoOpRecord")], at=50)
    assert compared(one)["orders"].missing == (0, 2)


def test_metadata_that_cannot_be_understood_tell_nothing(one):
    one.write("__cluster_metadata-0", [(None, b"\x01\x7f\x00"), (None, None), (None, b"")])
    assert compared(one)["orders"][2:4] == ((1,), ())


def test_it_is_followed(one):
    one.write("__cluster_metadata-0", topic("orders", ORDERS, 1))
    clock = [0.0]
    directory = open_data_directory(one.path, ReadOptions(clock=lambda: clock[0]))
    known = TopicMetadata([directory], directory.options)
    here: Places = []
    assert known.compare("orders", here).missing == (0,)
    assert known.compare("orders", here) is known.compare("orders", here)
    one.write(
        "__cluster_metadata-0",
        [metadata("PartitionRecord", partitionId=1, topicId=ORDERS, replicas=[1], isr=[1], leader=1)],
    )
    clock[0] += 10
    assert known.compare("orders", here).missing == (0, 1)
    shutil.rmtree(one.path / "__cluster_metadata-0")
    clock[0] += 10
    assert known.compare("orders", here).missing == ()
    assert known.source is None
    assert known.topics() == []


def test_real_brokers_know_which_partition_of_theirs_is_on_another_disk():
    disks = [open_data_directory(path) for path in replicated.directories()]
    assert compared_in(disks[:1])["parted"].missing == (0,)
    together = compared_in(disks)
    assert [name for name, each in together.items() if each.missing] == []
    assert together["parted"].topic_id


def test_long_lists_are_cut():
    assert many([3]) == "partition 3"
    assert many(range(12)) == "partitions 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ..."
