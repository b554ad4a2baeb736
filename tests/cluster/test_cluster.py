"""A cluster of three real brokers, each killed at another time: what one of them knows, and all of them together."""

import json
from itertools import permutations

import pytest

from kafkafs.log.read_options import ReadOptions
from kafkafs.view.tree import Root
from tests.cluster.reading import lines, read, target
from tests.cluster.writing import Data, commit, metadata
from tests.kafka import replicated

LISTS = ("topics", "partitions", "configs", "brokers", "features")


@pytest.fixture(scope="module")
def brokers():
    return [Root([path], ReadOptions()) for path in replicated.directories()]


def state(root):
    return json.loads(read(root, "state.json"))


def test_one_directory_is_of_one_node_and_several_are_of_a_list(brokers):
    assert [state(root)["nodeId"] for root in brokers] == [1, 2, 3]
    first, second, third = replicated.directories()
    assert state(Root([third, first, second], ReadOptions()))["nodeId"] == [3, 1, 2]
    assert len({state(root)["clusterId"] for root in brokers}) == 1


def test_of_all_metadata_logs_the_furthest_is_reported_whatever_the_order(brokers):
    """Broker 1 was the last one: only it saw the others fall."""
    reached = [state(root)["metadata"]["asOfOffset"] for root in brokers]
    assert max(reached) == reached[0] > min(reached)
    expected = {name: lines(brokers[0], f"{name}.jsonl") for name in LISTS if name != "partitions"}
    for order in permutations(replicated.directories()):
        root = Root(order, ReadOptions())
        assert state(root)["metadata"]["asOfOffset"] == reached[0]
        assert {name: lines(root, f"{name}.jsonl") for name in expected} == expected


def test_brokers_that_fell_are_fenced_and_their_partitions_without_a_leader(brokers):
    fenced = {row["id"]: row["fenced"] for row in lines(brokers[0], "brokers.jsonl")}
    assert fenced == {1: False, 2: True, 3: True}
    (parted,) = [row for row in lines(brokers[0], "partitions.jsonl") if row["topic"] == "parted"]
    assert (parted["leader"], parted["isr"], parted["eligibleLeaderReplicas"]) == (-1, [], [3])


def test_partitions_are_here_where_any_directory_has_them(brokers):
    def here(root):
        return {row["topic"]: row["here"] for row in lines(root, "partitions.jsonl")}

    assert here(brokers[0]) == {"plain": True, "compacted": True, "parted": False}
    together = here(Root(replicated.directories(), ReadOptions()))
    assert together == {"plain": True, "compacted": True, "parted": True}


def test_a_cluster_without_groups_says_so(brokers):
    reported = state(brokers[0])
    assert (reported["groups"], reported["transactions"]) == (None, None)
    assert "the cluster has no topic __consumer_offsets" in reported["problems"]


IDS = {"old": "A" * 21 + "Q", "new": "A" * 21 + "g"}


def test_what_a_broker_has_of_a_topic_that_was_made_again_does_not_count(tmp_path):
    """Broker 2 was down meanwhile: of that name it has more, in a later epoch, of a topic that is gone."""
    one, two = Data(tmp_path / "one"), Data(tmp_path / "two")
    (two.path / "meta.properties").write_text("version=1\nnode.id=2\ncluster.id=uBxTSvaETEx3i2U_wtBtcQ\n")
    one.write("__cluster_metadata-0", [metadata("TopicRecord", name="t", topicId=IDS["new"])])
    one.write("__consumer_offsets-0", [commit("g", "t", 0, 5)])
    for data, which, count in ((one, "new", 9), (two, "old", 400)):
        data.write("t-0", [(None, b"x")] * count, producer_id=7)
        (data.path / "t-0/partition.metadata").write_text(f"version: 0\ntopic_id: {IDS[which]}\n")
        (data.path / "replication-offset-checkpoint").write_text(f"0\n1\nt 0 {count}\n")
    for order in ((one.path, two.path), (two.path, one.path)):
        root = Root(order, ReadOptions())
        (row,) = lines(root, "groups/g/offsets.jsonl")
        assert (row["highWatermark"], row["logEndOffset"], row["lag"]) == (9, 9, 4)
        own = f".replicas/{order.index(one.path) + 1}/t-0"  # the root shows the one that got further
        assert target(root, "groups/g/next/t-0") == f"../../../../{own}/by-offset/5"
        assert len(lines(root, "open-transactions.jsonl")) == 1
    (two.path / "t-0/partition.metadata").unlink()  # nothing tells whose it is
    assert [row["lag"] for row in lines(Root([one.path, two.path], ReadOptions()), "groups/g/offsets.jsonl")] == [395]
