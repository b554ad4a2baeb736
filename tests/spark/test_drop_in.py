"""The same reads by Spark's own Kafka source, beside a running broker, and by `kafkafs` on that broker's directory."""

import json

import pytest
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kafkafs.format.names import REMOTE_LOG_METADATA
from tests.kafka import jars
from tests.kafka.broker import wait_until
from tests.kafka.writer import START_MS, Record, Topic, Writer, create, delete_records, transactional

EACH = {"0": 3, "1": -2}
LATE = START_MS + 10**9
READS: dict[str, tuple[dict[str, object], bool]] = {
    "all": ({"subscribe": "a,b", "includeHeaders": True}, True),
    "a pattern": ({"subscribePattern": "^(a|b)$"}, True),
    "a pattern of a part": ({"subscribePattern": "op-i[n-z]"}, True),
    "Kafka's own topics": ({"subscribePattern": "^__"}, True),
    "assigned": ({"assign": {"a": [1], "b": [0]}}, True),
    "between offsets": (
        {"assign": {"a": [0, 1]}, "startingOffsets": {"a": EACH}, "endingOffsets": {"a": {"0": 9, "1": -1}}}, True,
    ),
    "between times": (
        {"subscribe": "a", "startingTimestamp": START_MS + 40, "endingTimestamp": START_MS + 150}, True,
    ),
    "times each": (
        {
            "subscribe": "a",
            "startingOffsetsByTimestamp": {"a": {"0": START_MS + 30, "1": START_MS + 90}},
            "endingOffsetsByTimestamp": {"a": {"0": START_MS + 60, "1": LATE}},
        }, True,
    ),
    "times win": ({"subscribe": "a", "startingTimestamp": START_MS + 40, "startingOffsets": {"a": EACH}}, True),
    "too late": ({"subscribe": "a", "startingTimestamp": LATE}, False),
    "too late, latest": (
        {"subscribe": "a", "startingTimestamp": LATE, "startingOffsetsByTimestampStrategy": "latest"}, True,
    ),
    "from a marker": ({"subscribe": "t", "startingTimestamp": LATE}, True),
    "from a marker, committed": (
        {"subscribe": "t", "startingTimestamp": LATE, "kafka.isolation.level": "read_committed"}, True,
    ),
    "to a marker": ({"subscribe": "t", "endingTimestamp": LATE}, True),
    "to a marker, each": ({"subscribe": "t", "endingOffsetsByTimestamp": {"t": {"0": LATE}}}, True),
    "split": ({"subscribe": "a", "minPartitions": 7, "maxRecordsPerPartition": 4}, True),
    "committed": ({"subscribe": "t", "kafka.isolation.level": "read_committed"}, True),
    "uncommitted": ({"subscribe": "t"}, True),
    "deleted": ({"subscribe": "b"}, True),
    "gone": ({"subscribe": "b", "startingOffsets": {"b": {"0": 0}}}, False),
    "gone, going on": (
        {"subscribe": "b", "startingOffsets": {"b": {"0": 0}}, "failOnDataLoss": False}, True,
    ),
    "from the end": ({"subscribe": "b", "startingOffsets": {"b": {"0": 100}}}, True),
    "from beyond the end": ({"subscribe": "b", "startingOffsets": {"b": {"0": 101}}}, False),
    "from beyond the end, going on": (
        {"subscribe": "b", "startingOffsets": {"b": {"0": 101}}, "failOnDataLoss": False}, False,
    ),
    "from the latest": ({"subscribe": "a", "startingOffsets": "latest"}, False),
    "to the earliest": ({"subscribe": "a", "endingOffsets": "earliest"}, False),
    "not all named": ({"subscribe": "a", "startingOffsets": {"a": {"0": 1}}}, False),
    "two strategies": ({"subscribe": "a", "subscribePattern": "a"}, False),
    "no strategy": ({}, False),
    "reset": ({"subscribe": "a", "kafka.auto.offset.reset": "latest"}, False),
}  # fmt: skip


def _option(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def answer(spark: SparkSession, name: str, place: dict[str, str], options: dict[str, str]) -> list[object] | None:
    """Columns, rows and a count of a part of them, or None if the source refuses the options."""
    try:
        read = spark.read.format(name).options(**place).options(**options).load()
        rows = [tuple(map(str, row)) for row in read.drop("headers").collect()]
        return [read.dtypes, sorted(rows, key=lambda row: row[2:5]), read.where("offset >= 5").count()]
    except (PySparkException, Py4JError):
        return None


@pytest.mark.slow
def test_answers_are_those_of_the_kafka_source(running_broker, spark):
    node = running_broker("4.3.1")
    topics = ("a", "b", "t", "drop-in", REMOTE_LOG_METADATA)
    create(node, {name: Topic(partitions=2 if name == "a" else 1) for name in topics})
    writer = Writer(node, "lz4")
    writer.batch(REMOTE_LOG_METADATA, [Record(b"no client is told that it is internal")])
    writer.batch("drop-in", [Record(b"x")] * 3)
    for number in range(20):
        records = [Record(b"v%d" % number, b"k" if number % 3 else None, START_MS + number * 10 + each)
                   for each in range(5)]  # fmt: skip
        writer.batch("a", records, number % 2)
        writer.batch("b", records)
    delete_records(node, "b", 33)
    one = transactional(node, "drop-in")
    for turn in range(4):
        one.begin()
        one.batch("t", [Record(b"%d" % turn)] * 3)
        (one.abort if turn % 2 else one.commit)()
    checkpoint = node.data / "log-start-offset-checkpoint"
    wait_until(lambda: "b 0 33" in checkpoint.read_text(), "the log start on disk")
    for jar in jars.connector().glob("*.jar"):
        spark.sql(f"ADD JAR '{jar}'")
    theirs, ours = {}, {}
    for name, (reported, _) in READS.items():
        options = {option: _option(value) for option, value in reported.items()}
        place = {"kafka.bootstrap.servers": node.address, "kafka.fetch.max.wait.ms": "20"}
        theirs[name] = answer(spark, "kafka", place, options)
        ours[name] = answer(spark, "kafkafs", {"path": str(node.data)}, options)
    assert ours == theirs
    assert {name: each is not None for name, each in ours.items()} == {
        name: taken for name, (_, taken) in READS.items()
    }
