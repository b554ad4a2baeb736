"""How a log lies in files: many segments, long indexes, many partitions, nothing at all, a preallocated file."""

import random

from tests.kafka.broker import Broker
from tests.kafka.writer import HOUR_MS, START_MS, Record, Topic, Writer

SEGMENTS = 25
LONG_INDEX_BATCHES = 2500  # more than the 1,024 entries of the warm section, and far more than the time index's 682


def topics(release: str) -> dict[str, Topic]:
    """`segments`, `long-index`, `partitions` (five), `empty`, `one-record`, `preallocated`, `idempotent`."""
    return {
        "segments": Topic(settings={"segment.ms": HOUR_MS, "index.interval.bytes": 100}),
        "long-index": Topic(settings={"index.interval.bytes": 0}),
        "partitions": Topic(partitions=5),
        "empty": Topic(),
        "one-record": Topic(),
        "preallocated": Topic(settings={"preallocate": "true", "segment.bytes": 1024 * 1024}),
        "idempotent": Topic(),
    }


def write(broker: Broker) -> None:
    """Segments roll by the records' own timestamps: a record more than an hour after its segment's first begins one."""
    writer = Writer(broker)
    for segment in range(SEGMENTS):
        for batch in range(4):
            first_ms = START_MS + segment * 2 * HOUR_MS + batch * 60_000
            records = [Record(b"%d %d" % (segment, batch), b"%d" % n, first_ms + n) for n in range(batch + 1)]
            writer.batch("segments", records)
    one_by_one = Writer(broker, settings={"batch.num.messages": 1, "linger.ms": 0})
    one_by_one.stream("long-index", [Record(b"%d" % n, None, START_MS + 10 * n) for n in range(LONG_INDEX_BATCHES)])
    one_by_one.flush()
    rng = random.Random("partitions")
    for number in range(60):
        key = b"key-%d" % rng.randrange(20)
        writer.batch("partitions", [Record(b"%d" % number, key, START_MS + number * 500)], partition=key[-1] % 4)
    writer.batch("one-record", [Record(b"alone", b"key")])
    for number in range(10):
        writer.batch("preallocated", [Record(b"x" * 1000, timestamp_ms=START_MS + number)])
    for number in range(3):
        idempotent = Writer(broker, settings={"enable.idempotence": True, "max.in.flight": 5})
        for batch in range(5):
            idempotent.batch("idempotent", [Record(b"%d" % batch, timestamp_ms=START_MS + number * 100 + batch)] * 3)
