"""Batches on a real broker exactly as a test wants them: which records share one, in which codec, at which times."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from confluent_kafka import Message, Producer, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

from tests.kafka.broker import CENTURY_MS, Broker, wait_until

DELIVERY_TIMEOUT_S = 200
START_MS = 1_700_000_000_000  # the first timestamp of most topics: 2023-11-14T22:13:20Z
HOUR_MS = 3_600_000


@dataclass(frozen=True)
class Record:
    """What a producer hands over; a null key or value is None."""

    value: bytes | None
    key: bytes | None = None
    timestamp_ms: int = START_MS
    headers: Sequence[tuple[str, bytes | None]] = ()


@dataclass(frozen=True)
class Topic:
    """How a topic is created."""

    partitions: int = 1
    settings: Mapping[str, object] = field(default_factory=dict)


class Writer:
    """One producer. `batch` sends its records as one batch; `stream` sends without waiting in between."""

    def __init__(self, broker: Broker, codec: str = "none", settings: Mapping[str, object] | None = None) -> None:
        self._failures: list[str] = []
        self._producer = Producer(
            {
                "bootstrap.servers": broker.address,
                "compression.codec": codec,
                "linger.ms": 60_000,  # a flush ends a batch, not the clock
                "max.in.flight": 1,
                "log_level": 0,
                **(settings or {}),
            }
        )

    def batch(self, topic: str, records: Iterable[Record], partition: int = 0) -> None:
        """Appends `records` as one batch and waits until the broker has it."""
        self._hand_over(topic, records, partition)
        self.flush()

    def stream(self, topic: str, records: Iterable[Record], partition: int = 0) -> None:
        """Appends `records` in batches of the producer's own making."""
        self._hand_over(topic, records, partition)

    def flush(self) -> None:
        """Waits until the broker has everything; RuntimeError if it refused something."""
        if self._producer.flush(DELIVERY_TIMEOUT_S):
            raise RuntimeError(f"records undelivered after {DELIVERY_TIMEOUT_S} s")
        if self._failures:
            raise RuntimeError(f"refused: {self._failures[0]}")

    def join(self) -> "Writer":
        """Makes this producer (one with a `transactional.id`) known to the broker."""
        self._producer.init_transactions(DELIVERY_TIMEOUT_S)
        return self

    def begin(self) -> None:
        """Opens a transaction."""
        self._producer.begin_transaction()

    def commit(self) -> None:
        """Commits the open transaction; its markers follow within moments."""
        self._producer.commit_transaction(DELIVERY_TIMEOUT_S)

    def abort(self) -> None:
        """Aborts the open transaction; its markers follow within moments."""
        self._producer.abort_transaction(DELIVERY_TIMEOUT_S)

    def _hand_over(self, topic: str, records: Iterable[Record], partition: int) -> None:
        for record in records:
            self._producer.produce(
                topic,
                value=record.value,
                key=record.key,
                partition=partition,
                timestamp=record.timestamp_ms,
                headers=list(record.headers) or None,
                on_delivery=self._delivered,
            )

    def _delivered(self, error: object, message: Message) -> None:
        if error is not None:
            self._failures.append(f"{message.topic()}: {error}")


def transactional(broker: Broker, name: str, codec: str = "none") -> Writer:
    """A producer for transactions, which the broker knows already."""
    settings = {"transactional.id": name, "transaction.timeout.ms": 900_000, "max.in.flight": 5}
    return Writer(broker, codec, settings).join()


def create(broker: Broker, topics: Mapping[str, Topic]) -> None:
    """Creates `topics` and waits until each partition has its leader."""
    wanted = [
        NewTopic(
            name,
            num_partitions=topic.partitions,
            replication_factor=1,
            config={key: str(value) for key, value in topic.settings.items()},
        )
        for name, topic in topics.items()
    ]
    for future in broker.admin.create_topics(wanted).values():
        future.result(DELIVERY_TIMEOUT_S)

    def led() -> bool:
        known = broker.admin.list_topics(timeout=10).topics
        return all(
            name in known
            and len(known[name].partitions) == topic.partitions
            and all(part.leader >= 0 for part in known[name].partitions.values())
            for name, topic in topics.items()
        )

    wait_until(led, "leaders of new topics")


def configure(broker: Broker, topic: str, **settings: object) -> None:
    """Changes settings of a living topic (underscores stand for dots). The log takes them up within moments."""
    entries = [
        ConfigEntry(name.replace("_", "."), str(value), incremental_operation=AlterConfigOpType.SET)
        for name, value in settings.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    for future in broker.admin.incremental_alter_configs([resource]).values():
        future.result(DELIVERY_TIMEOUT_S)


def now_ms() -> int:
    """The wall clock, for topics with transactions: their markers bear its time, whatever the records do."""
    return time.time_ns() // 1_000_000


def roll(broker: Broker, writer: Writer, topic: str, partition: int = 0) -> None:
    """Makes the broker begin a new segment, by a record stamped now; only where no timestamp lies in the future."""
    directory = broker.data / f"{topic}-{partition}"
    before = len(list(directory.glob("*.log")))
    configure(broker, topic, segment_ms=1)

    def rolled() -> bool:
        writer.batch(topic, [Record(b"roll", b"roll", now_ms())], partition)
        return len(list(directory.glob("*.log"))) > before

    wait_until(rolled, f"{topic} to roll")
    configure(broker, topic, segment_ms=CENTURY_MS)


def delete_records(broker: Broker, topic: str, below: int, partition: int = 0) -> None:
    """Deletes the records of a partition below an offset, as an operator would."""
    for future in broker.admin.delete_records([TopicPartition(topic, partition, below)]).values():
        future.result(DELIVERY_TIMEOUT_S)


def delete_topic(broker: Broker, topic: str) -> None:
    """Deletes a topic; its directory is renamed and stays for a minute."""
    for future in broker.admin.delete_topics([topic]).values():
        future.result(DELIVERY_TIMEOUT_S)
    wait_until(lambda: not (broker.data / f"{topic}-0").exists(), f"{topic} to be deleted")
