"""What `.cluster/` says, against what Kafka's own commands printed just before the broker ended."""

import functools
import json
import re

import pytest

from kafkafs.log.read_options import ReadOptions
from kafkafs.view.tree import Root
from tests.cluster.reading import lines, read
from tests.kafka.clusters import every

KRAFT = [cluster for cluster in every() if not cluster.release.startswith("2.")]
OF_KRAFT = pytest.mark.parametrize("cluster", KRAFT, ids=str)
GROUPS = ("classic", "modern", "left", "modern-left", "simple", "moved", "streamed")
"""Those whose names are words in a table."""


@pytest.fixture(params=every(), ids=str)
def cluster(request):
    return request.param


@functools.cache
def root(cluster):
    return Root([cluster.path], ReadOptions())


def table(text):
    """The rows of tables with a line of headings, as dicts; a cell that is empty is left out of none."""
    heads, rows = [], []
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["GROUP"]:
            heads = [(match[0], match.start()) for match in re.finditer(r"\S+(?: \(ID\))?", line)]
        elif words and words[0] in GROUPS:
            ends = [*(at for _, at in heads[1:]), len(line)]
            rows.append({head: line[at:end].strip() for (head, at), end in zip(heads, ends, strict=True)})
    return rows


def tabbed(text):
    """The rows of `kafka-transactions.sh`, below their headings."""
    head, *rows = [[cell.strip() for cell in line.split("\t")] for line in text.splitlines() if line.strip()]
    return [dict(zip(head, row, strict=True)) for row in rows]


def test_offsets_and_lag_are_those_of_consumer_groups_describe(cluster):
    rows = table(cluster.printed["offsets"])
    assert {row["GROUP"] for row in rows} >= {"classic", "left", "simple"}
    for row in rows:
        there = lines(root(cluster), f"groups/{row['GROUP']}/offsets.jsonl")
        place = row["TOPIC"], int(row["PARTITION"]), False
        (reported,) = [each for each in there if (each["topic"], each["partition"], each["pending"]) == place]
        columns = (row["CURRENT-OFFSET"], row["LOG-END-OFFSET"], row["LAG"])
        assert (str(reported["offset"]), str(reported["highWatermark"]), str(reported["lag"])) == columns


def test_members_are_those_of_consumer_groups_describe_members(cluster):
    rows = table(cluster.printed["members"])
    assert len({row["CONSUMER-ID"] for row in rows}) >= 2
    for row in rows:
        group = json.loads(read(root(cluster), f"groups/{row['GROUP']}/group.json"))
        (reported,) = [each for each in group["members"] if each["memberId"] == row["CONSUMER-ID"]]
        assigned = ";".join(
            f"{each['topic']}:{','.join(map(str, each['partitions']))}" for each in reported["assignment"]
        )
        assert (reported["clientHost"], reported["clientId"], assigned) == (
            row["HOST"], row["CLIENT-ID"], row["CURRENT-ASSIGNMENT"],
        )  # fmt: skip


def test_states_are_those_of_consumer_groups_describe_state(cluster):
    rows = table(cluster.printed["states"])
    reported = {row["group"]: row for row in lines(root(cluster), "groups.jsonl")}
    assert len(rows) >= 4
    for row in rows:
        group = reported[row["GROUP"]]
        assert (group["state"], group["members"]) == (row["STATE"], int(row["#MEMBERS"]))


@OF_KRAFT
def test_transactions_are_those_of_transactions_list(cluster):
    reported = lines(root(cluster), "transactions.jsonl")
    printed = tabbed(cluster.printed["transactions"])
    assert len(printed) == 4
    assert {(row["transactionalId"], str(row["producerId"]), row["state"]) for row in reported} == {
        (row["TransactionalId"], row["ProducerId"], row["TransactionState"]) for row in printed
    }


@OF_KRAFT
def test_open_transactions_are_those_of_describe_producers_and_find_hanging(cluster):
    reported = [
        row
        for row in lines(root(cluster), "open-transactions.jsonl")
        if (row["topic"], row["partition"]) == ("shop", 2)
    ]
    printed = [row for row in tabbed(cluster.printed["producers"]) if row["CurrentTransactionStartOffset"] != "None"]
    assert [(str(row["producerId"]), str(row["firstOffset"]), str(row["lastTimestamp"])) for row in reported] == [
        (row["ProducerId"], row["CurrentTransactionStartOffset"], row["LastTimestamp"]) for row in printed
    ]
    assert [row["hanging"] for row in reported] == [bool(tabbed(cluster.printed["hanging"]))] == [False]


@OF_KRAFT
def test_producers_are_those_of_describe_producers(cluster):
    """A broker's own memory of them; the tool writes -1 and None for what it does not know."""
    reported = [
        row for row in lines(root(cluster), "producers.jsonl") if (row["topic"], row["partition"]) == ("shop", 2)
    ]
    columns = {
        "producerId": "ProducerId", "producerEpoch": "ProducerEpoch", "coordinatorEpoch": "LatestCoordinatorEpoch",
        "lastSequence": "LastSequence", "lastTimestamp": "LastTimestamp",
        "currentTransactionStartOffset": "CurrentTransactionStartOffset",
    }  # fmt: skip
    printed = sorted(
        ({name: int(row[column].replace("None", "-1")) for name, column in columns.items()}
         for row in tabbed(cluster.printed["producers"])), key=lambda row: row["producerId"],
    )  # fmt: skip
    assert [{name: -1 if row[name] is None else row[name] for name in columns} for row in reported] == printed
    assert len(printed) > 2
    assert {row["transactionalId"] for row in reported} >= {"done", "undone", "open"}


@OF_KRAFT
def test_partitions_are_those_of_topics_describe(cluster):
    if cluster.state == "stopped":
        pytest.skip("a broker that stops gives up its partitions")
    reported = {
        (row["topic"], str(row["partition"])): [
            str(row["leader"]), *(",".join(map(str, row[field])) for field in ("replicas", "isr")),
        ]
        for row in lines(root(cluster), "partitions.jsonl")
    }  # fmt: skip
    pattern = r"^\tTopic: (\S+)\tPartition: (\d+)\tLeader: (\S+)\tReplicas: (\S*)\tIsr: (\S*)"
    printed = {tuple(row[:2]): list(row[2:]) for row in re.findall(pattern, cluster.printed["topics"], re.MULTILINE)}
    assert reported == printed
    heads = re.findall(r"^Topic: (\S+)\tTopicId: (\S+)\tPartitionCount: (\d+)\tReplicationFactor: (\d+)",
                       cluster.printed["topics"], re.MULTILINE)  # fmt: skip
    fields = ("topic", "topicId", "partitions", "replicationFactor")
    assert sorted(tuple(str(row[field]) for field in fields) for row in lines(root(cluster), "topics.jsonl")) == sorted(
        heads
    )


@OF_KRAFT
@pytest.mark.parametrize(("kind", "name"), [("topic", "shop"), ("broker", "1")])
def test_configs_are_those_of_configs_describe(cluster, kind, name):
    printed = re.findall(r"^  (\S+?)=(.*?) sensitive=(true|false) ", cluster.printed[f"{kind}Configs"], re.MULTILINE)
    reported = [row for row in lines(root(cluster), "configs.jsonl") if (row["type"], row["name"]) == (kind, name)]
    assert [(row["key"], row["redacted"]) for row in reported] == sorted(
        (key, secret == "true") for key, _, secret in printed
    )
    values = {key: value for key, value, secret in printed if secret == "false" and "E" not in value}
    assert {row["key"]: row["value"] for row in reported if row["key"] in values} == values


@OF_KRAFT
def test_rights_are_those_of_acls_list(cluster):
    printed, resource = set(), ()
    for line in cluster.printed["acls"].splitlines():
        words = tuple(re.findall(r"\w+=([^,)]+)", line))
        if line.startswith("Current"):
            resource = words
        elif words:
            printed.add(resource + words)
    assert len(printed) == 3
    assert {tuple(row.values()) for row in lines(root(cluster), "acls.jsonl")} == printed
