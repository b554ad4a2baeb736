"""Connectors, as the config and status topics of Connect tell them: records as its workers write them."""

import json
import shutil

import pytest

from kafkafs.cluster.cluster import Cluster
from kafkafs.cluster.connect import _LastValues
from kafkafs.cluster.following import Following, Replay
from kafkafs.disk.blocking import StoreNeeded
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.read_options import ReadOptions
from kafkafs.view.tree import Root
from tests.cluster.reading import lines, names, node, read
from tests.cluster.writing import Data, marker
from tests.mounting import wait_until

SECRET = "hunter2"
CONFIGS, STATUS = "connect-configs-0", "connect-status-0"
PROPERTIES = {"connector.class": "Jdbc", "tasks.max": "2", "connection.password": SECRET}


def record(key, value):
    return key.encode(), None if value is None else json.dumps(value).encode()


def status(state, trace=None):
    return {"state": state, "trace": trace, "worker_id": "10.0.0.1:8083", "generation": 3}


def connector(name="jdbc", tasks=2, **properties):
    """What a worker writes of a connector: its tasks, then how many, then its settings."""
    reported = {"properties": PROPERTIES | properties}
    return [
        record(f"connector-{name}", reported),
        *(record(f"task-{name}-{number}", {"properties": {"task.class": "T", "db.password": SECRET}})
          for number in range(tasks)),
        record(f"commit-{name}", {"tasks": tasks}),
    ]  # fmt: skip


@pytest.fixture
def data(tmp_path):
    data = Data(tmp_path / "data")
    data.write(CONFIGS, [record("session-key", {"key": SECRET, "algorithm": "HmacSHA256"}), *connector()])
    return data


def reported(data, root=None):
    return lines(root or Root([data.path], ReadOptions()), "connectors.jsonl")


def test_only_a_committed_transaction_changes_a_connector(data):
    """A leader with exactly-once support writes transactions. Workers do not see one that was aborted, or is open."""
    names = ("kept", "aborted", "other", "open")
    for producer, name in enumerate(names):
        data.write(CONFIGS, connector(name, 1, topics=name) + connector(topics=name), producer_id=producer)
    data.write(CONFIGS, [marker(commits=False)], producer_id=1, is_control=True)
    root = Root([data.path], ReadOptions())
    assert [each["name"] for each in reported(data, root)] == ["jdbc"]
    assert "topics" not in reported(data, root)[0]["config"]
    for producer in (2, 0):  # what was written last counts, whichever transaction ends first
        data.write(CONFIGS, [marker()], producer_id=producer, is_control=True)
    data.write(CONFIGS, [record("connector-kept", None)], producer_id=5)
    data.write(CONFIGS, [marker(commits=False)], producer_id=5, is_control=True)
    for here in (None, root):
        wait_until(lambda: [each["name"] for each in reported(data, here)] == ["jdbc", "kept", "other"])  # noqa: B023
        assert reported(data, here)[0]["config"]["topics"] == "other"


def test_a_connector_is_reported_with_its_tasks_and_no_secret(data):
    data.write(STATUS, [record("status-connector-jdbc", status("RUNNING"))], timestamp=5000)
    data.write(STATUS, [
        record("status-task-jdbc-0", status("RUNNING")),
        record("status-task-jdbc-1", status("FAILED", "java.lang.Exception: lost")),
        record("status-topic-orders:connector-jdbc", {"topic": {"name": "orders"}}),
    ], timestamp=6000)  # fmt: skip
    state = {"state": "RUNNING", "workerId": "10.0.0.1:8083", "generation": 3, "trace": None, "timestamp": 6000}
    config = {"task.class": "T", "db.password": None, "redacted": True}
    assert reported(data) == [
        {
            "name": "jdbc",
            "topic": "connect-configs",
            "config": PROPERTIES | {"connection.password": None, "redacted": True},
            "targetState": "STARTED",
            "tasks": [
                {"task": 0, "config": config, "status": state},
                {"task": 1, "config": config,
                 "status": state | {"state": "FAILED", "trace": "java.lang.Exception: lost"}},
            ],
            "status": state | {"timestamp": 5000},
        }
    ]  # fmt: skip
    root = Root([data.path], ReadOptions())
    assert "connectors.jsonl" in names(root, "")
    assert SECRET.encode() not in read(root, "connectors.jsonl")
    assert not [each for each in lines(root, "state.json")[0]["problems"] if "connect" in each]


def test_the_last_word_counts(data):
    data.write(CONFIGS, connector("other", 1))
    data.write(CONFIGS, [record("target-state-jdbc", {"state": "PAUSED", "state.v2": "STOPPED"})])
    data.write(CONFIGS, connector(tasks=1, topics="b"))
    data.write(CONFIGS, [record("target-state-other", {"state": "PAUSED"})])
    rows = reported(data)
    assert [(row["name"], row["targetState"], len(row["tasks"])) for row in rows] == [
        ("jdbc", "STOPPED", 1), ("other", "PAUSED", 1),
    ]  # fmt: skip
    assert rows[0]["config"]["topics"] == "b"
    data.write(CONFIGS, [record("connector-jdbc", None), record("target-state-jdbc", None)])
    assert [row["name"] for row in reported(data)] == ["other"]


def test_a_trace_with_a_password_does_not_come_out(data):
    trace = f"SQLException: jdbc:x://db?user=a&password={SECRET}"
    data.write(STATUS, [record("status-connector-jdbc", status("FAILED", trace))])
    shown = reported(data)[0]["status"]
    assert (shown["trace"], shown["redacted"]) == (None, True)


def test_what_a_worker_writes_later_is_followed(data):
    root = Root([data.path], ReadOptions())
    assert [row["name"] for row in reported(data, root)] == ["jdbc"]
    data.write(CONFIGS, connector("later"))
    wait_until(lambda: [row["name"] for row in reported(data, root)] == ["jdbc", "later"])


def test_each_cluster_of_workers_has_its_own_status(tmp_path):
    data = Data(tmp_path / "data")
    for place in ("a", "b"):
        data.write(f"{place}-configs-0", connector())
        data.write(f"{place}-status-0", [record("status-connector-jdbc", status(place.upper()))])
    assert [(row["topic"], row["status"]["state"]) for row in reported(data)] == [
        ("a-configs", "A"),
        ("b-configs", "B"),
    ]


def test_other_topics_are_none_of_connects(tmp_path):
    data = Data(tmp_path / "data")
    data.write("order-status-0", [record("order-1", {"state": "RUNNING"})])
    data.write("configs-0", [record("connector-x", {}), record("something", {})])
    data.write("connect-empty-0", [])
    root = Root([data.path], ReadOptions())
    assert "connectors.jsonl" not in names(root, "")
    with pytest.raises(Exception, match="no source"):
        node(root, "connectors.jsonl")


@pytest.mark.parametrize(
    "value",
    [b"{", b"\xff", b"NaN", b'{"properties":1}', b'{"properties":{"a":[1]}}', b"[" * 2000, b'{"x":1e999}', b"1"],
)
def test_no_value_ends_the_file(data, value):
    data.write(CONFIGS, [(b"connector-odd", value), (b"commit-odd", value), (b"target-state-odd", value)])
    data.write(STATUS, [record("status-connector-jdbc", status("RUNNING")), (b"status-connector-odd", value)])
    rows = {row["name"]: row for row in reported(data)}
    assert rows["jdbc"]["status"]["state"] == "RUNNING"
    if "odd" not in rows and value != b"1":
        assert any("its value is not JSON" in each for each in lines(
            Root([data.path], ReadOptions()), "state.json")[0]["problems"])  # fmt: skip


def test_a_topic_that_was_deleted_is_no_problem_any_more(data):
    """Regression: what was wrong with it was reported until the mount ended."""
    data.write("old-configs-0", [*connector("old"), (b"connector-odd", b"{")])
    root = Root([data.path], ReadOptions())

    def named():
        return [each for each in lines(root, "state.json")[0]["problems"] if "old-configs" in each]

    assert len(named()) == 1
    shutil.rmtree(data.path / "old-configs-0")
    wait_until(lambda: not named())
    assert [row["name"] for row in reported(data, root)] == ["jdbc"]


def test_owner_and_mode_are_those_of_connects_topics(data):
    (data.path / CONFIGS / f"{0:020}.log").chmod(0o600)
    assert node(Root([data.path], ReadOptions()), "connectors.jsonl").attributes().mode & 0o777 == 0o400


def test_a_question_that_is_broken_off_loses_nothing_that_was_read(data, monkeypatch):
    """A lookup asks the disk alone at first. If a store is needed, a worker asks again."""
    data.write(STATUS, [record("status-connector-jdbc", status("RUNNING"))])
    connect = Cluster([open_data_directory(data.path)], ReadOptions()).connect
    connect.connectors()
    starts = []

    def noted(replay, log):
        starts.append(log)
        return Replay.reset(replay, log)

    monkeypatch.setattr(_LastValues, "reset", noted)
    with monkeypatch.context() as patched:
        patched.setattr(Following, "catch_up", _needs_a_store)
        with pytest.raises(StoreNeeded):
            connect.connectors()
    connect.connectors()
    assert starts == []


def _needs_a_store(_):
    raise StoreNeeded
