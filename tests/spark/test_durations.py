"""Types of Spark in the footer of a file that has durations."""

import json
from datetime import timedelta

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from kafkafs.spark.export.durations import with_durations
from kafkafs.spark.export.output import output
from kafkafs.spark.export.parquet import FileWriter
from kafkafs.spark.frame import as_spark
from kafkafs.tables.typed.typed_columns import COLUMNS, READ_TYPES

LENGTH = pa.duration("us")
EVERY = sorted({*COLUMNS.values(), *READ_TYPES.values(), pa.string(), pa.decimal128(9, 2)}, key=str)


def test_each_type_is_written_as_spark_writes_it():
    """Every type that a typed column can have, alone and inside others."""
    inner = [pa.struct([pa.field(f"{number}", each) for number, each in enumerate(EVERY)]), LENGTH]
    inner += [kind for each in EVERY for kind in (pa.list_(each), pa.map_(pa.string(), each))]
    columns = pa.schema([pa.field(f"column {number}", each) for number, each in enumerate([*EVERY, *inner])])
    (reported,) = with_durations(columns).metadata.values()
    in_spark = pa.schema([each.with_type(as_spark(each.type)) for each in columns])
    assert StructType.fromJson(json.loads(reported)) == from_arrow_schema(in_spark, prefer_timestamp_ntz=True)


def test_without_a_duration_nothing_is_added():
    columns = pa.schema([pa.field("a", pa.struct([pa.field("b", pa.list_(pa.int64()))]))])
    assert with_durations(columns).metadata is None


def test_spark_and_arrow_read_durations(tmp_path, spark: SparkSession):
    lengths = [timedelta(microseconds=-1), None, timedelta(days=3_652_500)]
    kind = pa.struct([pa.field("a", pa.struct([pa.field("b", LENGTH), pa.field("n", pa.uint64())]))])
    column = pa.array([{"a": {"b": each, "n": 2**64 - 1}} for each in lengths], kind)
    times = pa.nulls(3, pa.timestamp("us", tz="UTC"))
    table = pa.table({"value": column, "timestamp": times})
    with FileWriter(output(str(tmp_path)), "file.parquet", "snappy", table.schema) as writer:
        for batch in table.to_batches():
            writer.add(batch)
    assert pq.read_table(tmp_path / "file.parquet").equals(table)
    read = spark.read.parquet(str(tmp_path)).select("value.a.b", "value.a.n").collect()
    assert [row["b"] for row in read] == lengths
    assert {int(row["n"]) for row in read} == {2**64 - 1}
