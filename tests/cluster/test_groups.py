"""Groups whose records no test broker writes: streams groups that wait, values of unknown versions."""

import json

import pytest

from kafkafs.log.options import ReadOptions
from kafkafs.view.tree import Root
from tests.cluster.reading import lines, read
from tests.cluster.writing import Data, commit, pair, transaction

OFFSETS, TRANSACTIONS = "__consumer_offsets-0", "__transaction_state-0"
KEY = {"groupId": "s"}
MEMBER = KEY | {"memberId": "m"}
TOPOLOGY = {
    "epoch": 2,
    "subtopologies": [{"subtopologyId": "0", "sourceTopics": ["a", "b"]}],
}
STREAMS = [
    pair("StreamsGroupMetadata", KEY, {"epoch": 3, "validatedTopologyEpoch": 2}),
    pair("StreamsGroupTopology", KEY, TOPOLOGY),
    pair("StreamsGroupTargetAssignmentMetadata", KEY, {"assignmentEpoch": 3}),
    pair("StreamsGroupMemberMetadata", MEMBER, {"clientId": "c", "clientHost": "/h"}),
    pair(
        "StreamsGroupCurrentMemberAssignment",
        MEMBER,
        {"memberEpoch": 3, "state": 1, "activeTasks": [{"subtopologyId": "0", "partitions": [1, 0]}]},
    ),
]


@pytest.fixture
def data(tmp_path):
    return Data(tmp_path / "data")


def group(data, name="s"):
    return json.loads(read(Root([data.path], ReadOptions()), f"groups/{name}/group.json"))


def test_a_streams_group_tells_the_topics_that_its_tasks_read(data):
    data.write(OFFSETS, STREAMS)
    told = group(data)
    assert (told["type"], told["state"], told["protocolType"], told["generation"]) == (
        "streams",
        "Stable",
        "streams",
        3,
    )
    (member,) = told["members"]
    assert member["topics"] == ["a", "b"]
    assert member["assignment"] == [{"topic": "a", "partitions": [0, 1]}, {"topic": "b", "partitions": [0, 1]}]


@pytest.mark.parametrize(
    ("later", "state"),
    [
        (pair("StreamsGroupMetadata", KEY, {"epoch": 3}), "NotReady"),
        (pair("StreamsGroupTopology", KEY, None), "NotReady"),
        (pair("StreamsGroupMetadata", KEY, {"epoch": 4, "validatedTopologyEpoch": 2}), "Assigning"),
        (pair("StreamsGroupCurrentMemberAssignment", MEMBER, {"memberEpoch": 2, "state": 1}), "Reconciling"),
        (pair("StreamsGroupCurrentMemberAssignment", MEMBER, {"memberEpoch": 3, "state": 2}), "Reconciling"),
        (pair("StreamsGroupMemberMetadata", MEMBER, None), "Empty"),
    ],
    ids=["not validated", "without topology", "assigning", "behind", "giving back", "empty"],
)
def test_the_state_of_a_streams_group_follows_from_its_epochs(data, later, state):
    data.write(OFFSETS, [*STREAMS, later])
    assert group(data)["state"] == state


def test_of_a_value_of_an_unknown_version_only_the_group_is_known(data):
    """An older kafkafs beside newer data: what it cannot read it must not guess."""
    key, _ = pair("GroupMetadata", {"group": "s"}, {"protocolType": "consumer"})
    data.write(OFFSETS, [(key, b"\0\x09"), commit("s", "t", 0, 5), commit("other", "t", 0, 5)])
    told = group(data)
    assert (told["type"], told["state"], told["members"]) == ("classic", None, None)
    root = Root([data.path], ReadOptions())
    assert [row["members"] for row in lines(root, "groups.jsonl")] == [0, None]
    assert [row["offset"] for row in lines(root, "groups/s/offsets.jsonl")] == [5]
    problems = json.loads(read(root, "state.json"))["problems"]
    assert [each for each in problems if "unknown record version 9" in each]


@pytest.mark.parametrize("topic", [OFFSETS, TRANSACTIONS])
def test_thousands_of_values_of_which_the_same_is_wrong_are_one_sentence(data, topic):
    """Regression: 15,000 of a coordinator of transactions were as many sentences, and ended with `due to: null`."""
    made = [commit(f"{at}", "t", 0, 5) if topic == OFFSETS else transaction(f"{at}") for at in range(3000)]
    data.write(topic, [(key, b"\0\x4d" if at % 3 else b"\0\1\0") for at, (key, _) in enumerate(made)])
    problems = json.loads(read(Root([data.path], ReadOptions()), "state.json"))["problems"]
    number = 1 if topic == OFFSETS else 0
    no_record = f"it is no record of type {number}"
    assert [each for each in problems if each.startswith(f"{topic}:")] == [
        f"{topic}: offset 0: {no_record} (Could not read record with version 1 from value's buffer), and so are 999"
        " records behind it",
        f"{topic}: offset 1: {no_record} (Found an unknown record version 77 for {number} type), and so are 1,999"
        " records behind it",
    ]


def test_a_member_that_subscribed_to_a_pattern_has_the_topics_that_the_coordinator_found(data):
    member = {"clientId": "c", "clientHost": "/h", "subscribedTopicNames": ["one"], "subscribedTopicRegex": "al.*"}
    data.write(
        OFFSETS,
        [
            pair("ConsumerGroupMetadata", KEY, {"epoch": 1}),
            pair("ConsumerGroupRegularExpression", KEY | {"regularExpression": "al.*"}, {"topics": ["alps", "alpha"]}),
            pair("ConsumerGroupRegularExpression", KEY | {"regularExpression": "be.*"}, {"topics": ["beta"]}),
            pair("ConsumerGroupMemberMetadata", MEMBER, member),
        ],
    )
    assert [each["topics"] for each in group(data)["members"]] == [["alpha", "alps", "one"]]


CLASSIC = pair("GroupMetadata", {"group": "s"}, {"protocolType": "consumer", "generation": 7}, 3)
CONSUMER = pair("ConsumerGroupMetadata", KEY, {"epoch": 8})


def without(record):
    return record[0], None


@pytest.mark.parametrize(
    ("records", "kind", "generation"),
    [
        ([CLASSIC, without(CLASSIC), CONSUMER], "consumer", 8),
        ([CONSUMER, without(CONSUMER), CLASSIC], "classic", 7),
        ([CLASSIC, CONSUMER], "consumer", 8),
        ([CONSUMER, CLASSIC], "classic", 7),
    ],
    ids=["moved up", "moved down", "up without its end", "down without its end"],
)
def test_a_group_that_was_moved_between_protocols_is_of_the_last_one(data, records, kind, generation):
    data.write(OFFSETS, [commit("s", "t", 0, 5), *records])
    told = group(data)
    assert (told["type"], told["generation"], told["state"]) == (kind, generation, "Empty")
    (row,) = lines(Root([data.path], ReadOptions()), "groups/s/offsets.jsonl")
    assert row["offset"] == 5


@pytest.mark.parametrize(
    ("epoch", "target", "members", "state"),
    [
        (3, 3, [(3, 0)], "Stable"),
        (4, 3, [(3, 0)], "Assigning"),
        (3, 3, [(3, 0), (2, 0)], "Reconciling"),
        (3, 3, [(3, 1)], "Reconciling"),
        (3, 3, [], "Empty"),
    ],
)
def test_the_state_of_a_consumer_group_follows_from_its_epochs(data, epoch, target, members, state):
    data.write(
        OFFSETS,
        [
            pair("ConsumerGroupMetadata", KEY, {"epoch": epoch}),
            pair("ConsumerGroupTargetAssignmentMetadata", KEY, {"assignmentEpoch": target}),
        ],
    )
    for number, (member_epoch, member_state) in enumerate(members):
        key = {"groupId": "s", "memberId": f"m{number}"}
        now = {"memberEpoch": member_epoch, "state": member_state}
        data.write(
            OFFSETS,
            [
                pair("ConsumerGroupMemberMetadata", key, {"clientId": "c", "clientHost": "/h"}),
                pair("ConsumerGroupCurrentMemberAssignment", key, now),
            ],
        )
    told = group(data)
    assert (told["state"], told["generation"], len(told["members"])) == (state, epoch, len(members))


def test_the_protocol_of_a_newer_group_is_the_assignor_that_most_members_name(data):
    data.write(OFFSETS, [pair("ConsumerGroupMetadata", KEY, {"epoch": 1})])
    assert group(data)["protocol"] is None
    for number, name in enumerate(["uniform", "range", "range", None]):
        member = {"clientId": "c", "clientHost": "/h", "serverAssignor": name}
        data.write(OFFSETS, [pair("ConsumerGroupMemberMetadata", KEY | {"memberId": f"m{number}"}, member)])
    assert group(data)["protocol"] == "range"
