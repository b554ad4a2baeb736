"""Partitions that the metadata name and no disk here has, as topics and partitions tell of them."""

import json
import shutil
from typing import cast

import pytest

from kafkafs.errors import DiskError, NotFound
from kafkafs.view.node import FileNode
from tests.cluster.writing import Data, metadata
from tests.kafka import replicated
from tests.log.making import made, write_partition
from tests.mounting import wait_until
from tests.view.trees import cat, node, tree, tree_with_a_hanging_disk

ORDERS = "A" * 21 + "Q"


def topic(count):
    return [
        metadata("TopicRecord", name="orders", topicId=ORDERS),
        *(
            metadata("PartitionRecord", partitionId=number, topicId=ORDERS, replicas=[1], isr=[1], leader=1)
            for number in range(count)
        ),
    ]


@pytest.fixture
def data(tmp_path):
    """Two of three partitions of a topic, and one of a topic that the metadata do not know."""
    made_data = Data(tmp_path / "one")
    for name in ("orders-0", "orders-2", "other-0"):
        write_partition(made_data.path, {0: [made(0, [5])]}, name)
    return made_data


def reported(root, path):
    return json.loads(cat(root, path))


def test_a_topic_tells_what_is_missing(data):
    data.write("__cluster_metadata-0", topic(4))
    root = tree(data.path)
    about = reported(root, ".topics/orders/info.json")
    sentence = "of orders partitions 1, 3 of 4 are not on these disks"
    assert list(about.items()) == [
        ("topic", "orders"), ("topicId", ORDERS), ("partitions", [0, 1, 2, 3]), ("missing", [1, 3]),
        ("problems", [sentence]),
    ]  # fmt: skip
    assert (
        reported(root, "orders-0/info.json")["problems"]
        == reported(root, "orders-2/info.json")["problems"]
        == [sentence]
    )
    assert reported(root, "other-0/info.json")["problems"] == []
    assert reported(root, ".topics/other/info.json") == {
        "topic": "other", "topicId": None, "partitions": [0], "missing": [], "problems": [],
    }  # fmt: skip


def test_of_metadata_that_cannot_be_read_a_topic_tells(data):
    """Regression: nothing was missing, though nobody could know."""
    data.write("__cluster_metadata-0", topic(4))
    log = data.path / "__cluster_metadata-0/00000000000000000000.log"
    content = bytearray(log.read_bytes())
    content[70] ^= 1
    log.write_bytes(bytes(content))
    data.write("__cluster_metadata-0", topic(4)[:1])
    (problem,) = reported(tree(data.path), ".topics/orders/info.json")["problems"]
    assert "offsets 0 to 4 are missing" in problem
    assert "unknown if partitions are missing" in problem


def test_without_metadata_there_is_what_is_here(data):
    root = tree(data.path)
    about = reported(root, ".topics/orders/info.json")
    assert (about["partitions"], about["missing"], about["problems"]) == ([0, 2], [], [])
    assert reported(root, "orders-0/info.json")["problems"] == []


def test_it_follows_disks_and_metadata(data, tmp_path):
    data.write("__cluster_metadata-0", topic(3))
    root = tree(data.path, log_fresh_s=0.0, names_fresh_s=0.0)
    assert reported(root, ".topics/orders/info.json")["missing"] == [1]
    write_partition(data.path, {0: [made(0, [5])]}, "orders-1")
    assert reported(root, ".topics/orders/info.json")["missing"] == []
    assert reported(root, "orders-1/info.json")["problems"] == []
    data.write(
        "__cluster_metadata-0",
        [metadata("PartitionRecord", partitionId=3, topicId=ORDERS, replicas=[1], isr=[1], leader=1)],
    )
    assert reported(root, ".topics/orders/info.json")["missing"] == [3]
    for number in range(3):
        shutil.rmtree(data.path / f"orders-{number}")
    wait_until(lambda: "orders" not in [entry.name for entry in node(root, ".topics").entries()])  # type: ignore[union-attr]
    with pytest.raises(NotFound):
        cat(root, ".topics/orders/info.json")


def test_of_several_brokers_one_may_have_it():
    paths = replicated.directories()
    root, alone = tree(*paths), tree(paths[0])
    for name in {entry.name for entry in root.entries() if not entry.name.startswith(".")}:
        found = reported(root, f".topics/{name.rpartition('-')[0]}/info.json")
        assert (found["missing"], found["problems"]) == ([], []), name
        assert not [said for said in reported(root, f"{name}/info.json")["problems"] if "not on these disks" in said]
    assert reported(alone, ".topics/plain/info.json")["missing"] == []


def test_a_disk_that_hangs_is_not_waited_for(data, tmp_path):
    data.write("__cluster_metadata-0", topic(3))
    write_partition(tmp_path / "two", {0: [made(0, [5])]}, "orders-1")
    root = tree_with_a_hanging_disk(data.path, tmp_path / "two")
    assert "a disk does not answer" in str(reported(root, "orders-0/info.json")["problems"])
    with pytest.raises(DiskError, match="a disk does not answer"):
        cat(root, ".topics/orders/info.json")


def test_who_may_not_read_the_metadata_may_not_read_what_they_tell(data):
    data.write("__cluster_metadata-0", topic(3))
    for log in (data.path / "__cluster_metadata-0").iterdir():
        log.chmod(0o640)
    root = tree(data.path)
    modes = {
        path: cast(FileNode, node(root, path)).attributes().mode
        for path in (".topics/orders/info.json", "orders-0/info.json", "other-0/info.json")
    }
    above = root.attributes().mode  # what the directories above the data grant
    assert modes == {
        ".topics/orders/info.json": above & 0o440, "orders-0/info.json": 0o440, "other-0/info.json": 0o444,
    }  # fmt: skip
