"""Transactions that are committed, aborted, interleaved, spread over partitions and segments, and left open."""

import random

from tests.kafka.broker import Broker
from tests.kafka.writer import Record, Topic, Writer, now_ms, roll, transactional

TURNS = 90
INDEX_OFTEN = {"index.interval.bytes": 200}


def topics(release: str) -> dict[str, Topic]:
    """`transactions` (many, over several segments), `transactions-spread` (three partitions), `transactions-open`."""
    return {
        "transactions": Topic(settings=INDEX_OFTEN),
        "transactions-spread": Topic(partitions=3, settings=INDEX_OFTEN),
        "transactions-open": Topic(settings=INDEX_OFTEN),
    }


def write(broker: Broker) -> list[Writer]:
    """Fill all three; the producers whose transactions stay open are returned, to be kept until truth is taken."""
    plain = Writer(broker)
    producers = [transactional(broker, f"writer-{codec}", codec) for codec in ("none", "lz4", "zstd")]
    _interleaved(broker, plain, producers)
    _spread(producers[0])
    return _left_open(broker, plain, producers[1])


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


def _left_open(broker: Broker, plain: Writer, neighbour: Writer) -> list[Writer]:
    """Two transactions that nobody ends, with committed, aborted and plain records before, between and after them."""
    topic = "transactions-open"
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
