"""The same reads by Spark's own Kafka source, beside a running broker, and by `kafkafs` on that broker's directory."""

import json
import os
import random
import subprocess
import sys

from kafkafs.format.names import REMOTE_LOG_METADATA
from tests.kafka import jars
from tests.kafka.broker import wait_until
from tests.kafka.writer import START_MS, Record, Topic, Writer, create, delete_records, transactional
from tests.side_by_side import RUNS_SLOW

SOME = 12
"""Reads in a run of the suite."""

READ = """
import json, sys
from pyspark.sql import SparkSession
from kafkafs.spark import (register)
address, path, jars, *asked = sys.argv[1:]
quiet = {"spark.ui.enabled": "false", "spark.log.level": "OFF", "spark.jars": jars, "spark.task.maxFailures": "1"}
spark = SparkSession.builder.master("local[2]").config(map=quiet).getOrCreate()
register(spark)
def answer(name, place, options):
    try:
        read = spark.read.format(name).options(**place).options(**options).load()
        rows = sorted((tuple(map(str, row)) for row in read.drop("headers").collect()), key=lambda row: row[2:5])
        return [read.dtypes, rows, read.where("offset >= 5").count()]
    except Exception:
        return "refused"
for text in asked:
    options = json.loads(text)
    theirs = answer("kafka", {"kafka.bootstrap.servers": address, "kafka.fetch.max.wait.ms": 20}, options)
    ours = answer("kafkafs", {"path": path}, options)
    print(json.dumps([ours == theirs, ours == "refused", theirs == "refused", len(ours[1])]))
"""
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


def test_answers_are_those_of_the_kafka_source(running_broker):
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
    packages = ",".join(map(str, jars.connector().glob("*.jar")))
    # each run of the suite draws others; all take a minute and a half of Java
    reads = READS if RUNS_SLOW in os.environ else dict(random.sample(list(READS.items()), SOME))
    asked = [json.dumps({name: _option(value) for name, value in options.items()}) for options, _ in reads.values()]
    command = [sys.executable, "-c", READ, node.address, str(node.data), packages, *asked]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, stdin=subprocess.DEVNULL)
    told = dict(zip(reads, map(json.loads, done.stdout.splitlines()), strict=True))
    assert {name: each for name, each in told.items() if not each[0]} == {}, done.stderr
    assert {name: not each[1] for name, each in told.items()} == {name: taken for name, (_, taken) in reads.items()}
