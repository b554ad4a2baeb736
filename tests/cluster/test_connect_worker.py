"""`connectors.jsonl` beside a real Connect worker: what its REST API says of each connector, after each change.

`scripts/soak slow TIMES` runs this.
"""

import contextlib
import json
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kafkafs.log.read_options import ReadOptions
from kafkafs.view.tree import Root
from tests.cluster.reading import lines, names
from tests.kafka import jars
from tests.kafka.broker import Broker, free_port, wait_until
from tests.kafka.writer import Topic, create

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
RELEASE = "4.3.1"  # the newest one whose connectors for files Maven serves
LONG_S = 600
SOURCE, SINK = (f"org.apache.kafka.connect.file.FileStream{kind}Connector" for kind in ("Source", "Sink"))
SECRET = "correct horse battery staple"


class Worker:
    """A worker in distributed mode, asked by its REST API."""

    def __init__(self, broker: Broker, home: Path, group: str, more: Mapping[str, object] | None = None) -> None:
        """`more`: settings of the worker."""
        self.group, self._home = group, home
        self._port = free_port()
        settings = {
            "bootstrap.servers": broker.address, "group.id": group, "listeners": f"http://127.0.0.1:{self._port}",
            **{f"{kind}.storage.topic": f"{group}-{kind}" for kind in ("config", "offset", "status")},
            **{f"{kind}.storage.replication.factor": 1 for kind in ("config", "offset", "status")},
            "key.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "offset.flush.interval.ms": 1000,
            "status.storage.partitions": 1, "scheduled.rebalance.max.delay.ms": 0,
            **(more or {}),
        }  # fmt: skip
        file = home / f"{group}.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        classpath = f"{jars.jars(RELEASE)}/*:{jars.file_connectors(RELEASE)}/*"
        main = "org.apache.kafka.connect.cli.ConnectDistributed"
        command = ["setpriv", "--pdeathsig", "KILL", "java", jars.HEAP, "-cp", classpath, main, str(file)]
        with open(home / f"{group}.out", "ab") as out:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        wait_until(self._answers, f"the worker to answer, see {home}/{group}.out", LONG_S)

    def _answers(self) -> bool:
        assert self.process.poll() is None, (self._home / f"{self.group}.out").read_text()[-3000:]
        with contextlib.suppress(OSError):
            return isinstance(self.ask("GET", "/connectors"), list)
        return False

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """What the API answers."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"http://127.0.0.1:{self._port}{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or b"null")

    def reported(self) -> dict[str, Any]:
        """All connectors, in the form of `connectors.jsonl` as far as the API knows it."""
        every = self.ask("GET", "/connectors?expand=status&expand=info")
        return {name: self._connector(name, each) for name, each in every.items()}

    def _connector(self, name: str, each: dict[str, Any]) -> dict[str, Any]:
        found = self.ask("GET", f"/connectors/{name}/tasks")
        configs = {task["id"]["task"]: _without_secret(task["config"]) for task in found}
        states = {task["id"]: _state(task) for task in each["status"]["tasks"]}
        config = _without_secret(each["info"]["config"])
        tasks = [
            (number, config_of | {"task.class": None}, states.get(number)) for number, config_of in configs.items()
        ]
        return {"config": config, "status": _state(each["status"]["connector"]), "tasks": sorted(tasks, key=_number)}


def _without_secret(config: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in config.items() if value != SECRET}


def _number(task: tuple[int, object, object]) -> int:
    return task[0]


def _state(status: dict[str, Any]) -> tuple[str, str, str | None]:
    return status["state"], status["worker_id"], status.get("trace")


def on_disk(data: Path, group: str) -> dict[str, Any]:
    """The same of the disk."""
    root = Root([data], ReadOptions())
    if "connectors.jsonl" not in names(root, ""):
        return {}
    rows = [row for row in lines(root, "connectors.jsonl") if row["topic"] == f"{group}-config"]
    return {row["name"]: _row(row) for row in rows}


def _row(row: dict[str, Any]) -> dict[str, Any]:
    def state(status: dict[str, Any] | None) -> tuple[str, str, str | None] | None:
        return (status["state"], status["workerId"], status["trace"]) if status else None

    def config(properties: dict[str, Any]) -> dict[str, Any]:
        assert SECRET not in json.dumps(row)
        return {name: value for name, value in properties.items() if name not in ("redacted", "some.password")}

    tasks = [
        (task["task"], config(task["config"]) | {"task.class": None}, state(task["status"])) for task in row["tasks"]
    ]
    return {"config": config(row["config"]), "status": state(row["status"]), "tasks": tasks}


@contextlib.contextmanager
def worker(broker: Broker, home: Path, group: str, more: Mapping[str, object] | None = None) -> Iterator[Worker]:
    """A running worker, killed at the end."""
    made = Worker(broker, home, group, more)
    try:
        yield made
    finally:
        made.process.kill()
        made.process.wait()


def test_connectors_are_those_of_a_real_worker(running_broker, tmp_path):
    """Made, changed, paused, stopped, restarted, failed and deleted; and of a second cluster of workers."""
    broker = running_broker(RELEASE)
    create(broker, {"lines": Topic()})
    (tmp_path / "in").write_text("a\nb\n")
    source = {"connector.class": SOURCE, "topic": "lines", "file": str(tmp_path / "in"), "some.password": SECRET}
    sink = {"connector.class": SINK, "topics": "lines", "tasks.max": "2", "file": str(tmp_path / "out")}
    with worker(broker, tmp_path, "connect-cluster") as one, worker(broker, tmp_path, "other-connect") as other:

        def agree(asked: Worker, target: dict[str, str], states: dict[str, str]) -> None:
            """Waits until the API says so, and the disk says the same."""
            reported: list[object] = []

            def is_settled() -> bool:
                reported[:] = asked.reported(), on_disk(broker.data, asked.group), asked.reported()
                settled = {name: each["status"][0] for name, each in asked.reported().items()}
                return reported[0] == reported[1] == reported[2] and settled == states

            try:
                wait_until(is_settled, "the disk to agree", LONG_S)
            except TimeoutError:
                raise AssertionError(reported) from None
            rows = [row for row in lines(Root([broker.data], ReadOptions()), "connectors.jsonl")
                    if row["topic"] == f"{asked.group}-config"]  # fmt: skip
            assert {row["name"]: row["targetState"] for row in rows} == target

        every = {"a": source, "b": source, "c": source, "sink": sink}
        for name, config in every.items():
            one.ask("PUT", f"/connectors/{name}/config", config)
        other.ask("PUT", "/connectors/a/config", sink)
        agree(one, dict.fromkeys(every, "STARTED"), dict.fromkeys(every, "RUNNING"))
        agree(other, {"a": "STARTED"}, {"a": "RUNNING"})
        one.ask("PUT", "/connectors/a/pause")
        one.ask("PUT", "/connectors/b/stop")
        one.ask("DELETE", "/connectors/c")
        one.ask("PUT", "/connectors/sink/config", sink | {"tasks.max": "1"})
        target = {"a": "PAUSED", "b": "STOPPED", "sink": "STARTED"}
        agree(one, target, target | {"sink": "RUNNING"})
        one.ask("PUT", "/connectors/a/resume")
        one.ask("PUT", "/connectors/b/resume")
        one.ask("POST", "/connectors/sink/restart?includeTasks=true")
        one.ask("PUT", "/connectors/c/config", sink | {"file": str(tmp_path / "nowhere/out")})
        agree(
            one,
            dict.fromkeys("abc", "STARTED") | {"sink": "STARTED"},
            dict.fromkeys(["a", "b", "c", "sink"], "RUNNING"),
        )
        wait_until(lambda: one.reported()["c"]["tasks"][0][2][0] == "FAILED", "a task without a file to fail", LONG_S)
        agree(
            one,
            dict.fromkeys("abc", "STARTED") | {"sink": "STARTED"},
            dict.fromkeys(["a", "b", "c", "sink"], "RUNNING"),
        )
        trace = on_disk(broker.data, one.group)["c"]["tasks"][0][2]
        assert trace[0] == "FAILED"
        assert "nowhere/out" in trace[2]
    broker.stop()
    assert on_disk(broker.data, "connect-cluster")["c"]["tasks"][0][2] == trace
