"""The others: what reads the same records by other means, each run to its end with its output thrown away."""

import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from tests.kafka import jars
from tests.kafka.broker import Broker

TIMEOUT_S = 900


def run(command: Sequence[str | Path]) -> None:
    """A command to its end. Python's own time limit looks every 50 ms only, which would be measured."""
    limited = ["timeout", str(TIMEOUT_S), *command]
    subprocess.run(limited, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def kcat(broker: Broker, topic: str) -> None:
    """All records of partition 0 as `kcat` writes them in JSON."""
    run(_kcat(broker, topic))


def kcat_grep(broker: Broker, topic: str, text: str) -> None:
    """The same, and those lines that have a string."""
    run(["bash", "-o", "pipefail", "-c", f"{shlex.join(_kcat(broker, topic))} | grep -F {shlex.quote(text)}"])


def _kcat(broker: Broker, topic: str) -> list[str]:
    return ["kcat", "-C", "-J", "-q", "-e", "-b", broker.address, "-t", topic, "-p", "0", "-o", "beginning"]


def confluent(broker: Broker, topic: str, count: int) -> None:
    """All records as Python objects of confluent-kafka."""
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "bench", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    left = count
    while left > 0:
        left -= len(consumer.consume(min(left, 100_000), 5))
    consumer.close()


def dump_log(*arguments: str | Path) -> None:
    """`kafka-dump-log.sh` of Kafka 4.4.0."""
    run(jars.command(jars.NEWEST, "org.apache.kafka.tools.DumpLogSegments", *arguments))
