"""A log that outlived a clean restart of its broker: a second leader epoch, indexes that were closed and reopened."""

from tests.kafka.broker import Broker
from tests.kafka.writer import START_MS, Record, Topic, Writer

TOPIC = "restarted"
BATCHES = 13  # in each life; the byte count towards the next index entry begins anew with the second


def topics(release: str) -> dict[str, Topic]:
    """`restarted`: entries less regular than its interval says, and a time entry that the stop caused."""
    return {TOPIC: Topic(settings={"index.interval.bytes": 400})}


def write_before(broker: Broker) -> None:
    """What the broker's first life writes."""
    _write(broker, 0)


def write(broker: Broker) -> None:
    """What its second life appends to the same segment."""
    _write(broker, BATCHES)


def _write(broker: Broker, first: int) -> None:
    writer = Writer(broker)
    for number in range(first, first + BATCHES):
        records = [Record(b"batch %d record %d" % (number, n), None, START_MS + number * 1000 + n) for n in range(3)]
        writer.batch(TOPIC, records)
