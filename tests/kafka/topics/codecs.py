"""Every codec, framed by a producer (librdkafka) and by the broker itself (Java's frames)."""

import random

from tests.kafka.broker import Broker
from tests.kafka.writer import START_MS, Record, Topic, Writer

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
WORDS = b"segment batch base offset high watermark last stable offset leader epoch producer".split()


def topics(release: str) -> dict[str, Topic]:
    """`codec-<codec>`: compressed by the producer; `broker-<codec>`: by the broker, whatever the producer sent."""
    index_often = {"index.interval.bytes": 1024}
    by_producer = {f"codec-{codec}": Topic(settings=index_often) for codec in CODECS}
    by_broker = {f"broker-{codec}": Topic(settings=index_often | {"compression.type": codec}) for codec in CODECS[1:]}
    return by_producer | by_broker


def write(broker: Broker) -> None:
    """Batches of one to 400 records; the largest takes several 64 KiB blocks of its codec."""
    for codec in CODECS:
        _fill(Writer(broker, codec), f"codec-{codec}")
    plain = Writer(broker)
    for codec in CODECS[1:]:
        _fill(plain, f"broker-{codec}")


def _fill(writer: Writer, topic: str) -> None:
    rng = random.Random(topic)
    written = 0
    for count in (1, 2, 20, 1, 400, 3, 60, 5, 1, 30):
        writer.batch(topic, [sentence(rng, written + index) for index in range(count)])
        written += count


def sentence(rng: random.Random, number: int) -> Record:
    """A record of some words, stamped one second after the one before."""
    words = rng.choices(WORDS, k=rng.randrange(1, 100))
    return Record(b" ".join(words), key=b"key-%d" % (number % 7), timestamp_ms=START_MS + 1000 * number)
