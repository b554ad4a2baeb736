"""A stream whose driver is killed in the midst of its work and started again: each record once in a file sink."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import NewPartitions
from pyspark.sql import SparkSession

from tests.kafka.broker import Broker, wait_until
from tests.kafka.writer import Record, Topic, Writer, create, roll
from tests.spark.streams import offsets

DRIVER = """
import sys
from kafkafs.spark import (register)
from kafkafs.spark.session import session
from tests.spark.streams import finish
path, topic, out = sys.argv[1:]
with session("local[2]", "stream") as spark:
    register(spark)
    read = spark.readStream.format("kafkafs").option("path", path).option("subscribe", topic)
    read = read.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", 100).load()
    places = {"path": f"{out}/table", "checkpointLocation": f"{out}/checkpoint"}
    query = read.select("partition", "offset", "value").writeStream.format("parquet").options(**places)
    finish(lambda: query.start().awaitTermination())
"""


@contextlib.contextmanager
def driver(data: Path, topic: str, out: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A driver with a Java machine and Python workers of its own; at the end all of them are killed at once."""
    command = [sys.executable, "-c", DRIVER, str(data), topic, str(out)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as running:
        try:
            yield running
        finally:
            os.killpg(running.pid, signal.SIGKILL)


def batches(out: Path) -> int:
    """How many micro-batches the checkpoint calls done."""
    return len(list((out / "checkpoint" / "commits").glob("[0-9]*")))


def has_read(out: Path, latest: dict[str, int]) -> bool:
    """Whether the last micro-batch that the checkpoint calls done reaches the latest offset of each partition."""
    done = batches(out) - 1
    planned = (out / "checkpoint" / "offsets" / str(done)).read_text().splitlines()[-1]
    return list(offsets(json.loads(planned)).values()) == [latest]


def latest_offsets(node: Broker, topic: str, partitions: int) -> dict[str, int]:
    """What the broker itself says, by partition."""
    reader = Consumer({"bootstrap.servers": node.address, "group.id": "none", "log_level": 0})
    marks = [reader.get_watermark_offsets(TopicPartition(topic, number), timeout=30) for number in range(partitions)]
    reader.close()
    return {str(number): high for number, (_, high) in enumerate(marks)}


def rows(spark: SparkSession, out: Path) -> list[tuple[int, int, bytes]]:
    """What the sink holds, by its own account of its files."""
    found = spark.read.parquet(str(out / "table")).toArrow().to_pydict()
    return sorted(zip(found["partition"], found["offset"], found["value"], strict=True))


@pytest.mark.slow
def test_a_killed_stream_goes_on_without_loss_or_duplicates(spark: SparkSession, running_broker, tmp_path):
    node, topic = running_broker("4.3.1"), "killed"
    create(node, {topic: Topic(partitions=2)})
    writer = Writer(node)
    for number in range(10):
        writer.batch(topic, [Record(b"%d" % number)] * 60, number % 2)
    with driver(node.data, topic, tmp_path) as running:
        wait_until(lambda: batches(tmp_path) >= 2 or running.poll() is not None, "some micro-batches", 150)
    before = batches(tmp_path)
    assert 2 <= before < 6
    roll(node, writer, topic, 1)
    node.admin.create_partitions([NewPartitions(topic, 3)])[topic].result(30)
    wait_until(lambda: (node.data / f"{topic}-2").exists(), "the new partition")
    with driver(node.data, topic, tmp_path) as running:
        wait_until(lambda: batches(tmp_path) > before or running.poll() is not None, "another micro-batch", 150)
        Writer(node).batch(topic, [Record(b"new")] * 30, 2)
        writer.batch(topic, [Record(b"last")] * 10, 0)
        latest = latest_offsets(node, topic, 3)
        wait_until(lambda: has_read(tmp_path, latest) or running.poll() is not None, "the rest", 150)
        assert running.poll() is None
    written = spark.read.format("kafkafs").option("path", str(node.data)).option("subscribe", topic).load()
    expected = written.select("partition", "offset", "value").toArrow().to_pydict()
    assert rows(spark, tmp_path) == sorted(zip(*expected.values(), strict=True))
    assert len(expected["offset"]) > 640
