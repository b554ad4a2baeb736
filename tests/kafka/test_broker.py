"""The nodes themselves: they start, write what they are told batch by batch, and end."""

import contextlib
import os

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.kafka import broker as node
from tests.kafka import jars
from tests.kafka.broker import wait_until
from tests.kafka.fixtures import RunningBroker
from tests.kafka.writer import Record, Topic, Writer, create


@pytest.mark.parametrize("release", ["4.3.1", *(pytest.param(each, marks=pytest.mark.slow) for each in jars.ENDS)])
def test_one_batch_is_one_batch_on_disk(running_broker: RunningBroker, release: str) -> None:
    """Tests of positions and indexes count on deciding what shares a batch."""
    broker = running_broker(release)
    create(broker, {"batches": Topic()})
    writer = Writer(broker)
    writer.batch("batches", [Record(b"1"), Record(b"2")])
    writer.batch("batches", [Record(b"3")])
    log = (broker.data / "batches-0" / f"{0:020}.log").read_bytes()
    first_end = 12 + int.from_bytes(log[8:12])
    assert int.from_bytes(log[first_end : first_end + 8]) == 2
    assert first_end + 12 + int.from_bytes(log[first_end + 8 : first_end + 12]) == len(log)
    assert _read(broker.address, "batches") == [b"1", b"2", b"3"]


def test_a_running_broker_is_started_once(running_broker: RunningBroker) -> None:
    """A start costs seconds."""
    assert running_broker("4.3.1") is running_broker("4.3.1")


def test_a_stopped_broker_is_gone(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A node left behind holds its port, half a gigabyte and the next run's patience."""
    with node.running("4.3.1", tmp_path_factory.mktemp("stopped")) as broker:
        pid = broker.pid
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert (broker.data / ".kafka_cleanshutdown").exists()


def test_waiting_says_what_it_waited_for() -> None:
    """A deadline that passes in silence is an evening lost."""
    with pytest.raises(TimeoutError, match="the moon"):
        wait_until(lambda: False, "the moon", timeout_s=0.1)


def _read(address: str, topic: str) -> list[bytes | None]:
    with contextlib.closing(Consumer({"bootstrap.servers": address, "group.id": "test", "log_level": 0})) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])
        return [message.value() for message in consumer.consume(3, timeout=20)]
