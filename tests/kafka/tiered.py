"""A broker of 4.3.1 with topics that went on into a remote tier, LocalTieredStorage's: the whole log, and what is left.

    tiered = Tiered()
    tiered.whole        the data directory when all was uploaded and nothing was deleted: the truth
    tiered.left         the same after local retention: the newest segments alone
    tiered.tier         the tier's directory
    tiered.read         what Kafka's consumer read then, by isolation and partition

Made at first use, kept under `cache.root()`. Read them, never write there.
"""

import functools
import hashlib
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

from tests.kafka import broker as node
from tests.kafka import cache, jars, truth
from tests.kafka.broker import Broker, wait_until
from tests.kafka.clusters import high_watermarks

RELEASE = "4.3.1"
METADATA_PARTITIONS = 3
RECORDS = 3000
FIRST_MS = 1_632_390_000_000
TIERED = {
    "remote.storage.enable": "true", "retention.ms": "-1", "local.retention.ms": "-2", "local.retention.bytes": "-2",
    "internal.segment.bytes": "32768",
}  # fmt: skip
TOPICS = {"orders": 2, "with.dots-and-9": 1, "payments": 1}
"""Tiered topics and their partitions; `payments` has transactions, some of which were aborted."""
PLAIN = "plain"
GROUP, COMMITTED = "readers", 700
"""A group, and the offset of `orders-0` that it reads next, which local retention deletes."""


def settings(tier: Path) -> dict[str, object]:
    """A broker with a tier in that directory, which uploads within a second."""
    return {
        "remote.log.storage.system.enable": "true",
        "remote.log.storage.manager.class.name":
            "org.apache.kafka.server.log.remote.storage.LocalTieredStorage",
        "remote.log.storage.manager.class.path": f"{_storage_jar()}/*",
        "remote.log.metadata.manager.listener.name": "PLAINTEXT",
        "rsm.config.dir": tier,
        "rlmm.config.remote.log.metadata.topic.replication.factor": 1,
        "rlmm.config.remote.log.metadata.topic.num.partitions": METADATA_PARTITIONS,
        "remote.log.manager.task.interval.ms": 500,
        "log.initial.task.delay.ms": 500,
        "log.retention.check.interval.ms": 1000,
        "log.segment.delete.delay.ms": 500,
    }  # fmt: skip


class Tiered:
    """See the module."""

    @property
    def whole(self) -> Path:
        """The data directory with every segment."""
        return _place() / "whole"

    @property
    def left(self) -> Path:
        """The data directory with what local retention has left."""
        return _place() / "left"

    @property
    def tier(self) -> Path:
        """The directory that LocalTieredStorage wrote."""
        return _place() / "tier/kafka-tiered-storage"

    @property
    def read(self) -> dict[str, dict[str, list[truth.Row]]]:
        """What `truth.read` gave when most of it came from the tier."""
        reported: dict[str, Any] = json.loads((_place() / "read.json").read_text())
        return reported


@contextmanager
def running(home: Path, tier: Path) -> Iterator[Broker]:
    """A broker that uploads into `tier`."""
    with node.running(RELEASE, home, settings(tier)) as broker:
        yield broker


def create(broker: Broker, topic: str, partitions: int, configs: dict[str, str]) -> None:
    """A topic that is there when this returns."""
    made = broker.admin.create_topics([NewTopic(topic, partitions, 1, config=configs)])
    made[topic].result(30)


def set_configs(broker: Broker, topic: str, configs: dict[str, str]) -> None:
    """Changes some of a topic's configs, and leaves the others."""
    entries = [ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in configs.items()]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    broker.admin.incremental_alter_configs([resource])[resource].result(30)


def produce(broker: Broker, topic: str, partition: int, first: int, count: int) -> None:
    """Records in batches of twenty; every seventh's time lies behind the one before."""
    producer = Producer({"bootstrap.servers": broker.address, "linger.ms": 1000, "batch.num.messages": 20})
    for number in range(first, first + count):
        time_ms = FIRST_MS + 1000 * number - (5000 if number % 7 == 0 else 0)
        producer.produce(topic, f"value {number} {'x' * 60}", f"key-{number % 50}", partition, timestamp=time_ms)
        if number % 20 == 19:
            producer.flush(30)
    producer.flush(30)


def local_bases(broker: Broker, directory: str) -> list[int]:
    """The base offsets of a partition's segments on the disk."""
    return sorted(int(file.stem) for file in (broker.data / directory).glob("*.log"))


def _transactions(broker: Broker) -> None:
    producers = [
        Producer({"bootstrap.servers": broker.address, "transactional.id": f"t{number}"}) for number in range(2)
    ]
    for producer in producers:
        producer.init_transactions(30)
    for number in range(120):
        producer = producers[number % 2]
        producer.begin_transaction()
        for each in range(15):
            time_ms = FIRST_MS + 1000 * (15 * number + each)
            producer.produce("payments", f"payment {number} {each} {'y' * 40}", f"p{each}", 0, timestamp=time_ms)
        if number % 3 == 1:
            producer.flush(30)
            producer.abort_transaction(30)
        else:
            producer.commit_transaction(30)


@functools.cache
def _place() -> Path:
    digest = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]
    return cache.once(cache.root() / "tiered" / f"{RELEASE}-{digest}", _make)


def _make(place: Path) -> None:
    home, tier = place / "home", place / "tier"
    home.mkdir()
    tier.mkdir()
    with running(home, tier) as broker:
        for topic, partitions in TOPICS.items():
            create(broker, topic, partitions, TIERED)
        create(broker, PLAIN, 1, {})
        produce(broker, "orders", 0, 0, RECORDS)
        produce(broker, "orders", 1, 0, RECORDS // 2)
        produce(broker, "with.dots-and-9", 0, 0, RECORDS // 3)
        produce(broker, PLAIN, 0, 0, 100)
        _transactions(broker)
        commit = ConsumerGroupTopicPartitions(GROUP, [TopicPartition("orders", 0, COMMITTED)])
        broker.admin.alter_consumer_group_offsets([commit])[GROUP].result(30)
        stored = tier / "kafka-tiered-storage"
        for topic, partitions in TOPICS.items():
            for partition in range(partitions):
                wait_until(lambda: _all_uploaded(broker, stored, f"{topic}-{partition}"), "uploads")  # noqa: B023
        _copy(broker.data, place / "whole")
        for topic, partitions in TOPICS.items():
            set_configs(broker, topic, {"local.retention.ms": "-2", "local.retention.bytes": "1"})
            for partition in range(partitions):
                wait_until(lambda: len(local_bases(broker, f"{topic}-{partition}")) == 1, "retention")  # noqa: B023
        wait_until(lambda: _all_listed(broker.data), "the checkpoint of log starts")
        wait_until(lambda: _is_committed(broker.data), "the checkpoint of the group's offset")
        read_from = [(topic, number) for topic, count in (*TOPICS.items(), (PLAIN, 1)) for number in range(count)]
        read = {
            isolation: {f"{topic}-{number}": rows for (topic, number), rows in found.items()}
            for isolation in truth.ISOLATIONS
            if (found := truth.read(broker, read_from, isolation))
        }
        (place / "read.json").write_text(json.dumps(read))
    _copy(broker.data, place / "left")


def _all_uploaded(broker: Broker, stored: Path, directory: str) -> bool:
    """Whether every closed segment has the file that is written last."""
    folders = list(stored.glob(f"{directory}-*")) if stored.is_dir() else []
    done = {int(file.name[:20]) for folder in folders for file in folder.glob("*.snapshot")}
    return set(local_bases(broker, directory)[:-1]) <= done


def _all_listed(data: Path) -> bool:
    listed = (data / "log-start-offset-checkpoint").read_text()
    return all(f"{topic} " in listed for topic in TOPICS)


def _is_committed(data: Path) -> bool:
    """Whether what the group has committed shows, however the broker ends."""
    ends = high_watermarks(data)
    return any(end for directory, end in ends.items() if directory.startswith("__consumer_offsets-"))


def _copy(data: Path, target: Path) -> None:
    subprocess.run(["cp", "-a", "--sparse=always", data, target], check=True)


def _storage_jar() -> Path:
    """The directory of the broker's test jar that has LocalTieredStorage."""
    artifact = f"org.apache.kafka:kafka-storage:{RELEASE}:jar:test"

    def fetch(place: Path) -> None:
        jars.maven("Kafka's storage tests", "dependency:get", "-Dtransitive=false", f"-Dartifact={artifact}")
        jars.maven("Kafka's storage tests", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={place}")

    return cache.once(cache.root() / "jars" / f"{RELEASE}-storage-test", fetch)
