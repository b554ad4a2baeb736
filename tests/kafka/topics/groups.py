"""Consumer groups, whose offsets and members the broker keeps in a topic of its own."""

from confluent_kafka import Consumer, TopicPartition

from tests.kafka.broker import Broker, wait_until
from tests.kafka.writer import Record, Topic, Writer

POLL_S = 0.2


def topics(release: str) -> dict[str, Topic]:
    """`consumed`, which two groups read."""
    return {"consumed": Topic(partitions=2)}


def write(broker: Broker) -> None:
    """One group that only commits, with metadata, and one whose member joins, commits and leaves."""
    writer = Writer(broker)
    for partition in range(2):
        writer.batch("consumed", [Record(b"%d" % number) for number in range(10)], partition)
    for number in range(3):
        committing = Consumer(_settings(broker, f"committing-{number}"))
        position = TopicPartition("consumed", 0, number + 1, metadata="read by hand")
        committing.commit(offsets=[position], asynchronous=False)
        committing.close()
    joining = Consumer(_settings(broker, "joining"))
    joining.subscribe(["consumed"])
    wait_until(lambda: _polled(joining), "a consumer to join its group and read")
    joining.commit(asynchronous=False)
    joining.close()


def _settings(broker: Broker, group: str) -> dict[str, object]:
    return {
        "bootstrap.servers": broker.address,
        "group.id": group,
        "client.id": "harness",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "log_level": 0,
    }


def _polled(consumer: Consumer) -> bool:
    message = consumer.poll(POLL_S)
    return message is not None and message.error() is None
