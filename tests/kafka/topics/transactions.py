"""Transactions that are committed, aborted, interleaved, spread over partitions and segments, and left open."""

import random

from tests.kafka import jars
from tests.kafka.broker import Broker
from tests.kafka.writer import Record, Topic, Writer, now_ms, roll, transactional

TURNS = 90
INDEX_OFTEN = {"index.interval.bytes": 200}


def topics(release: str) -> dict[str, Topic]:
    """`transactions` (many, over several segments), `-spread` (three partitions), `-java`, `-open`."""
    return {
        "transactions": Topic(settings=INDEX_OFTEN),
        "transactions-spread": Topic(partitions=3, settings=INDEX_OFTEN),
        "transactions-java": Topic(settings=INDEX_OFTEN),
        "transactions-open": Topic(settings=INDEX_OFTEN),
    }


def write(broker: Broker) -> None:
    """Fills all but `transactions-open`."""
    producers = [transactional(broker, f"writer-{codec}", codec) for codec in ("none", "lz4", "zstd")]
    _interleaved(broker, Writer(broker), producers)
    _spread(producers[0])
    _by_java(broker)


def _interleaved(broker: Broker, plain: Writer, producers: list[Writer]) -> None:
    """At each turn one producer begins, writes, commits or aborts; now and then a segment ends."""
    topic = "transactions"
    rng = random.Random(topic)
    open_producers: list[Writer] = []
    for turn in range(TURNS):
        producer = rng.choice(producers)
        if producer not in open_producers:
            producer.begin()
            open_producers.append(producer)
        record = Record(b"turn %d" % turn, b"transactional", now_ms())
        producer.batch(topic, [record] * rng.randrange(1, 4))
        if rng.random() < 0.35:
            (producer.abort if rng.random() < 0.5 else producer.commit)()
            open_producers.remove(producer)
        if rng.random() < 0.3:
            plain.batch(topic, [Record(b"turn %d" % turn, b"plain", now_ms())])
        if turn % 25 == 24:
            roll(broker, plain, topic)
    for producer in open_producers:
        producer.commit()


def _spread(producer: Writer) -> None:
    for number in range(6):
        producer.begin()
        for partition in range(number % 3 + 1):
            producer.batch("transactions-spread", [Record(b"%d" % number, b"%d" % partition, now_ms())] * 2, partition)
        (producer.abort if number % 2 else producer.commit)()


def _by_java(broker: Broker) -> None:
    """Kafka's own producer, some transactions long; from 4.0 on its markers bear a newer epoch than their records."""
    jars.run(
        jars.NEWEST,
        "org.apache.kafka.tools.ProducerPerformance",
        "--bootstrap-server",
        broker.address,
        "--topic",
        "transactions-java",
        "--num-records",
        "300",
        "--throughput",
        "600",
        "--record-size",
        "50",
        "--transactional-id",
        "java",
        "--transaction-duration-ms",
        "80",
        "--command-property",
        "compression.type=snappy",
        "batch.size=500",
        "linger.ms=5",
    )


def leave_open(broker: Broker) -> list[Writer]:
    """Two transactions that nobody ends, with committed, aborted and plain records before, between and after them.

    Their producers are returned, to be kept until truth is taken: at their end they would abort.
    """
    topic = "transactions-open"
    plain, neighbour = Writer(broker), transactional(broker, "neighbour", "lz4")
    never_ended = [transactional(broker, f"open-{number}") for number in range(2)]
    for number, producer in enumerate([*never_ended, None]):
        plain.batch(topic, [Record(b"plain %d" % number, timestamp_ms=now_ms())] * 2)
        for ending in (neighbour.commit, neighbour.abort):
            neighbour.begin()
            neighbour.batch(topic, [Record(b"neighbour %d" % number, timestamp_ms=now_ms())] * 3)
            ending()
        if producer:
            producer.begin()
            producer.batch(topic, [Record(b"open %d" % number, timestamp_ms=now_ms())] * 2)
    roll(broker, plain, topic)
    neighbour.begin()
    neighbour.batch(topic, [Record(b"aborted after the roll", timestamp_ms=now_ms())])
    neighbour.abort()
    return never_ended
