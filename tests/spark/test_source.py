"""`format("kafkafs")` in batch: rows against a consumer's truth, options and refusals as of Spark's Kafka source."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from kafkafs.errors import UsageError
from kafkafs.spark.frame import Frame
from kafkafs.spark.source import BatchReader, KafkafsDataSource
from kafkafs.spark.source_options import batch_options
from kafkafs.spark.tasks import Task
from kafkafs.tables.arrow import schema as arrow_schema
from tests.kafka import jars
from tests.kafka.dataset import Dataset
from tests.spark.reading import frame, row, rows, rows_of

LATEST = Dataset("4.3.1", "stopped")
SCHEMA = [
    ("key", "binary"), ("value", "binary"), ("topic", "string"), ("partition", "int"), ("offset", "bigint"),
    ("timestamp", "timestamp"), ("timestampType", "int"),
]  # fmt: skip


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
@pytest.mark.parametrize("release", jars.RELEASES)
def test_rows_are_what_a_consumer_gets(release, isolation):
    """Each topic of each release, by the tasks that Spark would run."""
    data = Dataset(release, "stopped")
    for place in data.partitions(internal=True):
        assign = json.dumps({place.topic: [place.partition]})
        tasks = planned(data.path, assign=assign, includeHeaders="true", kafka__isolation__level=isolation)
        table = pa.Table.from_batches(
            [batch for task in tasks for batch in Frame(headers=True).read(task)], arrow_schema(True)
        )
        wanted = [row(*place, record) for record in data.records(*place, isolation)]
        assert rows_of(table) == wanted


EXECUTOR = """
import gc, sys
from kafkafs.spark.source import KafkafsDataSource
source = KafkafsDataSource({"path": sys.argv[1], "subscribe": "headers"})
reader = source.reader(source.schema())
task, *_ = reader.partitions()
assert sum(batch.num_rows for batch in reader.read(task))
left = gc.get_objects()
print(len(left))
"""


def test_garbage_is_looked_for_in_few_objects_after_a_task():
    """Spark collects it each time, in a process with tens of thousands of them."""
    found = subprocess.run([sys.executable, "-c", EXECUTOR, LATEST.path], capture_output=True, text=True, check=True)
    assert int(found.stdout) < 5000


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_rows_arrive_through_spark(spark: SparkSession, isolation):
    topics = ["transactions", "headers", "nulls", "partitions", "compacted-transactions"]
    places = [place for place in LATEST.partitions() if place.topic in topics]
    assign = json.dumps(_by_topic(places))
    read = frame(spark, LATEST.path, assign=assign, includeHeaders="true", kafka__isolation__level=isolation)
    wanted = [row(*place, record) for place in places for record in LATEST.records(*place, isolation)]
    assert rows(read) == sorted(wanted, key=lambda each: each[:3])


def _by_topic(places) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for place in places:
        topics.setdefault(place.topic, []).append(place.partition)
    return topics


def test_schema_is_that_of_the_kafka_source(spark: SparkSession):
    read = frame(spark, LATEST.path, subscribe="binary", includeHeaders="true")
    assert read.dtypes == [*SCHEMA, ("headers", "array<struct<key:string,value:binary>>")]
    assert frame(spark, LATEST.path, subscribe="binary").dtypes == SCHEMA


def test_records_without_headers_have_none(spark: SparkSession):
    read = frame(spark, LATEST.path, subscribe="headers,binary", includeHeaders="true")
    with_headers = sum(1 for record in LATEST.records("headers") if record.headers)
    assert read.where("headers is not null").count() == with_headers


def planned(path: Path | str, **options: object) -> list[Task]:
    """The tasks of a batch read, planned in this process."""
    named = {name.replace("__", "."): str(value) for name, value in options.items()}
    tasks = BatchReader(batch_options({"path": str(path), **named}), Frame()).partitions()
    assert all(isinstance(task, Task) for task in tasks)
    return tasks  # type: ignore[return-value]


def ranges(tasks: list[Task]) -> list[tuple[str, int, int]]:
    return [(str(each.location.name), each.start, each.end) for task in tasks for each in task.ranges]


def read_all(tasks: list[Task]) -> int:
    return sum(batch.num_rows for task in tasks for batch in Frame().read(task))


def test_offsets_may_be_given_each(spark: SparkSession):
    options = {
        "subscribe": "partitions",
        "startingOffsets": '{"partitions":{"0":3,"1":-2,"2":0,"3":1,"4":-2}}',
        "endingOffsets": '{"partitions":{"0":7,"1":-1,"2":5,"3":-1,"4":-1}}',
    }
    found = {(each[1], each[2]) for each in rows(frame(spark, LATEST.path, **options))}
    ends = {number: LATEST.offsets("partitions", number).latest for number in range(5)}
    wanted = {0: range(3, 7), 1: range(ends[1]), 2: range(5), 3: range(1, ends[3]), 4: range(ends[4])}
    assert found == {(number, offset) for number, offsets in wanted.items() for offset in offsets}


@pytest.mark.parametrize("topic", ["segments-disorder", "disorder"])
def test_times_lead_to_the_first_record_at_or_after_them(topic):
    records = LATEST.records(topic)
    times = sorted({record.timestamp_ms for record in records})
    for time in times[:: max(1, len(times) // 12)]:
        tasks = planned(LATEST.path, subscribe=topic, startingTimestamp=time)
        assert tasks[0].ranges[0].start == next(each.offset for each in records if each.timestamp_ms >= time)
        by_partition = json.dumps({topic: {"0": time}})
        ended = planned(LATEST.path, subscribe=topic, endingOffsetsByTimestamp=by_partition)
        assert [end for _, _, end in ranges(ended)] == [tasks[0].ranges[0].start] or tasks[0].ranges[0].start == 0
    late = times[-1] + 1
    with pytest.raises(Exception, match="startingOffsetsByTimestampStrategy"):
        planned(LATEST.path, subscribe=topic, startingTimestamp=late)
    strategy = {"startingOffsetsByTimestampStrategy": "latest"}
    assert planned(LATEST.path, subscribe=topic, startingTimestamp=late, **strategy) == []


def test_a_time_leads_to_a_marker_where_a_broker_says_so():
    """Spark's own source asks the broker, which counts markers and aborted records."""
    reported = LATEST.list_offsets("transactions") or {}
    asked = {time: found.offset for time, found in reported.items() if time >= 0 and found.offset >= 0}
    for time, offset in asked.items():
        ended = planned(LATEST.path, subscribe="transactions", endingTimestamp=time)
        assert [end for _, _, end in ranges(ended)] == ([offset] if offset else [])
    data = {record.offset for record in LATEST.records("transactions")}
    assert set(asked.values()) - data, "some of the answers are markers"


def test_a_time_can_be_latest_or_earliest():
    """Regression: all records came before the latest, and none up to it: what Spark's own source hands to a broker."""

    def tiles(side: str, time: int) -> list[tuple[str, int, int]]:
        times = {f"{side}OffsetsByTimestamp": json.dumps({"segments": {"0": time}})}
        found = ranges(planned(LATEST.path, subscribe="segments", **times))
        assert ranges(planned(LATEST.path, subscribe="segments", **{f"{side}Timestamp": time})) == found
        return found

    assert tiles("starting", -2) == tiles("ending", -1) == ranges(planned(LATEST.path, subscribe="segments")) != []
    assert tiles("starting", -1) == tiles("ending", -2) == []
    with pytest.raises(UsageError, match="is before 1970"):
        tiles("starting", -5)


REFUSED: dict[str, dict[str, object]] = {
    "one of the options subscribe": {},
    "no topic 'nope'": {"subscribe": "nope"},
    "no partition binary-7": {"assign": '{"binary":[7]}'},
    "must name all topic partitions": {"subscribe": "partitions", "startingOffsets": '{"partitions":{"0":1}}'},
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_the_kafka_source_refuses_is_refused(reason):
    """The options by themselves: test_source_options.py."""
    with pytest.raises(Exception, match=reason):
        planned(LATEST.path, **REFUSED[reason])


@pytest.mark.parametrize("value", ["true", "false"])
def test_filters_are_not_pushed_any_more(spark: SparkSession, value):
    """Regression: `(d.where("offset < 10").count(), d.count())` of one frame gave the same number twice."""
    with pytest.raises(AnalysisException, match="'pushFilters' is not supported: Spark keeps what it read"):
        frame(spark, LATEST.path, subscribe="partitions", pushFilters=value).count()


def test_a_refusal_reaches_the_user_of_spark(spark: SparkSession):
    with pytest.raises(AnalysisException, match="there is no topic 'nope'"):
        frame(spark, LATEST.path, subscribe="nope").count()


def test_sql_makes_views_and_is_refused_tables(spark: SparkSession):
    """A table could be made, but Spark reads it without the options that it was made with."""
    what = f"USING kafkafs OPTIONS (path '{LATEST.path}', subscribe 'partitions')"
    with pytest.raises(Exception, match="make it a view: CREATE TEMPORARY VIEW"):
        spark.sql(f"CREATE TABLE refused {what}")
    assert not spark.catalog.tableExists("refused")
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW taken {what}")
    assert spark.sql("SELECT count(*) FROM taken WHERE partition = 0").head() == (len(LATEST.records("partitions", 0)),)


def test_another_schema_is_refused(spark: SparkSession):
    reader = spark.read.format("kafkafs").option("path", str(LATEST.path)).option("subscribe", "binary")
    with pytest.raises(AnalysisException, match="the schema is fixed"):
        reader.schema("value binary").load().count()


def test_a_pattern_leaves_internal_topics_out():
    topics = {name for name, _, _ in ranges(planned(LATEST.path, subscribePattern=".*"))}
    assert topics
    assert not any(name.startswith("__") for name in topics)


def test_a_pattern_may_match_a_part_of_a_name():
    topics = {name for name, _, _ in ranges(planned(LATEST.path, subscribePattern="odec-l"))}
    assert topics == {"codec-lz4-0"}


def test_lost_records_fail_a_read_unless_it_may_go_on(spark: SparkSession):
    earliest = LATEST.offsets("deleted").earliest
    options = {"subscribe": "deleted", "startingOffsets": '{"deleted":{"0":1}}'}
    with pytest.raises(Exception, match="are gone"):
        planned(LATEST.path, **options)
    found = rows(frame(spark, LATEST.path, failOnDataLoss="false", **options))
    assert found[0][2] == earliest == LATEST.records("deleted")[0].offset


def test_what_an_open_transaction_hides_stays_hidden():
    """Regression: an ending offset behind the last stable one handed out records of open transactions as committed."""
    offsets = LATEST.offsets("transactions-open")
    options = {
        "subscribe": "transactions-open", "kafka__isolation__level": "read_committed",
        "endingOffsets": f'{{"transactions-open":{{"0":{offsets.latest}}}}}',
    }  # fmt: skip
    with pytest.raises(Exception, match=f"has an open transaction, which hides offsets {offsets.latest_committed} to"):
        planned(LATEST.path, **options)
    tasks = planned(LATEST.path, failOnDataLoss="false", **options)
    assert read_all(tasks) == len(LATEST.records("transactions-open", isolation="read_committed"))


@pytest.mark.parametrize("topic", ["long-index", "segments", "one-record", "compacted"])
@pytest.mark.parametrize("wish", [{"minPartitions": 7}, {"maxRecordsPerPartition": 11}, {"minPartitions": 1000}])
def test_splits_tile_the_log(topic, wish):
    tasks = planned(LATEST.path, subscribe=topic, **wish)
    tiles = ranges(tasks)
    assert all(before[2] == after[1] for before, after in pairwise(tiles))
    assert (tiles[0][1], tiles[-1][2]) == (LATEST.offsets(topic).earliest, LATEST.offsets(topic).latest)
    assert len(tiles) >= min(wish.get("minPartitions", 1), tiles[-1][2] - tiles[0][1]) * 0.7
    assert all(end - start <= wish.get("maxRecordsPerPartition", end) for _, start, end in tiles)
    assert read_all(tasks) == len(LATEST.records(topic))


def test_a_time_filter_skips_a_segment_without_a_record_at_or_after_it(spark: SparkSession):
    """Times in disorder: a filter must find every match, wherever it stands."""
    records = LATEST.records("segments-disorder")
    for time in sorted({record.timestamp_ms for record in records})[:: len(records) // 5]:
        moment = datetime.fromtimestamp(time / 1000, UTC)
        found = rows(frame(spark, LATEST.path, subscribe="segments-disorder").where(f"timestamp >= '{moment}'"))
        assert [each[2] for each in found] == [each.offset for each in records if each.timestamp_ms >= time]


@pytest.mark.parametrize("pushed", ["true", "false"])
def test_queries_of_one_frame_know_nothing_of_each_other(spark: SparkSession, pushed):
    """Regression: Spark keeps what was read under a pushed filter, and the next query got no other rows."""
    spark.conf.set("spark.sql.python.filterPushdown.enabled", pushed)
    whole = frame(spark, LATEST.path, subscribe="partitions")
    count = sum(len(LATEST.records("partitions", number)) for number in range(5))
    assert 0 < whole.where("offset >= 5").count() < count
    assert whole.count() == count
    assert whole.where("offset >= 5").union(whole.where("offset < 5")).count() == count
    whole.createOrReplaceTempView("everything")
    assert spark.sql("select * from everything where partition = 0").count() == len(LATEST.records("partitions", 0))
    assert spark.sql("select * from everything").count() == count
    spark.conf.unset("spark.sql.python.filterPushdown.enabled")


def test_several_directories_are_one(spark: SparkSession, tmp_path):
    first = LATEST.copy_to(tmp_path / "disk-1", "partitions-0", "partitions-1")
    LATEST.copy_to(tmp_path / "disk-2", "partitions-2", "partitions-3", "partitions-4")
    whole = [len(LATEST.records("partitions", number)) for number in range(5)]
    assert frame(spark, f"{tmp_path}/disk-*", subscribe="partitions").count() == sum(whole)
    assert frame(spark, f"{tmp_path}/disk-1,{tmp_path}/disk-2", subscribe="partitions").count() == sum(whole)
    assert spark.read.format("kafkafs").option("subscribe", "partitions").load(str(first)).count() == sum(whole[:2])
    LATEST.copy_to(tmp_path / "disk-3", "partitions-0")
    with pytest.raises(Exception, match="is both in"):
        planned(f"{tmp_path}/disk-*", subscribe="partitions")


def test_small_partitions_share_a_batch():
    """Each costs Spark's JVM some milliseconds, and a directory can have 10,000 partitions of ten records."""
    (task,) = planned(LATEST.path, subscribe="partitions", includeHeaders="true")
    (batch,) = Frame().read(task)
    wanted = [row("partitions", number, each) for number in range(5) for each in LATEST.records("partitions", number)]
    assert sorted(rows_of(pa.Table.from_batches([batch]))) == sorted(wanted)


def test_arrow_columns_are_those_that_spark_expects():
    from pyspark.sql.pandas.types import to_arrow_schema

    for headers in ("true", "false"):
        source = KafkafsDataSource({"includeHeaders": headers})
        assert to_arrow_schema(source.schema(), timezone="UTC").equals(arrow_schema(headers == "true"))


def test_another_directory_under_a_known_name_is_read(tmp_path):
    """A worker process of Spark's lives on from job to job."""
    LATEST.copy_to(tmp_path / "data", "segments-0")
    assert read_all(planned(tmp_path / "data", subscribe="segments")) == len(LATEST.records("segments"))
    (tmp_path / "data").rename(tmp_path / "before")
    LATEST.copy_to(tmp_path / "data", "segments-0", "headers-0")
    assert read_all(planned(tmp_path / "data", subscribe="headers")) == len(LATEST.records("headers"))
