"""Three brokers killed at once under load, one disk gone: what they acknowledged is there, and groups go on.

The acknowledged are counted here, by the producers themselves, not by anything that reads the disks.
"""

import base64
import signal
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, Message, Producer
from confluent_kafka.admin import ConfigResource, NewTopic, ResourceType

from tests.kafka import broker as nodes
from tests.kafka import jars, truth
from tests.kafka.broker import Broker, wait_until
from tests.revive.nodes import revived
from tests.revive.test_brokers import WHOLE

NODES = (1, 2, 3)
THREE = {"replication.factor": 3, "min.isr": 2}
TOPICS = {
    "orders": (3, {"min.insync.replicas": "2", "retention.ms": "3600000"}),
    "paid": (2, {"min.insync.replicas": "2"}),
    "state": (1, {"min.insync.replicas": "2", "cleanup.policy": "compact"}),
}
SECONDS, KEYS = 6.0, 40

pytestmark = pytest.mark.skipif(not WHOLE, reason="scripts/soak revive")


@contextmanager
def three_brokers(release: str, home: Path, more: Mapping[str, object] | None = None) -> Iterator[dict[int, Broker]]:
    """Each broker and controller in one, all of them voters. `more`: settings of each."""
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "x")
    places = {number: home / str(number) for number in NODES}
    for place in places.values():
        place.mkdir(parents=True)
    ports = {number: nodes._ports(place) for number, place in places.items()}
    voters = ",".join(f"{number}@127.0.0.1:{controller}" for number, (_, controller) in ports.items())
    brokers: dict[int, Broker] = {}
    try:
        for number, place in places.items():
            port, controller = ports[number]
            settings = {
                **nodes.SETTINGS, **nodes.KRAFT_SETTINGS, "node.id": number, "controller.quorum.voters": voters,
                "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
                "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}", "log.dirs": place / "data",
                **{f"{topic}.{name}": value for topic in ("transaction.state.log", "share.coordinator.state.topic")
                   for name, value in THREE.items()},
                "offsets.topic.replication.factor": 3, "log.segment.bytes": 1 << 20,
                **(more or {}),
            }  # fmt: skip
            configuration = nodes._write_settings(place / "format.properties", settings)
            jars.run(release, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", configuration)
            process = nodes._launch(release, place, "broker", "kafka.Kafka", settings)
            brokers[number] = Broker(release, place, f"127.0.0.1:{port}", [process])
        for each in brokers.values():
            nodes.ready(each)
        wait_until(lambda: len(brokers[1].admin.list_topics(timeout=5).brokers) == len(NODES), "three brokers")
        yield brokers
    finally:
        for each in brokers.values():
            each.stop(signal.SIGKILL)


class Load:
    """Producers and a group at work; what the brokers told them is kept."""

    def __init__(self, brokers: dict[int, Broker]) -> None:
        self.address = ",".join(each.address for each in brokers.values())
        self.acknowledged: defaultdict[tuple[str, int], dict[int, bytes]] = defaultdict(dict)
        self.committed: list[set[bytes]] = []
        self.aborted: list[set[bytes]] = []
        self.offsets: dict[tuple[str, int], int] = {}
        self.is_over = threading.Event()
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._produce, self._pay, self._read)]

    def start(self) -> None:
        for each in self._threads:
            each.start()

    def end(self) -> None:
        self.is_over.set()
        for each in self._threads[:-1]:  # a commit that nobody answers waits for ever
            each.join(300)
            assert not each.is_alive()

    def _note(self, error: object, message: Message) -> None:
        if error is None:
            where = str(message.topic()), int(message.partition() or 0)
            self.acknowledged[where][int(message.offset() or 0)] = bytes(message.value() or b"")

    def _given(self, **more: object) -> dict[str, object]:
        return {"bootstrap.servers": self.address, "log_level": 0, "acks": "all", "message.timeout.ms": 5000, **more}

    def _produce(self) -> None:
        producer, number = Producer(self._given(**{"enable.idempotence": True, "linger.ms": 5})), 0
        while not self.is_over.is_set():
            for _ in range(50):
                number += 1
                value = b"%d " % number + b"x" * (number % 700)
                producer.produce("orders", value, partition=number % 3, on_delivery=self._note)
                producer.produce("state", value, key=b"%d" % (number % KEYS), on_delivery=self._note)
            producer.poll(0.02)
        producer.flush(10)

    def _pay(self) -> None:
        producer, number = Producer(self._given(**{"transactional.id": "payer", "transaction.timeout.ms": 60000})), 0
        try:
            producer.init_transactions(20)
            while not self.is_over.is_set():
                number += 1
                values = {b"%d-%d" % (number, each) for each in range(6)}
                producer.begin_transaction()
                for value in sorted(values):
                    producer.produce("paid", value, partition=len(value) % 2, on_delivery=self._note)
                if number % 3:
                    producer.commit_transaction(5)
                    self.committed.append(values)
                else:
                    producer.flush(5)
                    producer.abort_transaction(5)
                    self.aborted.append(values)
        except KafkaException:
            assert self.is_over.is_set()

    def _read(self) -> None:
        reader = Consumer({"bootstrap.servers": self.address, "group.id": "night", "log_level": 0,
                           "enable.auto.commit": False, "auto.offset.reset": "earliest"})  # fmt: skip
        reader.subscribe(["orders"])
        try:
            while not self.is_over.is_set():
                if reader.consume(50, 0.1):
                    for each in reader.commit(asynchronous=False) or ():
                        if each.error is None and each.offset >= 0:  # below 0 where it has read nothing
                            self.offsets[each.topic, each.partition] = each.offset
        except KafkaException:
            pass


@pytest.mark.parametrize("lost", NODES)
def test_what_was_acknowledged_is_there(tmp_path, lost):
    release = "4.3.1"
    with three_brokers(release, tmp_path / "source") as brokers:
        made = [NewTopic(name, count, 3, config=config) for name, (count, config) in TOPICS.items()]
        for future in brokers[1].admin.create_topics(made).values():
            future.result(30)
        load = Load(brokers)
        load.start()
        wait_until(lambda: len(load.committed) > 5 and len(load.offsets) == 3, "load")
        time.sleep(SECONDS)  # and some more of it: that is how long the load is
        load.is_over.set()
        for each in brokers.values():
            each._processes[0].kill()
        load.end()
        disks = [each.data for number, each in brokers.items() if number != lost]
        for each in brokers.values():
            each.stop(signal.SIGKILL)
    with revived("4.4.0", tmp_path, disks) as node:
        assert node.report["lostPartitions"] == 0
        # Who commits is answered before the markers stand: those of the last one the new node writes, if need be.
        wait_until(lambda: all(each <= {*paid(node.broker)} for each in load.committed), "the last markers")
        for isolation in truth.ISOLATIONS:
            found = truth.read(node.broker, [*load.acknowledged], isolation)
            for where, wanted in load.acknowledged.items():
                reported = {row[0]: value_of(row) for row in found[where]}
                if where[0] == "state":  # of which the cleaner may have taken older ones
                    wanted = dict(sorted(wanted.items())[-KEYS:])
                if where[0] != "paid":
                    assert wanted.items() <= reported.items(), where
            values = [value_of(row) for where, rows in found.items() if where[0] == "paid" for row in rows]
            assert len(values) == len({*values})
            assert all(each <= {*values} for each in load.committed)
            if isolation == "read_committed":
                assert not any(each & {*values} for each in load.aborted)
        request = [ConsumerGroupTopicPartitions("night")]
        (future,) = node.broker.admin.list_consumer_group_offsets(request).values()
        offsets = {(each.topic, each.partition): each.offset for each in future.result(30).topic_partitions}
        assert all(offsets[where] >= offset for where, offset in load.offsets.items())
        described = node.broker.admin.describe_configs([ConfigResource(ResourceType.TOPIC, "orders")])
        (configs,) = (each.result(30) for each in described.values())
        assert configs["retention.ms"].value == "3600000"
        assert_the_payer_goes_on(node.broker)
    assert node.complaints() == []


def paid(broker: Broker) -> list[bytes]:
    """What a reader of committed records gets."""
    found = truth.read(broker, [("paid", 0), ("paid", 1)], "read_committed")
    return [value_of(row) for rows in found.values() for row in rows]


def assert_the_payer_goes_on(broker: Broker) -> None:
    """The transactional id is taken over: what was open is aborted, and behind it committed records show."""
    payer = Producer({"bootstrap.servers": broker.address, "log_level": 0, "transactional.id": "payer"})
    payer.init_transactions(30)
    payer.begin_transaction()
    for number in (0, 1):
        payer.produce("paid", b"after", partition=number)
    payer.commit_transaction(30)
    found = truth.read(broker, [("paid", 0), ("paid", 1)], "read_committed")
    assert [value_of(rows[-1]) for rows in found.values()] == [b"after"] * 2


def value_of(row: list[Any]) -> bytes:
    return base64.b64decode(row[4])
