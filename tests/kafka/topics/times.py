"""Timestamps that a lookup by time has to survive: disorder, ties, leaps back, the broker's own clock."""

import random

from tests.kafka.broker import Broker
from tests.kafka.writer import HOUR_MS, START_MS, Record, Topic, Writer

INDEX_OFTEN = {"index.interval.bytes": 256}


def topics(release: str) -> dict[str, Topic]:
    """All with a dense index: `disorder`, `equal-times`, `segments-disorder`, `append-time`."""
    return {
        "disorder": Topic(settings=INDEX_OFTEN),
        "equal-times": Topic(settings=INDEX_OFTEN),
        "segments-disorder": Topic(settings=INDEX_OFTEN | {"segment.ms": HOUR_MS}),
        "append-time": Topic(settings=INDEX_OFTEN | {"message.timestamp.type": "LogAppendTime"}),
    }


def write(broker: Broker) -> None:
    """Uncompressed and lz4 batches by turns: leaders note the largest timestamp's offset differently for each."""
    writers = Writer(broker), Writer(broker, "lz4")
    rng = random.Random("times")
    for number in range(80):
        batch = [_at(START_MS + number * 1000 + rng.randrange(-20_000, 20_000)) for _ in range(rng.randrange(1, 6))]
        writers[number % 2].batch("disorder", batch)
    for number in range(60):
        writers[number % 2].batch("equal-times", [_at(START_MS + number // 10 * 1000)] * (number % 4 + 1))
    for number in range(40):  # each tenth batch leaps ahead and rolls; what follows lies far behind it
        leap_ms = (number // 10 + 1) * 2 * HOUR_MS if number % 10 == 0 else 0
        batch = [_at(START_MS + leap_ms + rng.randrange(HOUR_MS // 2)) for _ in range(3)]
        writers[number % 2].batch("segments-disorder", batch)
    for number in range(40):
        writers[number % 2].batch("append-time", [_at(START_MS + number)] * (number % 3 + 1))


def _at(timestamp_ms: int) -> Record:
    return Record(b"at %d" % timestamp_ms, timestamp_ms=timestamp_ms)
