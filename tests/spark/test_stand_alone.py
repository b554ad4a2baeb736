"""Files of an export by themselves and as a directory: every reader finds each record's topic and partition."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kafkafs.spark.export import parquet
from kafkafs.spark.export.dates import By
from kafkafs.spark.export.export_plan import FileUnit
from kafkafs.spark.export.output import output
from kafkafs.tables.locations import Location
from kafkafs.tables.offsets import TopicPartition
from kafkafs.tables.planning import PartitionRange
from tests.log.making import made, spread, write_partition

START_MS = 1_790_000_000_000
NAMES = [("t", 0), ("t", 11), ("42", 3)]
BY = ["", "day"]


def write(place: Path, topic: str, partition: int, by: By = "", has_place_columns: bool = True) -> None:
    """An export of 21 records of a partition in `place`/out, as a worker writes it."""
    batches = [made(first, [START_MS + at for at in range(first, first + 7)]) for first in (0, 7, 14)]
    write_partition(place / f"data-{topic}-{partition}", spread(batches, 5), f"{topic}-{partition}")
    each = PartitionRange(Location(place / f"data-{topic}-{partition}", TopicPartition(topic, partition)), 0, 21)
    unit = FileUnit(each, 1, f"topic={topic}/partition={partition}/{0:020d}-{21:020d}.parquet", by)
    columns = parquet.columns_of(unit, {}, has_place_columns)
    parquet.write(unit, output(str(place / "out")), "read_uncommitted", "snappy", columns)


def expected(*names: tuple[str, int]) -> list[tuple[str, int, int]]:
    return sorted((topic, partition, offset) for topic, partition in names for offset in range(21))


@pytest.fixture(params=BY)
def exported(request, tmp_path) -> Path:
    for name in NAMES[:2]:
        write(tmp_path, *name, request.param)
    out: Path = tmp_path / "out"
    return out


def test_a_file_alone_has_its_topic_and_partition(exported):
    found = []
    for file in exported.rglob("*.parquet"):
        table = pq.ParquetFile(file).read()
        assert (table.schema.field("topic").type, table.schema.field("partition").type) == (pa.string(), pa.int32())
        found += list(zip(*(table[name].to_pylist() for name in ("topic", "partition", "offset")), strict=True))
        footer = pq.ParquetFile(file).metadata.row_group(0)
        encodings = {footer.column(at).path_in_schema: footer.column(at).encodings for at in range(footer.num_columns)}
        assert "RLE_DICTIONARY" in encodings["topic"]
        assert "RLE_DICTIONARY" in encodings["partition"]
    assert sorted(found) == expected(*NAMES[:2])


def rows_of(table: pa.Table) -> list[tuple[str, int, int]]:
    return sorted(zip(*(table[name].to_pylist() for name in ("topic", "partition", "offset")), strict=True))


def test_a_dataset_of_arrow_takes_both(exported):
    assert rows_of(ds.dataset(exported, partitioning="hive").to_table()) == expected(*NAMES[:2])
    assert rows_of(pq.read_table(exported, partitioning=None)) == expected(*NAMES[:2])
    assert rows_of(pa.Table.from_pandas(pd.read_parquet(exported, partitioning=None))) == expected(*NAMES[:2])
    only = ds.dataset(exported, partitioning="hive").to_table(filter=ds.field("partition") == 11)
    assert rows_of(only) == expected(("t", 11))


def test_polars_takes_both(exported):
    for hive in (True, False):
        frame = pl.scan_parquet(f"{exported}/**/*.parquet", hive_partitioning=hive)
        found = frame.select("topic", "partition", "offset").collect().to_arrow()
        assert rows_of(found) == expected(*NAMES[:2])


def by_duckdb(query: str) -> list[tuple[str, int, int]]:
    """Topics, partitions and offsets as DuckDB's own command line tells them."""
    done = subprocess.run(
        [Path(sys.executable).parent / "duckdb", "-csv", "-noheader", "-c", query],
        capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    rows = [line.split(",") for line in done.stdout.splitlines()]
    return sorted((topic, int(partition), int(offset)) for topic, partition, offset in rows)


def test_duckdb_takes_both(exported):
    columns = 'select topic, partition, "offset" from'
    for hive in ("true", "false"):
        files = f"read_parquet('{exported}/**/*.parquet', hive_partitioning={hive})"
        assert by_duckdb(f"{columns} {files}") == expected(*NAMES[:2])
    assert by_duckdb(f"{columns} '{exported}/**/*.parquet' where partition = 11") == expected(("t", 11))


def test_spark_takes_both(exported, spark: SparkSession):
    frame = spark.read.parquet(str(exported))
    assert sorted(map(tuple, frame.select("topic", "partition", "offset").collect())) == expected(*NAMES[:2])
    assert frame.where("partition = 11 and topic = 't'").count() == 21


def test_a_topic_that_is_a_number_takes_the_types_of_the_columns(tmp_path):
    """Readers that infer a number from the path must be told, or read the files' own column."""
    for name in NAMES:
        write(tmp_path, *name)
    out = tmp_path / "out"
    types = ds.partitioning(pa.schema([("topic", pa.string()), ("partition", pa.int32())]), flavor="hive")
    assert rows_of(ds.dataset(out, partitioning=types).to_table()) == expected(*NAMES)
    assert rows_of(pl.scan_parquet(out, hive_partitioning=False).collect().to_arrow()) == expected(*NAMES)
    assert by_duckdb(f"select topic, partition, \"offset\" from '{out}/**/*.parquet'") == expected(*NAMES)
