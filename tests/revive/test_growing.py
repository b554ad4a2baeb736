"""docs/revive.md, "Grow": from the revived node to three brokers and three controllers, and nothing is lost on the way.

The source has records that are older than 7 days in topics with and without a retention time, and a transaction that
is open and past its timeout. Retention begins 30 s after a broker's start, so the long form waits for that.
"""

import base64
import shlex
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from kafkafs.revive.job import revive
from tests.kafka import broker as nodes
from tests.kafka import jars, truth
from tests.kafka.broker import Broker, wait_until
from tests.revive.nodes import Revived, choices, start
from tests.revive.test_brokers import WHOLE
from tests.revive.test_page import PAGE, Shell

DAY_MS = 24 * 3600 * 1000
TOPICS = {"orders": {}, "own": {"retention.ms": str(DAY_MS)}, "state": {"cleanup.policy": "compact"}}
RETENTION_BEGINS_S = 30
OLD = [(name, number) for name in TOPICS for number in (0, 1)]
BLOCKS = [block.split("```")[0].splitlines() for block in PAGE.split("### Grow")[1].split("```sh\n")[1:5]]
FIRST, SECOND, THIRD = "server.properties", "second.properties", "third.properties"


@contextmanager
def source(release: str, home: Path, *, is_static: bool) -> Iterator[Broker]:
    """A node with the records of `old_records` and an open transaction."""
    settings: dict[str, object] = {"num.partitions": 1}
    if is_static:
        port, controller = nodes._ports(home)
        settings |= {
            **nodes.SETTINGS, **nodes.KRAFT_SETTINGS, "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
            "controller.quorum.bootstrap.servers": "", "log.dirs": home / "data",
        }  # fmt: skip
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "x")
        configuration = nodes._write_settings(home / "format.properties", settings)
        jars.run(release, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", configuration)
    with nodes.running(release, home, settings) as broker:
        made = [NewTopic(name, 2, 1, config=config) for name, config in TOPICS.items()]
        for future in broker.admin.create_topics(made).values():
            future.result(30)
        write_old_records(broker.address)
        yield broker


def write_old_records(address: str) -> None:
    """Older than 7 days, in several segments' worth of batches; then a transaction that nobody ends."""
    old_ms = int(time.time() * 1000) - 30 * DAY_MS
    producer = Producer({"bootstrap.servers": address, "log_level": 0, "batch.num.messages": 10})
    for number in range(200):
        for name, partition in OLD:
            value = b"%d" % number
            producer.produce(name, value, key=value, partition=partition, timestamp=old_ms + number * 1000)
    assert producer.flush(30) == 0
    hanging = {"transactional.id": "hanging", "transaction.timeout.ms": 1000}
    opened = Producer({"bootstrap.servers": address, "log_level": 0, **hanging})
    opened.init_transactions(30)
    opened.begin_transaction()
    opened.produce("orders", b"open", partition=0, timestamp=old_ms)
    assert opened.flush(30) == 0


def ports() -> int:
    """The first of six that are free."""
    while True:
        first = nodes.free_port()
        with ExitStack() as held:
            try:
                for each in range(first, first + 6):
                    held.enter_context(socket.socket()).bind(("127.0.0.1", each))
            except OSError:
                continue
        return first


class Growing:
    """The page's commands, and the nodes that they start."""

    def __init__(self, release: str, scratch: Path, report: dict[str, object], first: int) -> None:
        self.scratch, self.release, self.report = scratch, release, report
        self.place, self.first = scratch / "revived", first
        self.shell = Shell(scratch, {f":{9092 + each}": f":{first + each}" for each in range(6)}, release)
        self.running: dict[str, Revived] = {}

    def run(self, *lines: str) -> None:
        """Each line; those that start or stop a node do it with one here."""
        for line in lines:
            command, *arguments = shlex.split(line)
            if command == "kafka-server-start.sh":
                self.start(Path(arguments[-1]).name)
            elif command == "kafka-server-stop.sh":
                self.stop([FIRST, SECOND, THIRD][int(arguments[0].removeprefix("--node-id=")) - 1])
            else:
                print(self.shell.run(line))

    def start(self, settings: str) -> Revived:
        """The node of that file, which does not run."""
        assert settings not in self.running
        at = self.first + 2 * [FIRST, SECOND, THIRD].index(settings)
        home = self.scratch / f"home-{settings}"
        reported = {**self.report, "listen": f"127.0.0.1:{at}"}
        self.running[settings] = start(self.release, self.place, home, reported, settings=settings)
        return self.running[settings]

    def stop(self, settings: str) -> None:
        """In order."""
        self.running.pop(settings).broker.stop()

    def end(self) -> None:
        """Of all."""
        for each in [*self.running]:
            self.stop(each)


def in_sync(broker: Broker) -> set[int]:
    """How many replicas in sync the partitions have."""
    topics = broker.admin.list_topics(timeout=10).topics
    return {len(each.isrs) for topic in topics.values() for each in topic.partitions.values()}


@pytest.mark.skipif(not WHOLE, reason="scripts/soak revive")
@pytest.mark.parametrize(
    ("release", "target", "is_static"),
    [("4.3.1", "4.4.0", False), ("4.3.1", "4.4.0", True), ("3.9.1", "4.3.1", True), ("3.9.1", "3.9.1", False)],
)
def test_three_brokers_and_three_controllers_lose_nothing(tmp_path, release, target, is_static):
    (tmp_path / "source").mkdir()
    with source(release, tmp_path / "source", is_static=is_static) as before:
        wanted = {each: truth.read(before, OLD, each) for each in truth.ISOLATIONS}
    assert sum(map(len, wanted["read_uncommitted"].values())) == 200 * len(OLD) + 1
    first = ports()
    report = revive([tmp_path / "source/data"], choices(tmp_path / "revived", target, port=first))
    growing = Growing(target, tmp_path, report, first)
    begin, move, upgrade, control = BLOCKS
    try:
        node = growing.start(FIRST)
        growing.run(*begin)
        *execute, verify = move
        growing.run(*execute)
        wait_until(lambda: "still in progress" not in growing.shell.run(verify), "the move")
        wait_until(lambda: in_sync(node.broker) == {3}, "three replicas in sync")
        if is_static:
            growing.run(*upgrade)
        growing.run(*control[:-1])
        assert growing.shell.run(control[-1]).count('"directoryId"') == 3
        wait_until(lambda: in_sync(growing.running[FIRST].broker) == {3}, "three replicas in sync")
        began = time.monotonic()
        wait_until(lambda: time.monotonic() > began + RETENTION_BEGINS_S + 10, "retention")
        assert_nothing_lost(growing.running[FIRST].broker, wanted)
        growing.stop(FIRST)
        second = growing.running[SECOND].broker
        wait_until(lambda: in_sync(second) == {2}, "the others to lead")
        assert_nothing_lost(second, wanted)
    finally:
        growing.end()


def assert_nothing_lost(broker: Broker, wanted: dict[str, dict[tuple[str, int], list[truth.Row]]]) -> None:
    """All records, and the transaction is open."""
    for isolation, records in wanted.items():
        assert truth.read(broker, OLD, isolation) == records
