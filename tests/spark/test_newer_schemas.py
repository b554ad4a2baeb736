"""Schemas that go on after the first run of an export: the next run says so, and the table stays readable."""

import io
import json
from pathlib import Path
from typing import Any

import duckdb
import fastavro
import pyarrow.dataset as ds

from kafkafs.cli.main import main
from kafkafs.spark.export.newer_schemas import newer_schemas
from kafkafs.tables import locations
from kafkafs.tables.typed.reader_schema import ReaderSchema
from tests.format import golden
from tests.format.batch_maker import v2_batch
from tests.kafka.registered import registered
from tests.log.making import Made, write_partition
from tests.tables.test_registered import registry

ONE = {"type": "record", "name": "Order", "fields": [{"name": "a", "type": "long"}]}
TWO = ONE | {"fields": [*ONE["fields"], {"name": "b", "type": "string", "default": "none"}]}


def words(version: int) -> dict[str, Any]:
    return ReaderSchema("AVRO", "t-value", version, json.dumps(ONE)).words()


def test_a_newer_version_is_named():
    (reported,) = newer_schemas(registry(ONE, TWO), {"t": words(1)})
    assert reported.startswith("the columns of t follow version 1 of t-value, and there is version 2 by now")
    assert newer_schemas(registry(ONE, TWO), {"t": words(2)}) == []
    assert newer_schemas(registry(ONE), {"t": words(1), "u": ReaderSchema().words()}) == []


def of(first: int, *payloads: tuple[bytes | None, bytes]) -> list[Made]:
    return [
        Made(v2_batch([golden.Record(first + at, 1_000 + at, 0, key, value)]), ())
        for at, (key, value) in enumerate(payloads)
    ]


def avro(number: int, schema: Any, datum: Any) -> tuple[bytes, bytes]:
    file = io.BytesIO()
    fastavro.schemaless_writer(file, fastavro.parse_schema(schema), datum)
    return b"k", b"\0" + number.to_bytes(4) + file.getvalue()


def run(place: Path, value: str, *more: str) -> None:
    locations.open_directories.close()
    words = ["export", str(place / "data"), "--to", str(place / "out"), "--topics", "t", "--value", value, *more]
    assert main(words) == 0


def values(place: Path) -> list[Any]:
    table = ds.dataset(place / "out", partitioning="hive").to_table().sort_by("offset")
    return [row["value"] for row in table.to_pylist()]


def test_an_added_field_of_avro_is_reported_and_the_table_stays_readable(tmp_path, capsys):
    """Regression: its values were left out, and nothing said so."""
    schemas = [registered("t-value", 1, 1, json.dumps(ONE)), registered("t-value", 2, 2, json.dumps(TWO))]
    records = [avro(1, ONE, {"a": 1}), avro(2, TWO, {"a": 2, "b": "new"})]
    write_partition(tmp_path / "data", {0: of(0, *schemas[:1])}, "_schemas-0")
    write_partition(tmp_path / "data", {0: of(0, *records[:1])}, "t-0")
    run(tmp_path, "registry")
    assert "by now" not in capsys.readouterr().err
    write_partition(tmp_path / "data", {0: of(0, *schemas)}, "_schemas-0")
    write_partition(tmp_path / "data", {0: of(0, *records)}, "t-0")
    run(tmp_path, "registry")
    reported = capsys.readouterr().err
    assert (
        "kafkafs: the columns of t follow version 1 of t-value, and there is version 2 by now: fields that" in reported
    )
    assert values(tmp_path) == [{"a": 1}, {"a": 2}]


def test_a_field_of_json_that_becomes_text_is_reported_and_the_table_stays_readable(tmp_path, capsys):
    records = [(b"k", b'{"a":1}'), (b"k", b'{"a":"one"}'), (b"k", b'{"a":2}')]
    write_partition(tmp_path / "data", {0: of(0, *records[:1])}, "t-0")
    run(tmp_path, "json")
    write_partition(tmp_path / "data", {0: of(0, *records)}, "t-0")
    run(tmp_path, "json")
    reported = capsys.readouterr().err
    assert "kafkafs: 1 new values of t do not fit the columns that its first run made: valueBytes has" in reported
    assert "1 values do not fit their topic's columns: see valueBytes" in reported
    assert values(tmp_path) == [{"a": 1}, None, {"a": 2}]
    files = f"'{tmp_path}/out/**/*.parquet'"
    read = duckdb.execute(f'select value.a, valueBytes from {files} order by "offset"').fetchall()
    assert read == [(1, None), (None, b'{"a":"one"}'), (2, None)]
    run(tmp_path, "json")
    assert "new values" not in capsys.readouterr().err, "those of earlier runs"
