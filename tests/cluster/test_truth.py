"""What `.cluster/` says of clusters that real brokers left, against what AdminClient said just before the end.

What Kafka's own tools printed then is in test_tools.py.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kafkafs.log.read_options import ReadOptions
from kafkafs.view.tree import Root
from tests.cluster.reading import lines, names, read, scram_secrets, target
from tests.kafka.clusters import Cluster, every

PARTITION_LINES = ("partition", "leader", "replicas", "isr")
GROUP = (
    "group type state protocolType protocol generation leader members stateTimestamp coordinatorPartition stale path"
)
FIELDS = {
    "state.json": "clusterId nodeId metadata groups transactions problems",
    "groups.jsonl": GROUP,
    "group.json": GROUP,
    "offsets.jsonl": "group topic topicId partition offset leaderEpoch metadata commitTimestamp expireTimestamp pending"
    " producerId logStartOffset highWatermark logEndOffset lag nextTimestamp lagMs",
    "history.jsonl": "logOffset timestamp event topic partition offset metadata commitTimestamp change logEndThen"
    " lagThen transaction state generation members",
    "transactions.jsonl": "transactionalId producerId producerEpoch state timeoutMs startTimestamp lastUpdateTimestamp"
    " partitions coordinatorPartition",
    "open-transactions.jsonl": "topic partition producerId producerEpoch coordinatorEpoch firstOffset lastTimestamp"
    " transactionalId hanging",
    "producers.jsonl": "topic partition producerId producerEpoch coordinatorEpoch lastSequence lastTimestamp"
    " currentTransactionStartOffset transactionalId",
    "topics.jsonl": "topic topicId partitions replicationFactor internal configs",
    "partitions.jsonl": "topic partition leader leaderEpoch partitionEpoch replicas isr addingReplicas removingReplicas"
    " eligibleLeaderReplicas lastKnownElr directories here",
    "configs.jsonl": "type name key value redacted",
    "brokers.jsonl": "id rack fenced inControlledShutdown endpoints incarnationId logDirs epoch",
    "acls.jsonl": "resourceType resourceName patternType principal host operation permission",
    "quotas.jsonl": "entity key value",
    "users.jsonl": "user mechanism iterations",
    "features.jsonl": "feature level",
}
"""The lines' fields in their order, as the contract has them."""
INSIDE = {
    ("state.json", "metadata"): "asOfOffset asOfTimestamp epoch snapshot",
    ("state.json", "groups"): "partitions of",
    ("state.json", "transactions"): "partitions of",
    ("group.json", "members"): "memberId groupInstanceId clientId clientHost topics assignment memberEpoch",
    ("transactions.jsonl", "partitions"): "topic partition",
    ("brokers.jsonl", "endpoints"): "name host port securityProtocol",
}


@pytest.fixture(scope="module", params=every(), ids=str)
def cluster(request: pytest.FixtureRequest) -> Cluster:
    found: Cluster = request.param
    return found


@pytest.fixture(scope="module")
def root(cluster: Cluster) -> Root:
    return Root([cluster.path], ReadOptions())


def is_kraft(cluster: Cluster) -> bool:
    return not cluster.release.startswith("2.")


def group_files(root: Root) -> dict[str, Any]:
    """`group.json` of all groups, by the group's name; what has no directory is told by `groups.jsonl` alone."""
    reported = {}
    for row in lines(root, "groups.jsonl"):
        reported[row["group"]] = row if row["path"] is None else json.loads(read(root, f"{row['path']}/group.json"))
    return reported


def test_all_groups_are_reported_with_their_members(root, cluster):
    """Who was in the group is what nobody can ask any more."""
    reported = group_files(root)
    expected = {each["group"]: each for each in cluster.truth["groups"]}
    assert set(reported) == set(expected)
    for name, group in expected.items():
        row = reported[name]
        assert (row["type"], row["state"]) == (
            group["type"] if group["type"] != "unknown" else row["type"],
            group["state"],
        )
        assert row["stale"] is (False if is_kraft(cluster) else None)
        if row["path"] is None:
            continue
        members = [
            {
                "memberId": each["memberId"],
                "groupInstanceId": each["groupInstanceId"],
                "clientId": each["clientId"],
                "clientHost": each["clientHost"],
                "assignment": sorted(f"{one['topic']}-{n}" for one in each["assignment"] for n in one["partitions"]),
                "memberEpoch": each["memberEpoch"],
            }
            for each in row["members"]
        ]
        assert members == sorted(group["members"], key=lambda each: each["memberId"])
        if group["members"] and group["type"] != "share":
            assert row["protocol"] == group["protocol"]


def test_all_committed_offsets_are_reported_with_their_lag(root, cluster):
    """How far a group had read: after an incident the first question."""
    ends = cluster.truth["ends"]
    reported = {}
    for row in lines(root, "groups.jsonl"):
        if row["path"] is not None:
            for offset in lines(root, f"{row['path']}/offsets.jsonl"):
                if not offset["pending"]:
                    reported[row["group"], f"{offset['topic']}-{offset['partition']}"] = offset
    expected = {
        (each["group"], each["partition"]): each for each in cluster.truth["offsets"] if len(each["group"]) < 240
    }
    assert set(reported) == set(expected)
    for place, each in expected.items():
        row = reported[place]
        assert (row["offset"], row["metadata"], row["leaderEpoch"]) == (
            each["offset"],
            each["metadata"],
            each["leaderEpoch"],
        )
        if cluster.state == "killed" or not is_kraft(cluster):
            assert (row["highWatermark"], row["lag"]) == (ends[place[1]], ends[place[1]] - each["offset"])


def test_a_pending_offset_is_reported_beside_the_one_in_effect(root):
    """A transaction that stays open keeps its offsets from taking effect; nobody should believe them."""
    rows = lines(root, "groups/moved/offsets.jsonl")
    assert [(each["offset"], each["pending"], each["lag"]) for each in rows] == [(4, False, 4), (6, True, None)]
    assert [each["producerId"] is None for each in rows] == [True, False]


def test_the_links_of_a_group_lead_to_what_it_reads_next(root):
    assert names(root, "groups/classic/next") == ["shop-0", "shop-1", "shop-2", "stock-0"]
    assert target(root, "groups/classic/next/shop-2") == "../../../../shop-2/by-offset/7"
    assert target(root, "groups/classic/unread/shop-2.jsonl") == "../../../../shop-2/by-offset/7...jsonl"


def test_all_transactional_ids_are_reported(root, cluster):
    rows = {each["transactionalId"]: each for each in lines(root, "transactions.jsonl")}
    assert set(rows) == {"done", "undone", "open", "idle"}
    for each in cluster.truth.get("transactions", ()):
        row = rows[each["transactionalId"]]
        assert sorted(f"{one['topic']}-{one['partition']}" for one in row["partitions"]) == each["partitions"]
        same = ("producerId", "producerEpoch", "state", "timeoutMs")
        assert [row[field] for field in same] == [each[field] for field in same]
        if each["state"] == "Ongoing":
            assert row["startTimestamp"] == each["startTimestamp"]


def test_open_transactions_are_those_of_describe_producers(root, cluster):
    """What holds up readers; the offsets' topic has one as well, since offsets were sent within."""
    rows = lines(root, "open-transactions.jsonl")
    assert {row["topic"] for row in rows} == {"shop", "stock", "__consumer_offsets"}
    assert {(row["transactionalId"], row["hanging"]) for row in rows} == {("open", False)}
    reported = {f"{row['topic']}-{row['partition']}": row for row in rows}
    for each in cluster.truth.get("producers", ()):
        row = reported[each["partition"]]
        assert {field: row[field] for field in each if field != "partition"} == {
            field: value for field, value in each.items() if field != "partition"
        }


def test_a_zookeeper_brokers_metadata_is_absent_and_state_says_why(root, cluster):
    state = json.loads(read(root, "state.json"))
    assert state["clusterId"] == cluster.truth["clusterId"]
    assert state["nodeId"] == 1
    known = 4 if is_kraft(cluster) else None
    for source in ("groups", "transactions"):
        assert state[source] == {"partitions": [0, 1, 2, 3], "of": known}
    if is_kraft(cluster):
        assert state["problems"] == []
        assert state["metadata"]["asOfOffset"] > 0
    else:
        assert state["metadata"] is None
        assert [problem for problem in state["problems"] if "__cluster_metadata-0" in problem]
        assert not {"topics.jsonl", "configs.jsonl", "brokers.jsonl"} & set(names(root, ""))
        with pytest.raises(Exception, match="no source"):
            read(root, "topics.jsonl")


def kraft_only(cluster: Cluster) -> None:
    if not is_kraft(cluster):
        pytest.skip("its metadata is in ZooKeeper")


def test_topics_and_partitions_are_reported(root, cluster):
    kraft_only(cluster)
    topics = {each["topic"]: each for each in lines(root, "topics.jsonl")}
    partitions = lines(root, "partitions.jsonl")
    expected = {each["topic"]: each for each in cluster.truth["topics"]}
    assert set(topics) == set(expected)
    for name, each in expected.items():
        row = topics[name]
        assert (row["topicId"], row["internal"], row["partitions"]) == (
            each["topicId"],
            each["internal"],
            len(each["partitions"]),
        )
        assert row["replicationFactor"] == 1
        reported = [row for row in partitions if row["topic"] == name]
        assert [row["partition"] for row in reported] == list(range(len(each["partitions"])))
        for one, other in zip(reported, sorted(each["partitions"], key=lambda each: each["partition"]), strict=True):
            fields = PARTITION_LINES if cluster.state == "killed" else ("partition", "replicas")
            assert {field: one[field] for field in fields} == {field: other[field] for field in fields}
            assert one["here"]


def test_configs_are_reported_and_secrets_are_not(root, cluster):
    kraft_only(cluster)
    reported = {(each["type"], each["name"], each["key"]): each for each in lines(root, "configs.jsonl")}
    for each in cluster.truth["configs"]:
        place = each["type"].lower().replace("_", "-"), each["name"], each["key"]
        if place[0] == "topic" and place not in reported:
            continue  # of the broker's default
        row = reported[place]
        assert row["redacted"] == each["sensitive"], place
        if each["sensitive"]:
            assert row["value"] is None
        elif "bytes.per.second" not in each["key"]:
            assert row["value"] == each["value"]
    assert [key for key, row in reported.items() if row["redacted"]]
    topics = {each["topic"]: each["configs"] for each in lines(root, "topics.jsonl")}
    assert topics["shop"]["retention.ms"] == "604800000"


def test_rights_quotas_users_and_features_are_reported(root, cluster):
    kraft_only(cluster)
    truth = cluster.truth
    assert sorted(list(each.values()) for each in lines(root, "acls.jsonl")) == sorted(truth["acls"])
    quotas = [[each["entity"], each["key"], each["value"]] for each in lines(root, "quotas.jsonl")]
    assert sorted(quotas, key=str) == sorted(
        [[dict(sorted(entity.items())), key, value] for entity, key, value in truth["quotas"]], key=str
    )
    assert sorted(list(each.values()) for each in lines(root, "users.jsonl")) == sorted(truth["users"])
    features = {each["feature"]: each["level"] for each in lines(root, "features.jsonl")}
    assert features == {name: level for name, level in truth["features"].items() if name != "kraft.version"}


def test_brokers_are_reported(root, cluster):
    kraft_only(cluster)
    (row,) = lines(root, "brokers.jsonl")
    ((node, host, port, rack),) = cluster.truth["nodes"]
    assert (row["id"], row["rack"]) == (node, rack)
    assert {"name": "PLAINTEXT", "host": host, "port": port, "securityProtocol": "PLAINTEXT"} in row["endpoints"]


def test_every_line_has_its_fields_in_order_as_python_writes_them(root, cluster):
    seen = set()
    for path, text in every_file(root):
        name = path.rpartition("/")[2]
        for line in text.splitlines(keepends=True):
            row = json.loads(line)
            assert list(row) == FIELDS[name].split(), path
            assert json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" == line.decode()
            for (where, field), names_inside in INSIDE.items():
                found = row[field] if where == name else None
                for each in [found] if isinstance(found, dict) else found or []:
                    assert list(each) == names_inside.split()
            seen.add(name)
    assert seen == (set(FIELDS) if is_kraft(cluster) else {name for name in FIELDS if name in OF_COORDINATORS})


OF_COORDINATORS = (
    "state.json", "groups.jsonl", "group.json", "history.jsonl", "offsets.jsonl", "transactions.jsonl",
    "open-transactions.jsonl", "producers.jsonl",
)  # fmt: skip


def test_no_secret_comes_out(root, cluster):
    """SCRAM keys and passwords stand in the metadata in the clear."""
    secrets = [b"SECRET", *scram_secrets(cluster.path)]
    if is_kraft(cluster):
        assert len(secrets) == 1 + 2 * 3
    for path, text in every_file(root):
        for secret in secrets:
            assert secret not in text, path


def every_file(root: Root) -> Iterator[tuple[str, bytes]]:
    waiting = [""]
    while waiting:
        place = waiting.pop()
        for name in names(root, place):
            path = f"{place}/{name}".lstrip("/")
            if path.endswith((".json", ".jsonl")):
                yield path, read(root, path)
            elif not path.endswith(("/next", "/unread")):
                waiting.append(path)
