"""The files of `.cluster/` as values: what stands in which, in which order, and what is said of what is not here."""

import json
from pathlib import Path
from typing import Any

import pytest

from kafkafs.cluster import files
from kafkafs.cluster.cluster import Cluster
from kafkafs.cluster.files import LISTS, offsets
from kafkafs.cluster.schema_topic import SchemaTopic
from kafkafs.format.names import GROUPS_TOPIC, INTERNAL_TOPICS, METADATA_TOPIC, TRANSACTIONS_TOPIC
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.read_options import ReadOptions
from tests.cluster.writing import Data, Pair, commit, metadata, transaction

METADATA, GROUPS, TRANSACTIONS = f"{METADATA_TOPIC}-0", f"{GROUPS_TOPIC}-0", f"{TRANSACTIONS_TOPIC}-0"
TOPIC, BROKER = 2, 4
"""Types of resources that have configs. Source: ConfigResource.Type."""


def topic(name: str, partitions: int = 1) -> list[Pair]:
    """A topic with so many partitions, of replicas 1 and 2; its id is made of its name."""
    about = f"{name.encode().hex():A<20}"[:20] + "AA"
    made = [metadata("TopicRecord", name=name, topicId=about)]
    return made + [
        metadata("PartitionRecord", 0, partitionId=number, topicId=about, replicas=[1, 2], isr=[1], leader=1)
        for number in reversed(range(partitions))
    ]


def config(kind: int, resource: str, **values: str) -> list[Pair]:
    return [
        metadata("ConfigRecord", resourceType=kind, resourceName=resource, name=name.replace("_", "."), value=value)
        for name, value in values.items()
    ]


def cluster(*places: Path) -> Cluster:
    """What those disks tell, read."""
    found = Cluster([open_data_directory(place) for place in places], ReadOptions())
    found.look()
    return found


def state(found: Cluster) -> dict[str, Any]:
    return files.state(found, SchemaTopic(found.directories, ReadOptions()))


def lines(found: Cluster, name: str) -> list[dict[str, Any]] | None:
    made = LISTS[name].lines(found)
    return None if made is None else [json.loads(line) for line in made]


def test_topics_and_partitions_are_in_order_and_internal_ones_are_marked(tmp_path):
    """By name, and by number, of which 10 is more than 9."""
    data = Data(tmp_path)
    data.write(METADATA, [pair for name in ("b", GROUPS_TOPIC, "a") for pair in topic(name, 12)])
    data.write("a-10", [(None, b"x")])
    found = cluster(tmp_path)
    reported = lines(found, "topics.jsonl") or []
    assert [(row["topic"], row["internal"]) for row in reported] == [(GROUPS_TOPIC, True), ("a", False), ("b", False)]
    assert {(row["partitions"], row["replicationFactor"]) for row in reported} == {(12, 2)}
    partitions = lines(found, "partitions.jsonl") or []
    assert [(row["topic"], row["partition"]) for row in partitions] == [
        (name, number) for name in (GROUPS_TOPIC, "a", "b") for number in range(12)
    ]
    assert [(row["topic"], row["partition"]) for row in partitions if row["here"]] == [("a", 10)]
    assert GROUPS_TOPIC in INTERNAL_TOPICS


def test_a_secret_is_in_no_file(tmp_path):
    """Of a topic's configs and of a broker's: what may be a password stands there as null, with its name."""
    data = Data(tmp_path)
    data.write(METADATA, [*topic("t"), *config(TOPIC, "t", cleanup_policy="compact", own_password="hidden"),
                          *config(BROKER, "1", ssl_key_password="hidden", log_retention_ms="5")])  # fmt: skip
    found = cluster(tmp_path)
    (row,) = lines(found, "topics.jsonl") or []
    assert row["configs"] == {"cleanup.policy": "compact", "own.password": None}
    values = {(each["name"], each["key"]): each["value"] for each in lines(found, "configs.jsonl") or []}
    assert sorted(values.items()) == [
        (("1", "log.retention.ms"), "5"), (("1", "ssl.key.password"), None),
        (("t", "cleanup.policy"), "compact"), (("t", "own.password"), None),
    ]  # fmt: skip
    for name in LISTS:
        assert "hidden" not in json.dumps(lines(found, name))


@pytest.mark.parametrize("name", [name for name, each in LISTS.items() if each.topics == (METADATA_TOPIC,)])
def test_without_metadata_its_files_are_not_there(tmp_path, name):
    """No file is better than an empty one, which would say that there is nothing."""
    Data(tmp_path).write(GROUPS, [commit("g", "t", 0, 5)])
    assert lines(cluster(tmp_path), name) is None


def test_what_is_not_here_is_named(tmp_path):
    """Half of a coordinator's topic tells half of the groups, which nobody should take for all of them."""
    place = tmp_path / "none"
    Data(place)
    assert list(cluster(place).groups.missing()) == [f"no partition of {GROUPS_TOPIC} is on these disks"]
    reported = state(cluster(place))["problems"]
    assert isinstance(reported, list)
    assert [problem for problem in reported if "no __cluster_metadata-0" in str(problem)]
    place = tmp_path / "never"
    Data(place).write(METADATA, topic("t"))
    assert list(cluster(place).transactions.missing()) == [f"the cluster has no topic {TRANSACTIONS_TOPIC}"]


MANY = ", ".join(map(str, range(1, 11)))


@pytest.mark.parametrize(
    ("count", "sentence"), [(1, ""), (2, "partition 1 of 2 is"), (3, "partitions 1, 2 of 3 are"),
                            (11, f"partitions {MANY} of 11 are"), (12, f"partitions {MANY}, ... of 12 are")]
)  # fmt: skip
def test_partitions_elsewhere_are_counted_and_the_first_named(tmp_path, count, sentence):
    data = Data(tmp_path)
    data.write(METADATA, topic(GROUPS_TOPIC, count))
    data.write(GROUPS, [commit("g", "t", 0, 5)])
    found = cluster(tmp_path)
    expected = [f"of {GROUPS_TOPIC} {sentence} not on these disks"] if sentence else []
    assert list(found.groups.missing()) == expected
    assert state(found)["groups"] == {"partitions": [0], "of": count}


def test_directories_of_two_clusters_have_no_state_in_common(tmp_path):
    """What one of them says is wrong about the other."""
    one, other = Data(tmp_path / "one"), Data(tmp_path / "other")
    (other.path / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\n")
    reported = state(cluster(one.path, other.path))
    assert (reported["clusterId"], reported["nodeId"]) == (None, None)
    problems = reported["problems"]
    assert isinstance(problems, list)
    assert len(problems) == 1, "only that they are two"


def test_the_offsets_of_a_group_are_in_order(tmp_path):
    data = Data(tmp_path)
    data.write(GROUPS, [commit("g", f"t{number}", 0, number) for number in range(9)])
    data.write(TRANSACTIONS, [transaction("x", producerId=5, transactionStatus=1)])
    found = cluster(tmp_path)
    (group,) = found.groups.all()
    assert [json.loads(line)["offset"] for line in offsets(found, group)] == list(range(9))
    assert [row["transactionalId"] for row in lines(found, "transactions.jsonl") or []] == ["x"]
