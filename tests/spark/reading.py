"""Reads through Spark, and what they are compared with."""

from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tests.kafka.dataset import Record

TYPES = {None: -1, "CreateTime": 0, "LogAppendTime": 1}
Row = tuple[Any, ...]


def frame(spark: SparkSession, path: Path | str, **options: object) -> DataFrame:
    """A batch read."""
    reader = spark.read.format("kafkafs").option("path", str(path))
    for name, value in options.items():
        reader = reader.option(name.replace("__", "."), str(value))
    return reader.load()


def rows(read: DataFrame) -> list[Row]:
    """(topic, partition, offset, ms, timestampType, key, value, headers) in order of place."""
    return rows_of(read.toArrow())


def rows_of(table: pa.Table) -> list[Row]:
    """The same of an Arrow table."""
    columns = {name: table.column(name) for name in table.column_names}
    times = [None if each is None else each // 1000 for each in columns["timestamp"].cast("int64").to_pylist()]
    headers = columns["headers"].to_pylist() if "headers" in columns else [None] * len(table)
    pairs = [tuple((each["key"], each["value"]) for each in some or ()) for some in headers]
    parts = [columns[name].to_pylist() for name in ("topic", "partition", "offset")]
    others = [columns[name].to_pylist() for name in ("timestampType", "key", "value")]
    return sorted(zip(*parts, times, *others, pairs, strict=True), key=lambda row: row[:3])


def row(topic: str, partition: int, record: Record) -> Row:
    """A record of the truth in the same form."""
    return (
        topic, partition, record.offset, record.timestamp_ms, TYPES[record.timestamp_type], record.key, record.value,
        record.headers,
    )  # fmt: skip
