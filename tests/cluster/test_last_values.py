"""What is left of a coordinator's partition, where the order of its records matters. Source: OffsetMetadataManager."""

import json

import pytest

from kafkafs.log.options import ReadOptions
from kafkafs.view.tree import Root
from tests.cluster.reading import lines, read
from tests.cluster.writing import Data, commit, marker, pair

OFFSETS = "__consumer_offsets-0"
PRODUCER = 7


@pytest.fixture
def data(tmp_path):
    return Data(tmp_path / "data")


def told(data):
    """(offset, pending) of all lines, by group."""
    root = Root([data.path], ReadOptions())
    return {
        row["group"]: [(each["offset"], each["pending"]) for each in lines(root, f"{row['path']}/offsets.jsonl")]
        for row in lines(root, "groups.jsonl")
    }


def test_a_tombstone_takes_pending_offsets_along(data):
    data.write(OFFSETS, [commit("g", "t", 0, 5)], producer_id=PRODUCER)
    data.write(OFFSETS, [commit("g", "t", 0, None)])
    assert told(data) == {"g": []}


def test_a_tombstone_counts_where_a_commit_follows_it_at_once(data):
    """Both are read in one go: only of equals may the last one stand for all."""
    data.write(OFFSETS, [commit("g", "t", 0, 5)], producer_id=PRODUCER)
    data.write(OFFSETS, [commit("g", "t", 0, None), commit("g", "t", 0, 6)])
    assert told(data) == {"g": [(6, False)]}


def test_a_marker_applies_only_what_is_newer_than_the_commit_in_effect(data):
    data.write(OFFSETS, [commit("g", "t", 0, 5), commit("g", "t", 1, 5)], producer_id=PRODUCER)
    data.write(OFFSETS, [commit("g", "t", 0, 9)])
    data.write(OFFSETS, [marker()], producer_id=PRODUCER, is_control=True)
    assert told(data) == {"g": [(9, False), (5, False)]}


def test_a_group_whose_transaction_was_aborted_is_still_there(data):
    """Kafka 4.1 and later lists it until its tombstone, which it always writes."""
    data.write(OFFSETS, [commit("g", "t", 0, 5)], producer_id=PRODUCER)
    data.write(OFFSETS, [marker(commits=False)], producer_id=PRODUCER, is_control=True)
    assert told(data) == {"g": []}
    data.write(OFFSETS, [pair("GroupMetadata", {"group": "g"}, None)])
    assert told(data) == {}


def test_before_4_1_a_group_goes_with_its_last_offset(data):
    data.write(OFFSETS, [commit("g", "t", 0, 5, version=3)])
    data.write(OFFSETS, [commit("g", "t", 0, None)])
    assert told(data) == {}


def test_records_of_an_unknown_type_make_no_group(data):
    data.write(OFFSETS, [(b"\0\x63\0\1g", b"\0\0"), (b"\0\x09\0\1h", None), commit("known", "t", 0, 5)])
    assert told(data) == {"known": [(5, False)]}
    state = json.loads(read(Root([data.path], ReadOptions()), "state.json"))
    assert f"{OFFSETS}: keys of the unknown type 99: 1" in state["problems"]


COMMIT = commit("g", "t", 0, 5)[0] or b""
MEMBER = pair("ConsumerGroupMemberMetadata", {"groupId": "g", "memberId": "m"}, None)[0] or b""
CUT_KEYS = [COMMIT[:-1], COMMIT[:5], b"\0\1\0\1g\x7f\xfftopic\0\0\0\1", b"\0\0" + COMMIT[2:-4], MEMBER[:-2]]
"""Keys that begin with a group's name, and end before what has to follow it."""


@pytest.mark.parametrize("key", CUT_KEYS)
def test_a_record_whose_key_cannot_be_read_makes_no_group(data, key):
    """Regression: it made a group that was "Empty"; what stands for a name there may be anything."""
    value = commit("known", "t", 0, 5)[1]
    data.write(OFFSETS, [(key, value), commit("known", "t", 0, 5)])
    data.write(OFFSETS, [(key, value)], producer_id=PRODUCER)
    assert told(data) == {"known": [(5, False)]}
    state = json.loads(read(Root([data.path], ReadOptions()), "state.json"))
    assert f"{OFFSETS}: keys that cannot be read: 1" in state["problems"]
