"""Streaming from a data directory that a broker is writing."""

import json
from pathlib import Path

import pytest
from confluent_kafka.admin import NewPartitions
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable

from kafkafs.spark.tasks import Task
from tests.kafka.broker import wait_until
from tests.kafka.dataset import Dataset
from tests.kafka.writer import Record, Topic, Writer, create, delete_records, roll
from tests.spark.streams import finish, offsets
from tests.spark.test_limited_stream import reader

LATEST = Dataset("4.3.1", "stopped")
OFFSETS = '{"partitions":{"0":1,"1":-2,"2":-1,"3":0,"4":-2}}'


def read(spark: SparkSession, path: Path, **options: object) -> DataFrame:
    stream = spark.readStream.format("kafkafs").option("path", str(path))
    for name, value in options.items():
        stream = stream.option(name, str(value))
    return stream.load()


def run(stream: DataFrame, out: Path) -> list[tuple[int, int]]:
    """All that is there now, appended to a table: what the table has then, as (partition, offset)."""
    places = {"path": str(out / "table"), "checkpointLocation": str(out / "checkpoint")}
    query = stream.select("partition", "offset", "value").writeStream.format("parquet").options(**places)
    finish(lambda: query.trigger(availableNow=True).start().awaitTermination(90))
    found = stream.sparkSession.read.parquet(str(out / "table")).toArrow()
    return sorted(zip(found["partition"].to_pylist(), found["offset"].to_pylist(), strict=True))


def committed(out: Path) -> list[dict[str, object]]:
    """The offsets in a checkpoint, batch by batch."""
    files = sorted((out / "checkpoint" / "offsets").glob("[0-9]*"), key=lambda file: int(file.name))
    return [offsets(json.loads(file.read_text().splitlines()[-1])) for file in files]


def test_offsets_are_those_of_the_kafka_source():
    stream = reader(LATEST.path, subscribe="partitions", startingOffsets=OFFSETS)
    ends = {str(number): LATEST.offsets("partitions", number).latest for number in range(5)}
    begun = stream.initialOffset()
    assert offsets(begun) == {"partitions": {"0": 1, "1": 0, "2": ends["2"], "3": 0, "4": 0}}
    assert offsets(stream.latestOffset(begun, ReadAllAvailable())) == {"partitions": ends}
    assert offsets(reader(LATEST.path, subscribe="partitions").initialOffset()) == {"partitions": ends}


def test_new_partitions_begin_at_their_start_and_losses_are_reported():
    stream = reader(LATEST.path, subscribe="partitions,deleted")
    start = {"partitions": {"0": 2}}
    end = {"partitions": {"0": 4, "1": 3}}
    tasks = stream.partitions(start, end)
    found = [each for task in tasks if isinstance(task, Task) for each in task.ranges]
    assert [(each.location.name.partition, each.start, each.end) for each in found] == [(0, 2, 4), (1, 0, 3)]
    gone = {"partitions": {"9": 1}}
    with pytest.raises(Exception, match="partitions-9 are gone"):
        stream.partitions(gone, {"partitions": {"0": 4}} | gone)
    late = {"deleted": {"0": LATEST.offsets("deleted").latest}}
    with pytest.raises(Exception, match="failOnDataLoss"):
        stream.partitions({"deleted": {"0": 0}}, late)
    patient = reader(LATEST.path, subscribe="deleted", failOnDataLoss="false")
    (task,) = patient.partitions({"deleted": {"0": 0}}, late)
    assert isinstance(task, Task)
    assert task.ranges[0].start == LATEST.offsets("deleted").earliest


def test_a_stream_follows_a_living_broker(spark: SparkSession, running_broker, tmp_path):
    """Growth, a new segment, a new partition and a stop in between: each record once. Then a loss."""
    node = running_broker("4.3.1")
    topic, out = "streamed", tmp_path / "out"
    create(node, {topic: Topic(partitions=2)})
    writer = Writer(node)
    writer.batch(topic, [Record(b"%d" % number) for number in range(30)], 0)
    options = {"subscribe": topic, "startingOffsets": "earliest", "maxOffsetsPerTrigger": 12}
    assert run(read(spark, node.data, **options), out) == [(0, offset) for offset in range(30)]
    assert len(committed(out)) >= 3
    assert committed(out)[-1] == {topic: {"0": 30, "1": 0}}

    last = len(committed(out)) - 1
    for name in (str(last), f".{last}.crc"):  # as if killed before its last commit
        (out / "checkpoint" / "commits" / name).unlink()
    roll(node, writer, topic, 1)
    more = len(list((node.data / f"{topic}-1").glob("*.log")))
    writer.batch(topic, [Record(b"x")] * 5, 1)
    node.admin.create_partitions([NewPartitions(topic, 3)])[topic].result(30)
    wait_until(lambda: (node.data / f"{topic}-2").exists(), "the new partition")
    Writer(node).batch(topic, [Record(b"new")] * 4, 2)  # one that has not heard of two partitions
    found = run(read(spark, node.data, **options), out)
    assert more >= 2
    assert found == sorted(set(found))
    assert [place for place in found if place[0] == 0] == [(0, offset) for offset in range(30)]
    assert [place for place in found if place[0] == 2] == [(2, offset) for offset in range(4)]
    assert len([place for place in found if place[0] == 1]) >= 7

    writer.batch(topic, [Record(b"lost")] * 10, 0)
    delete_records(node, topic, 35)
    begun = {topic: {"0": 30, "1": 0, "2": 0}}
    wanted = reader(node.data, subscribe=topic).latestOffset(begun, ReadAllAvailable())
    assert wanted[topic]["0"] == 40


def test_a_stream_that_lost_records_ends_with_a_sentence(spark: SparkSession, tmp_path):
    options = {"subscribe": "deleted", "startingOffsets": '{"deleted":{"0":1}}'}
    with pytest.raises(StreamingQueryException, match="are gone"):
        run(read(spark, LATEST.path, **options), tmp_path / "fails")
    found = run(read(spark, LATEST.path, failOnDataLoss="false", **options), tmp_path / "goes-on")
    assert [offset for _, offset in found] == [record.offset for record in LATEST.records("deleted")]
