"""Producers that keep a real broker busy: rolls, retention, compaction, transactions, topics deleted and made again.

Each value is written once and says its topic's generation. What was acknowledged, and at which offset, is the truth
that readers are compared with.
"""

import json
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaException, Message, Producer
from confluent_kafka.admin import NewTopic

from tests.kafka.broker import Broker, wait_until

BUSY = {
    "log.retention.check.interval.ms": 300,
    "log.initial.task.delay.ms": 100,
    "log.cleaner.backoff.ms": 200,
    "log.segment.delete.delay.ms": 500,
    "transaction.max.timeout.ms": 900_000,
}
"""Broker settings with which everything happens all the time."""

TOPICS: dict[str, dict[str, object]] = {
    "plain": {"segment.bytes": 1 << 20, "retention.bytes": 3 << 20, "file.delete.delay.ms": 500},
    "compacted": {
        "cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0.01, "segment.ms": 700, "file.delete.delay.ms": 500,
        "delete.retention.ms": 100, "segment.bytes": 1 << 20,
    },
    "tx": {"segment.bytes": 1 << 20},
    "paced": {},
    "phoenix": {},
}  # fmt: skip


@dataclass
class Truth:
    """What the broker acknowledged, by topic and generation, then by offset. `aborted` values must not be seen."""

    offsets: dict[tuple[str, int], dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    acknowledged_at: dict[tuple[str, int], float] = field(default_factory=dict)
    aborted: set[str] = field(default_factory=set)
    committed: set[str] = field(default_factory=set)

    def acknowledged(self, topic: str, generation: int, value: str, message: Message) -> None:
        offset = message.offset()
        assert offset is not None
        self.offsets[topic, generation][offset] = value
        if topic in ("paced", "plain"):
            self.acknowledged_at[topic, offset] = time.monotonic()


class Churn:
    """All producers. `start`, and `stop` when it is enough."""

    def __init__(self, broker: Broker, seed: int) -> None:
        self.broker = broker
        self.truth = Truth()
        self.generation = 0
        self.failures: list[str] = []
        self._seed = seed
        self._stop = threading.Event()
        self._values = iter(range(1 << 60))
        self._threads: list[threading.Thread] = []

    def start(self, *topics: str) -> None:
        """`topics`: only these; else all."""
        jobs = {"plain": self._plain, "compacted": self._compacted, "tx": self._transactions, "paced": self._paced,
                "phoenix": self._phoenix}  # fmt: skip
        wanted = topics or tuple(jobs)
        for topic in wanted:
            self._create(topic)
        for number, (topic, job) in enumerate(jobs.items()):
            if topic not in wanted:
                continue
            chance = random.Random(self._seed * 10 + number)
            thread = threading.Thread(target=self._guarded, args=(job, chance), name=job.__name__)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(300)
        assert not self.failures, self.failures

    def _guarded(self, job: Callable[[random.Random], None], chance: random.Random) -> None:
        try:
            job(chance)
        except Exception as error:
            self.failures.append(f"{job.__name__}: {error!r}")

    def _create(self, topic: str) -> None:
        settings = {key: str(value) for key, value in TOPICS[topic].items()}
        for attempt in range(100):
            try:
                made = self.broker.admin.create_topics([NewTopic(topic, 1, 1, config=settings)])
                made[topic].result(30)
                break
            except KafkaException:
                if attempt == 99:
                    raise
                time.sleep(0.1)

    def _producer(self, **settings: Any) -> Producer:
        return Producer({"bootstrap.servers": self.broker.address, "log_level": 0, "linger.ms": 5, **settings})

    def _value(self, size: int, generation: int = 0, **more: object) -> str:
        return json.dumps({"n": next(self._values), "generation": generation, **more, "pad": "x" * size})

    def _send(self, producer: Producer, topic: str, value: str, generation: int = 0, key: bytes | None = None) -> None:
        def delivered(error: object, message: Message) -> None:
            if error is None:
                self.truth.acknowledged(topic, generation, value, message)

        producer.produce(topic, value.encode(), key, partition=0, on_delivery=delivered)
        producer.poll(0)

    def _plain(self, chance: random.Random) -> None:
        producers = [self._producer(**{"compression.codec": codec}) for codec in ("none", "gzip", "lz4", "zstd")]
        while not self._stop.wait(0.02):
            producer = chance.choice(producers)
            for _ in range(chance.randint(1, 8)):
                self._send(producer, "plain", self._value(chance.choice((10, 100, 8000))))
            producer.flush(30)

    def _compacted(self, chance: random.Random) -> None:
        producer = self._producer()
        while not self._stop.wait(0.02):
            for _ in range(chance.randint(1, 5)):
                self._send(producer, "compacted", self._value(50), key=b"key-%d" % chance.randrange(20))
            producer.flush(30)

    def _transactions(self, chance: random.Random) -> None:
        producer = self._producer(**{"transactional.id": "churn", "transaction.timeout.ms": 900_000})
        producer.init_transactions(30)
        while not self._stop.wait(0.05):
            producer.begin_transaction()
            commit = chance.random() < 0.6
            values = [self._value(20, commit=commit) for _ in range(chance.randint(1, 6))]
            for value in values:
                self._send(producer, "tx", value)
            producer.flush(30)
            if commit:
                producer.commit_transaction(30)
                self.truth.committed.update(values)
            else:
                producer.abort_transaction(30)
                self.truth.aborted.update(values)

    def _paced(self, chance: random.Random) -> None:
        producer = self._producer(**{"linger.ms": 0})
        while not self._stop.wait(0.2 + chance.random() / 10):
            self._send(producer, "paced", self._value(10))
            producer.flush(30)

    def _phoenix(self, chance: random.Random) -> None:
        while not self._stop.is_set():
            producer = self._producer(**{"message.timeout.ms": 20_000})
            for _ in range(chance.randint(1, 4)):
                for _ in range(chance.randint(1, 10)):
                    self._send(producer, "phoenix", self._value(10, self.generation), self.generation)
                producer.flush(30)
                self._stop.wait(chance.random())
            if self._stop.is_set():
                return
            self.broker.admin.delete_topics(["phoenix"])["phoenix"].result(30)
            self._wait_for_the_end_of("phoenix-0")
            self.generation += 1
            self._create("phoenix")

    def _wait_for_the_end_of(self, partition: str) -> None:
        """Until the broker has put the directory away. A topic is known to be deleted, and made anew, a moment before:
        what is sent to its name meanwhile is acknowledged, and goes to the end of the old log."""
        wait_until(lambda: not (self.broker.data / partition).exists(), f"the end of {partition}", 60)
