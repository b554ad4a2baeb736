"""Groups whose records no test broker writes: streams groups that wait, values of unknown versions."""

import errno
import json
import os

import pytest

from kafkafs.log.read_options import ReadOptions, TierSource
from kafkafs.view.tree import Root
from tests.cluster.reading import lines, names, read
from tests.cluster.writing import Data, commit, metadata, pair, transaction
from tests.kafka import tiered
from tests.mounting import run

OFFSETS, TRANSACTIONS = "__consumer_offsets-0", "__transaction_state-0"
KEY = {"groupId": "s"}
MEMBER = KEY | {"memberId": "m"}
TOPOLOGY = {
    "epoch": 2,
    "subtopologies": [{"subtopologyId": "0", "sourceTopics": ["a", "b"]}],
}
CONFIGS = [{"key": "num.standby.replicas", "value": "0"}]
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
    reported = group(data)
    assert (reported["type"], reported["state"], reported["protocolType"], reported["generation"]) == (
        "streams",
        "Stable",
        "streams",
        3,
    )
    (member,) = reported["members"]
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


@pytest.mark.parametrize(
    ("tasks", "state"), [([{"subtopologyId": "0", "partitions": [0]}], "Stable"), ([], "NotReady")]
)
def test_a_streams_group_of_41_is_ready_where_there_is_something_to_do(data, tasks, state):
    """That release wrote nothing of whether it had found the topics; without them nobody got a task."""
    target = pair("StreamsGroupTargetAssignmentMember", MEMBER, {"activeTasks": tasks})
    data.write(OFFSETS, [*STREAMS, pair("StreamsGroupMetadata", KEY, {"epoch": 3}), target])
    assert group(data)["state"] == state
    data.write(OFFSETS, [pair("StreamsGroupMetadata", KEY, {"epoch": 3, "lastAssignmentConfigs": CONFIGS})])
    assert group(data)["state"] == "NotReady"


def test_of_a_value_of_an_unknown_version_only_the_group_is_known(data):
    """An older kafkafs beside newer data: what it cannot read it must not guess."""
    key, _ = pair("GroupMetadata", {"group": "s"}, {"protocolType": "consumer"})
    data.write(OFFSETS, [(key, b"\0\x09"), commit("s", "t", 0, 5), commit("other", "t", 0, 5)])
    reported = group(data)
    assert (reported["type"], reported["state"], reported["members"]) == ("classic", None, None)
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
        " records after it",
        f"{topic}: offset 1: {no_record} (Found an unknown record version 77 for {number} type), and so are 1,999"
        " records after it",
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


def test_a_member_has_what_it_is_to_give_back_until_it_has_done_so(data):
    """As `kafka-consumer-groups.sh --describe` tells it: nobody else may read those partitions yet."""
    ids = ["A" * 21 + "Q", "A" * 21 + "g"]
    data.write("__cluster_metadata-0", [metadata("TopicRecord", name=name, topicId=each)
                                        for name, each in zip("tu", ids, strict=True)])  # fmt: skip
    now = {
        "memberEpoch": 2,
        "state": 1,
        "assignedPartitions": [{"topicId": ids[0], "partitions": [3]}],
        "partitionsPendingRevocation": [{"topicId": topic_id, "partitions": [1]} for topic_id in ids],
    }
    data.write(
        OFFSETS,
        [
            pair("ConsumerGroupMetadata", KEY, {"epoch": 3}),
            pair("ConsumerGroupMemberMetadata", MEMBER, {"clientId": "c", "clientHost": "/h"}),
            pair("ConsumerGroupCurrentMemberAssignment", MEMBER, now),
        ],
    )
    (member,) = group(data)["members"]
    assert member["assignment"] == [{"topic": "t", "partitions": [1, 3]}, {"topic": "u", "partitions": [1]}]


def test_what_a_member_has_of_a_topic_that_was_made_again_is_not_reported_as_of_the_new_one(data):
    """Seen on a broker: two members had `again-1`, one of them by the id that the topic had before."""
    now, before = "A" * 21 + "Q", "A" * 21 + "g"
    data.write("__cluster_metadata-0", [metadata("TopicRecord", name="t", topicId=now)])
    former = data.path / f"t-1.{'0' * 32}-delete"
    former.mkdir()
    (former / "partition.metadata").write_text(f"version: 0\ntopic_id: {before}\n")
    has = [{"topicId": now, "partitions": [0]}, {"topicId": before, "partitions": [1]}]
    data.write(
        OFFSETS,
        [
            pair("ConsumerGroupMetadata", KEY, {"epoch": 3}),
            pair("ConsumerGroupMemberMetadata", MEMBER, {"clientId": "c", "clientHost": "/h"}),
            pair("ConsumerGroupCurrentMemberAssignment", MEMBER, {"memberEpoch": 2, "assignedPartitions": has}),
        ],
    )
    (member,) = group(data)["members"]
    assert member["assignment"] == [{"topic": "t", "partitions": [0]}, {"topic": None, "partitions": [1]}]


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
    reported = group(data)
    assert (reported["type"], reported["generation"], reported["state"]) == (kind, generation, "Empty")
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
    reported = group(data)
    assert (reported["state"], reported["generation"], len(reported["members"])) == (state, epoch, len(members))


def test_a_share_group_that_nobody_has_joined_is_of_its_first_epoch(data):
    """`kafka-share-groups.sh --reset-offsets` makes one of a single record, and Kafka tells 1 of it."""
    topic = {"topicId": "A" * 21 + "Q", "topicName": "t", "partitions": [0]}
    data.write(OFFSETS, [pair("ShareGroupStatePartitionMetadata", KEY, {"initializedTopics": [topic]})])
    reported = group(data)
    assert (reported["type"], reported["state"], reported["generation"], reported["members"]) == (
        "share",
        "Empty",
        1,
        [],
    )


def test_a_group_whose_epoch_cannot_be_read_has_none(data):
    key, _ = pair("ShareGroupMetadata", KEY, {"epoch": 5})
    data.write(OFFSETS, [(key, b"\0\x09")])
    reported = group(data)
    assert (reported["type"], reported["state"], reported["generation"]) == ("share", None, None)


def test_the_protocol_of_a_newer_group_is_the_assignor_that_most_members_name(data):
    data.write(OFFSETS, [pair("ConsumerGroupMetadata", KEY, {"epoch": 1})])
    assert group(data)["protocol"] is None
    for number, name in enumerate(["uniform", "range", "range", None]):
        member = {"clientId": "c", "clientHost": "/h", "serverAssignor": name}
        data.write(OFFSETS, [pair("ConsumerGroupMemberMetadata", KEY | {"memberId": f"m{number}"}, member)])
    assert group(data)["protocol"] == "range"


@pytest.mark.parametrize(
    ("names", "protocol"),
    [(["range", "uniform"], "uniform"), (["uniform", "range"], "uniform"), (["uniform", "sticky"], "uniform")],
)
def test_of_assignors_that_as_many_members_name_the_protocol_is_the_one_that_kafka_takes(data, names, protocol):
    """Which one was found by its own ConsumerGroup; a rolling change of the assignor comes by there."""
    data.write(OFFSETS, [pair("ConsumerGroupMetadata", KEY, {"epoch": 1})])
    for number, name in enumerate(names):
        member = {"clientId": "c", "clientHost": "/h", "serverAssignor": name}
        data.write(OFFSETS, [pair("ConsumerGroupMemberMetadata", KEY | {"memberId": f"m{number}"}, member)])
    assert group(data)["protocol"] == protocol


OFFSETS = "__consumer_offsets-0"
START, HIGH, END = 3, 9, 10
"""Where the partition t-0 begins, up to where it is replicated, and where it ends."""


@pytest.fixture
def data_of_offsets(tmp_path):
    data_of_offsets = Data(tmp_path / "data")
    data_of_offsets.write("t-0", [(None, b"%d" % number) for number in range(END)])
    data_of_offsets.write("unchecked-0", [(None, b"x")])
    (data_of_offsets.path / "log-start-offset-checkpoint").write_text(f"0\n1\nt 0 {START}\n")
    (data_of_offsets.path / "replication-offset-checkpoint").write_text(f"0\n1\nt 0 {HIGH}\n")
    return data_of_offsets


def reported(data_of_offsets, group="g"):
    return lines(Root([data_of_offsets.path], ReadOptions()), f"groups/{group}/offsets.jsonl")


@pytest.mark.parametrize(("offset", "lag"), [(5, 4), (HIGH, 0), (END, -1), (50, -41), (0, 9), (-1, None)])
def test_lag_is_what_kafkas_tool_calls_so(data_of_offsets, offset, lag):
    """High watermark less committed offset, whatever is left of the log; none of what a client says it has not."""
    data_of_offsets.write(OFFSETS, [commit("g", "t", 0, offset)])
    (row,) = reported(data_of_offsets)
    ends = (row["logStartOffset"], row["highWatermark"], row["logEndOffset"])
    assert (row["offset"], *ends, row["lag"]) == (offset, START, HIGH, END, lag)


def test_no_lag_is_reported_of_what_is_pending_or_not_here(data_of_offsets):
    data_of_offsets.write(
        OFFSETS, [commit("g", "elsewhere", 0, 5), commit("g", "t", 7, 5), commit("g", "unchecked", 0, 0)]
    )
    data_of_offsets.write(OFFSETS, [commit("g", "t", 0, 5)], producer_id=7)
    rows = {f"{row['topic']}-{row['partition']}": row for row in reported(data_of_offsets)}
    assert {name: row["lag"] for name, row in rows.items()} == dict.fromkeys(rows)
    assert {name: (row["logStartOffset"], row["highWatermark"], row["logEndOffset"]) for name, row in rows.items()} == {
        "elsewhere-0": (None, None, None),
        "t-7": (None, None, None),
        "unchecked-0": (0, None, 1),
        "t-0": (START, HIGH, END),
    }


def test_what_kafka_writes_as_minus_one_is_null(data_of_offsets):
    key = {"group": "g", "topic": "t", "partition": 0}
    data_of_offsets.write(
        OFFSETS, [pair("OffsetCommit", key, {"offset": 5, "leaderEpoch": -1, "commitTimestamp": -1}, 3)]
    )
    (row,) = reported(data_of_offsets)
    assert [row[field] for field in ("topicId", "leaderEpoch", "commitTimestamp", "expireTimestamp")] == [None] * 4
    data_of_offsets.write(
        OFFSETS, [pair("OffsetCommit", key, {"offset": 5, "commitTimestamp": 8, "expireTimestamp": 9}, 1)]
    )
    (row,) = reported(data_of_offsets)
    assert (row["commitTimestamp"], row["expireTimestamp"]) == (8, 9)


def test_offsets_stand_in_the_order_of_topics_and_numbers_of_partitions(data_of_offsets):
    places = [("b", 0), ("a", 10), ("a", 9), ("é", 1), ("B", 2)]
    data_of_offsets.write(OFFSETS, [commit("g", *place, 1) for place in places])
    assert [(row["topic"], row["partition"]) for row in reported(data_of_offsets)] == sorted(places)


def test_who_walks_with_sizes_comes_to_the_end(place):
    """Regression: a link that led nowhere ended `os.walk` with `os.path.getsize`, in each group without lag."""
    for directory, _, files in os.walk(place):
        for name in files:
            os.path.getsize(os.path.join(directory, name))


def test_only_offsets_in_effect_of_partitions_that_are_here_have_links(data_of_offsets):
    data_of_offsets.write(
        OFFSETS, [commit("g", "elsewhere", 0, 5), commit("g", "unchecked", 0, -1), commit("g", "t", 0, 5)]
    )
    data_of_offsets.write(OFFSETS, [commit("g", "unchecked", 0, 1)], producer_id=7)
    root = Root([data_of_offsets.path], ReadOptions())
    assert (names(root, "groups/g/next"), names(root, "groups/g/unread")) == (["t-0"], ["t-0.jsonl"])


@pytest.fixture(scope="module")
def place(mount_for_module, tmp_path_factory):
    """A mount of groups that have committed each of some offsets."""
    data_of_offsets = Data(tmp_path_factory.mktemp("links") / "data")
    data_of_offsets.write("t-0", [(None, b"%d" % number) for number in range(END)])
    (data_of_offsets.path / "log-start-offset-checkpoint").write_text(f"0\n1\nt 0 {START}\n")
    data_of_offsets.write(OFFSETS, [commit(f"at-{offset}", "t", 0, offset) for offset in (0, 2, START, 5, END, 50)])
    return mount_for_module(data_of_offsets.path) / ".cluster/groups"


@pytest.mark.parametrize(("offset", "unread"), [(0, 7), (2, 7), (START, 7), (5, 5), (END, 0), (50, 0)])
def test_unread_is_clamped_to_what_is_there(place, offset, unread):
    path = place / f"at-{offset}/unread/t-0.jsonl"
    assert len(run("cat", path).stdout.splitlines()) == unread
    assert os.readlink(path) == f"../../../../t-0/by-offset/{offset}...jsonl"


@pytest.mark.parametrize(("offset", "is_there"), [(2, False), (START, True), (5, True), (END, False), (50, False)])
def test_next_leads_nowhere_below_the_log_start_and_at_the_log_end(place, offset, is_there):
    path = place / f"at-{offset}/next/t-0"
    assert os.readlink(path) == f"../../../../t-0/by-offset/{offset}"
    assert is_there is ("t-0" in os.listdir(path.parent))
    if is_there:
        assert path.read_bytes()
    else:
        with pytest.raises(OSError) as raised:
            path.open()
        assert raised.value.errno == errno.ENOENT


def test_of_a_log_that_begins_in_a_tier_the_start_is_that_of_the_log():
    """As `kafka-get-offsets.sh --time -2` has it; what the group reads next can be read where the tier is."""
    made = tiered.Tiered()
    for source in (None, TierSource(str(made.tier))):
        root = Root([made.left], ReadOptions(tiered=source))
        (row,) = lines(root, f"groups/{tiered.GROUP}/offsets.jsonl")
        reported = {field: row[field] for field in ("offset", "logStartOffset", "logEndOffset", "lag")}
        assert reported == {"offset": tiered.COMMITTED, "logStartOffset": 0, "logEndOffset": tiered.RECORDS,
                        "lag": tiered.RECORDS - tiered.COMMITTED}  # fmt: skip
        assert names(root, f"groups/{tiered.GROUP}/next") == ([] if source is None else ["orders-0"])
        assert names(root, f"groups/{tiered.GROUP}/unread") == ["orders-0.jsonl"]
