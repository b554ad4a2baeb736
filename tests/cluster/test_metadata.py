"""The metadata log with snapshots that are whole or not, gaps, and transactions that have not ended."""

import base64
import json
import shutil
import time
from contextlib import closing
from typing import Any

import pytest

from kafkafs.cluster.cluster import Cluster
from kafkafs.cluster.following import MOST
from kafkafs.format.names import METADATA_TOPIC
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.read_options import ReadOptions
from kafkafs.view.tree import Root
from tests.cluster.reading import lines, names, read
from tests.cluster.writing import Data, metadata, snapshot
from tests.kafka.clusters import Cluster as RealCluster
from tests.kafka.jars import KRAFT_RELEASES

NAME = "__cluster_metadata-0"
SECRET = b"stored keys stay inside"


def topic(name, number):
    return metadata("TopicRecord", name=name, topicId="A" * 20 + "ABCDEFGHIJKLMNOP"[number] + "A")


@pytest.fixture
def data(tmp_path):
    return Data(tmp_path / "data")


def reported(data):
    """The topics, what metadata tells of itself, and the problems that concern it."""
    root = Root([data.path], ReadOptions())
    state = json.loads(read(root, "state.json"))
    topics = [row["topic"] for row in lines(root, "topics.jsonl")] if "topics.jsonl" in names(root, "") else None
    return topics, state["metadata"], [each for each in state["problems"] if NAME in each]


def test_a_snapshot_and_the_log_behind_it_are_one_state(data):
    data.write_snapshot(5, snapshot(topic("in-snapshot", 1)))
    data.write(NAME, [topic(f"below-{n}", n + 2) for n in range(5)], at=0)
    data.write(NAME, [topic("behind", 8)])
    topics, about, problems = reported(data)
    assert topics == ["behind", "in-snapshot"]
    assert about == {
        "asOfOffset": 5, "asOfTimestamp": 1000, "epoch": 0, "snapshot": f"{5:020}-0000000003.checkpoint"
    }  # fmt: skip
    assert not problems


def test_a_snapshot_is_of_the_moment_that_its_header_tells(data):
    """Its own batches have the time at which it was written, up to an hour later."""
    data.write_snapshot(5, snapshot(topic("in-snapshot", 1), last_ms=900))
    _, about, _ = reported(data)
    assert about["asOfTimestamp"] == 900
    directories = [open_data_directory(data.path)]
    for until_ms, is_known in ((899, False), (900, True)):
        cluster = Cluster(directories, ReadOptions(), until_ms)
        cluster.look()
        assert (cluster.image is not None) is is_known


def test_a_log_that_comes_behind_a_snapshot_later_is_taken_from_there_on(data):
    """A look at a living controller may find the snapshot, and the log as it was a moment before."""
    data.write_snapshot(5, snapshot(topic("in-snapshot", 1)))
    data.write(NAME, [topic(f"below-{n}", n + 2) for n in range(3)], at=0)
    root = Root([data.path], ReadOptions(log_fresh_s=0.0))
    assert [row["topic"] for row in lines(root, "topics.jsonl")] == ["in-snapshot"]
    data.write(NAME, [topic("below-3", 5), topic("below-4", 6), topic("behind", 8)])
    assert [row["topic"] for row in lines(root, "topics.jsonl")] == ["behind", "in-snapshot"]
    state = json.loads(read(root, "state.json"))
    assert state["metadata"]["asOfOffset"] == 5
    assert not [each for each in state["problems"] if NAME in each]


@pytest.mark.parametrize("release", KRAFT_RELEASES)
def test_a_node_that_was_formatted_and_not_started_is_as_it_was_formatted(release, tmp_path):
    """From 4.4 on its first snapshot says how; before that it holds nothing."""
    cluster, data = RealCluster(release, "stopped"), tmp_path / "data"
    (data / NAME).mkdir(parents=True)
    shutil.copy(cluster.path / "meta.properties", data)
    shutil.copy(cluster.path / NAME / f"{0:020}-{0:010}.checkpoint", data / NAME)
    root = Root([data], ReadOptions())
    state = json.loads(read(root, "state.json"))
    if release < "4.4":
        assert state["metadata"] is None
        assert state["problems"][0] == f"{NAME}: the log is empty: the node was formatted, and not started since"
        return
    assert state["metadata"] | {"asOfTimestamp": 0} == {
        "asOfOffset": None, "asOfTimestamp": 0, "epoch": 0, "snapshot": f"{0:020}-{0:010}.checkpoint"
    }  # fmt: skip
    features = {each["feature"]: each["level"] for each in lines(root, "features.jsonl")}
    assert features == {name: level for name, level in cluster.truth["features"].items() if name != "kraft.version"}
    assert lines(root, "topics.jsonl") == []


def test_a_time_that_was_never_reported_is_null(data):
    data.write(NAME, [topic("there", 1)], timestamp=-1)
    assert reported(data)[1] == {"asOfOffset": 0, "asOfTimestamp": None, "epoch": 0, "snapshot": None}


def test_a_snapshot_that_is_not_whole_is_left_out_for_an_older_one(data):
    data.write_snapshot(5, snapshot(topic("older", 1)))
    data.write_snapshot(9, snapshot(topic("newer", 2))[:-1])
    data.write(NAME, [topic("behind", 3)], at=5)
    topics, _, problems = reported(data)
    assert topics == ["behind", "older"]
    assert problems == [f"{NAME}/{9:020}-0000000003.checkpoint is not whole and left out"]


def test_a_snapshot_without_its_log_is_enough(data):
    data.write_snapshot(9, snapshot(topic("alone", 1)))
    topics, about, problems = reported(data)
    assert (topics, about["asOfOffset"], about["epoch"], problems) == (["alone"], 8, 3, [])


def test_a_log_without_its_snapshot_tells_nothing_and_goes_on_telling_nothing(data):
    """Beside a live broker more comes: it must not be taken for the whole."""
    data.write(NAME, [topic("late", 1)], at=7)
    cluster = Cluster([open_data_directory(data.path)], ReadOptions(log_fresh_s=0.0))
    for _ in range(2):
        cluster.look()
        assert (cluster.image, cluster.as_of) == (None, None)
        assert [each for each in cluster.problems() if "there is no whole snapshot to begin with" in each]
        data.write(NAME, [topic("later", 2)])
        cluster.replicas.sources(METADATA_TOPIC)[0].look_again()


def test_a_log_that_begins_behind_its_snapshot_adds_nothing(data):
    data.write_snapshot(5, snapshot(topic("kept", 1)))
    data.write(NAME, [topic("behind", 2)], at=7)
    topics, about, problems = reported(data)
    assert (topics, about["asOfOffset"]) == (["kept"], 4)
    assert "the records between them are missing" in problems[0]


def test_a_gap_in_the_log_is_a_problem_and_the_rest_counts(data):
    data.write(NAME, [topic("before", 1)])
    data.write(NAME, [topic("after", 2)], at=4)
    topics, about, problems = reported(data)
    assert (topics, about["asOfOffset"]) == (["after", "before"], 4)
    assert problems == [f"{NAME}: offsets 1 to 3 are missing"]


def test_a_damaged_batch_is_one_problem_and_the_rest_counts(data):
    data.write(NAME, [topic("before", 1)])
    log = data.path / NAME / f"{0:020}.log"
    at = log.stat().st_size
    data.write(NAME, [topic("within", 2)])
    data.write(NAME, [topic("after", 3)])
    content = bytearray(log.read_bytes())
    content[at + 70] ^= 1
    log.write_bytes(content)
    topics, _, problems = reported(data)
    assert topics == ["after", "before"]
    (problem,) = problems
    assert "offsets 1 to 1 are missing" in problem


def test_a_transaction_counts_when_it_has_ended(data):
    data.write(NAME, [topic("first", 1), metadata("BeginTransactionRecord"), topic("second", 2)])
    assert reported(data)[0] == ["first"]
    data.write(NAME, [metadata("EndTransactionRecord"), metadata("BeginTransactionRecord"), topic("third", 3)])
    assert reported(data)[0] == ["first", "second"]
    data.write(NAME, [metadata("AbortTransactionRecord"), topic("fourth", 4)])
    assert reported(data)[0] == ["first", "fourth", "second"]


def test_what_is_about_something_unknown_is_a_problem_and_the_rest_counts(data):
    data.write(NAME, [metadata("RemoveTopicRecord", topicId="A" * 21 + "g"), topic("there", 1), (None, b"\1\x63\0")])
    topics, _, problems = reported(data)
    assert topics == ["there"]
    assert problems == [
        f"{NAME}: offset 0: a RemoveTopicRecord is about something that is not there",
        f"{NAME}: offset 2: it is of type 99, which only a newer Kafka knows",
    ]


def test_thousands_of_unknown_records_are_one_sentence_and_cost_little(data):
    """Regression: each had a sentence with the name of a Java class. A newer release may write many of a type."""
    unknown, cut = (None, b"\1\x63\0new"), (None, b"\1\2\0\x09cut")
    data.write(NAME, [topic("there", 1)])
    begun = time.process_time()
    reported(data)
    floor = time.process_time() - begun
    for _ in range(30):
        data.write(NAME, [unknown] * 400 + [cut] * 100)
    begun = time.process_time()
    topics, _, problems = reported(data)
    assert time.process_time() - begun < floor + 3
    assert topics == ["there"]
    assert problems == [
        f"{NAME}: offset 1: it is of type 99, which only a newer Kafka knows, and so are 11,999 records after it",
        f"{NAME}: offset 401: it is no record of type 2, and so are 2,999 records after it",
    ]


def test_many_kinds_of_problems_are_reported_up_to_a_number(data):
    data.write(NAME, [(None, b"\1" + bytes([0x80 | at & 127, 1 + at // 128]) + b"\0") for at in range(300)])
    problems = json.loads(read(Root([data.path], ReadOptions()), "state.json"))["problems"]
    assert len([each for each in problems if NAME in each]) == MOST
    assert "200 more problems like these" in problems


def test_problems_of_a_snapshot_name_it(data):
    data.write_snapshot(5, snapshot((None, b"\1\x63\0")))
    data.write(NAME, [topic("behind", 2)], at=5)
    assert reported(data)[2][0].startswith(f"{NAME}/{5:020}-0000000003.checkpoint: offset 1: ")


def test_without_the_directory_the_metadata_is_gone(data):
    data.write(NAME, [topic("there", 1)])
    assert reported(data)[0] == ["there"]
    shutil.rmtree(data.path / NAME)
    assert reported(data)[0] is None


@pytest.mark.parametrize("cut", [1, 5, 9])
def test_what_cannot_be_read_comes_out_nowhere(data, cut):
    """A SCRAM key is as secret in a record that is cut, in the decoded lines as in the problems."""
    _, value = metadata("UserScramCredentialRecord", name="alice", mechanism=1, salt=SECRET, storedKey=SECRET)
    assert value is not None
    data.write(NAME, [(None, value[:-cut]), topic("there", 1)])
    root = Root([data.path], ReadOptions())
    partition: Any = root.child(NAME)
    shown = read(root, "state.json")
    for name in ("0...decoded.jsonl", "0.decoded.jsonl"):
        with closing(partition.child("by-offset").child(name).open()) as content:
            shown += bytes(content.read(0, 1 << 20))
    assert b'"value":null,"valueError":' in shown
    for secret in (SECRET, base64.b64encode(SECRET)[:-4]):
        assert secret not in shown


@pytest.mark.parametrize(("value", "text"), [(1.5, b"1.5"), (float("nan"), b'"NaN"'), (float("-inf"), b'"-Infinity"')])
def test_a_quota_that_is_no_number_leaves_its_line_json(data, value, text):
    entity = [{"entityType": "user", "entityName": None}]
    data.write(NAME, [metadata("ClientQuotaRecord", entity=entity, key="k", value=value)])
    assert read(Root([data.path], ReadOptions()), "quotas.jsonl") == (
        b'{"entity":{"user":null},"key":"k","value":%s}\n' % text
    )
