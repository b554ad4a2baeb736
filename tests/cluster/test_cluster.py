"""A cluster of three real brokers, each killed at another time: what one of them knows, and all of them together."""

import json
from itertools import permutations

import pytest

from kafkafs.log.read_options import ReadOptions
from kafkafs.view.tree import Root
from tests.cluster.reading import lines, read
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


def test_of_all_metadata_logs_the_furthest_is_told_whatever_the_order(brokers):
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
    told = state(brokers[0])
    assert (told["groups"], told["transactions"]) == (None, None)
    assert "the cluster has no topic __consumer_offsets" in told["problems"]
