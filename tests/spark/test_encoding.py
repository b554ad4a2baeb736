"""Encodings and statistics of an export's columns."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kafkafs.spark.export import encoding
from kafkafs.spark.export.output import output
from kafkafs.spark.export.parquet import FileWriter

ROWS = 20_000


def file_of(table: pa.Table, place: Path) -> dict[str, Any]:
    """The columns of the first row group of a file with these rows, by their paths."""
    with FileWriter(output(str(place)), "file", "snappy", table.schema) as writer:
        for batch in table.to_batches():
            writer.add(batch)
    group = pq.ParquetFile(place / "file").metadata.row_group(0)
    return {group.column(at).path_in_schema: group.column(at) for at in range(group.num_columns)}


def typed(rows: int) -> pa.Table:
    dice = np.random.default_rng(1)
    some = pa.array([["open", "shut", "ajar"][at % 3] for at in range(rows)])
    each = pa.array([f"order {at:030d}" for at in dice.permutation(rows)])
    numbers = pa.array(np.arange(rows))
    value = pa.StructArray.from_arrays([some, each, numbers], ["state", "name", "number"])
    lists = pa.ListArray.from_arrays(pa.array(np.arange(rows + 1), pa.int32()), some)
    maps = pa.MapArray.from_arrays(pa.array(np.arange(rows + 1), pa.int32()), some, each)
    columns = {
        "key": some.cast(pa.binary()), "value": value, "tags": lists, "labels": maps,
        "valueBytes": pa.nulls(rows, pa.binary()), "topic": pa.array(["t"] * rows),
        "timestamp": pa.array(np.arange(rows)).cast(pa.timestamp("us", tz="UTC")),
    }  # fmt: skip
    return pa.table(columns)


def test_what_repeats_has_a_dictionary_and_what_does_not_has_none(tmp_path):
    """Regression: a column of three values took two bytes a row."""
    columns = file_of(typed(ROWS), tmp_path)
    assert {name for name, each in columns.items() if each.has_dictionary_page} == {
        "key", "value.state", "tags.list.element", "labels.key_value.key", "topic",
    }  # fmt: skip
    assert columns["value.state"].total_compressed_size < ROWS // 2


def test_typed_leaves_have_statistics(tmp_path):
    columns = file_of(typed(ROWS), tmp_path)
    found = {name: each.statistics for name, each in columns.items() if each.is_stats_set}
    assert (found["value.number"].min, found["value.number"].max) == (0, ROWS - 1)
    assert (found["value.state"].min, found["value.state"].max) == ("ajar", "shut")
    assert found["value.name"].min == f"order {0:030d}"
    assert "tags.list.element" in found
    assert "labels.key_value.value" in found
    assert found["valueBytes"].null_count == ROWS
    assert "key" not in found


def test_a_file_without_rows_is_one_too(tmp_path):
    with FileWriter(output(str(tmp_path)), "file", "snappy", typed(1).schema):
        pass
    assert pq.ParquetFile(tmp_path / "file").read().schema.equals(typed(1).schema)


def test_types_that_cannot_be_counted_have_no_dictionary():
    """Whatever a schema has: an error here would end an export."""
    kinds = [
        pa.decimal128(38, 3), pa.duration("us"), pa.date32(), pa.timestamp("ms"), pa.float32(), pa.bool_(),
        pa.uint64(), pa.struct([]), pa.list_(pa.struct([pa.field("x", pa.decimal128(9, 2))])), pa.null(),
    ]  # fmt: skip
    for kind in kinds:
        table = pa.table({"value": pa.nulls(9, kind), "offset": pa.array(np.arange(9))})
        assert encoding.settings("none", table)["use_dictionary"] == []
        assert encoding.settings("none", table.slice(0, 0))["use_dictionary"] == []
