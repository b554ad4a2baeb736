"""Groups where they do not belong, since `__consumer_offsets` was enlarged, and coordinators on other disks."""

import json
import shutil

import pytest

from kafkafs.cluster.coordinators import partition_for
from kafkafs.log.read_options import ReadOptions
from kafkafs.view.tree import Root
from tests.cluster.reading import lines, names, read
from tests.cluster.writing import Data, commit, metadata, pair
from tests.kafka.clusters import Cluster

TOPIC_ID = "A" * 21 + "Q"
OWN, FOREIGN = 1, 0
MOVED = "a"
"""A group that belongs to partition 1 of two."""


@pytest.fixture
def data(tmp_path):
    """What is left when a topic of one partition has got a second one: `MOVED` has committed before and after."""
    data = Data(tmp_path / "data")
    data.write(
        "__cluster_metadata-0",
        [
            metadata("TopicRecord", name="__consumer_offsets", topicId=TOPIC_ID),
            *(metadata("PartitionRecord", 1, topicId=TOPIC_ID, partitionId=number) for number in range(2)),
        ],
    )
    assert partition_for(MOVED.encode(), 2) == OWN
    member = {"memberId": "m", "clientId": "c", "clientHost": "/h", "subscription": b"", "assignment": b""}
    classic = {"protocolType": "consumer", "generation": 3, "members": [member]}
    data.write(f"__consumer_offsets-{FOREIGN}", [commit(MOVED, "t", 0, 5), commit("stranded", "t", 0, 7)])
    data.write(f"__consumer_offsets-{FOREIGN}", [pair("GroupMetadata", {"group": MOVED}, classic, 3)])
    data.write(f"__consumer_offsets-{OWN}", [commit(MOVED, "t", 0, 6)])
    return data


def test_a_group_found_twice_has_two_lines_and_the_directory_of_its_own_partition(data):
    """Its leftovers are not merged: no request reaches them any more."""
    root = Root([data.path], ReadOptions())
    rows = [row for row in lines(root, "groups.jsonl") if row["group"] == MOVED]
    assert [(row["coordinatorPartition"], row["stale"], row["state"]) for row in rows] == [
        (OWN, False, "Empty"),
        (FOREIGN, True, "Stable"),
    ]
    assert names(root, "groups").count(MOVED) == 1
    group = json.loads(read(root, f"groups/{MOVED}/group.json"))
    assert (group["coordinatorPartition"], group["stale"], group["members"]) == (OWN, False, [])
    assert [row["offset"] for row in lines(root, f"groups/{MOVED}/offsets.jsonl")] == [6]


def test_a_group_that_was_left_behind_is_shown_as_stale(data):
    assert partition_for(b"stranded", 2) == OWN
    root = Root([data.path], ReadOptions())
    group = json.loads(read(root, "groups/stranded/group.json"))
    assert (group["coordinatorPartition"], group["stale"]) == (FOREIGN, True)
    assert [row["offset"] for row in lines(root, "groups/stranded/offsets.jsonl")] == [7]


def test_where_its_own_partition_is_on_other_disks_a_group_is_reported_as_stale_and_the_partition_as_missing(data):
    shutil.rmtree(data.path / f"__consumer_offsets-{OWN}")
    root = Root([data.path], ReadOptions())
    assert {row["group"]: row["stale"] for row in lines(root, "groups.jsonl")} == {MOVED: True, "stranded": True}
    state = json.loads(read(root, "state.json"))
    assert state["groups"] == {"partitions": [FOREIGN], "of": 2}
    assert f"of __consumer_offsets partition {OWN} of 2 is not on these disks" in state["problems"]


@pytest.mark.parametrize("state", ["killed", "stopped"])
def test_what_a_real_brokers_missing_partition_knew_is_missing_and_said_so(tmp_path, state):
    """The other partitions tell what they told before."""
    cluster = Cluster("4.3.1", state)
    data = cluster.copy_to(tmp_path / "data")
    whole = lines(Root([data], ReadOptions()), "groups.jsonl")
    missing = whole[0]["coordinatorPartition"]
    shutil.rmtree(data / f"__consumer_offsets-{missing}")
    shutil.rmtree(data / "__transaction_state-2")
    root = Root([data], ReadOptions())
    assert lines(root, "groups.jsonl") == [row for row in whole if row["coordinatorPartition"] != missing]
    reported = json.loads(read(root, "state.json"))
    assert reported["groups"] == {"partitions": sorted({0, 1, 2, 3} - {missing}), "of": 4}
    assert reported["problems"] == [
        f"of __consumer_offsets partition {missing} of 4 is not on these disks",
        "of __transaction_state partition 2 of 4 is not on these disks",
    ]
    assert {row["hanging"] for row in lines(root, "open-transactions.jsonl")} == {None}
