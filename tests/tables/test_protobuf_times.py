"""Protobuf's `Timestamp` and `Duration` as columns of these types, wherever they stand in a message."""

import datetime
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyiceberg.catalog import load_catalog

import kafkafs
from kafkafs.tables.typed.reader_schema import TIMES, ReaderSchema, reader_schemas_of
from kafkafs.tables.typed.typed_columns import column_type
from tests.iceberg_catalogue import configure_file
from tests.kafka.registered import registered
from tests.log.making import write_partition
from tests.spark.test_newer_schemas import of, run, values
from tests.tables.test_registered import FIRST, registry, typed

MOMENT, LENGTH = pa.timestamp("us", tz="UTC"), pa.duration("us")
ZERO = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
IMPORTS = 'import "google/protobuf/timestamp.proto"; import "google/protobuf/duration.proto"; '
TEXT = 'syntax = "proto3"; ' + IMPORTS + "message A { google.protobuf.%s x = 1; int32 n = 2; }"
FIRST_S, LAST_S = -62_135_596_800, 253_402_300_799
LONGEST_S = 315_576_000_000


def varint(number: int) -> bytes:
    number &= 2**64 - 1
    made = bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    return bytes([*made, number])


def inner(seconds: int, nanos: int) -> bytes:
    """A `Timestamp` or a `Duration`, with no field that is 0."""
    return (b"\x08" + varint(seconds) if seconds else b"") + (b"\x10" + varint(nanos) if nanos else b"")


def field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2, len(content)]) + content


def row_of(text: str, payload: bytes, reader: ReaderSchema | None = None) -> dict[str, Any]:
    (row,) = typed(registry(text, kind="PROTOBUF"), FIRST + b"\0" + payload, reader=reader)
    return row


def reader_of(text: str) -> ReaderSchema:
    return next(reader_schemas_of(registry(text, kind="PROTOBUF"), "t", "value", ()))


def micros(kind: str, seconds: int, nanos: int) -> int | None:
    """By the comments in Google's own files; None for what these do not allow. Microseconds are cut, as Spark's
    `from_protobuf` does."""
    if kind == "Timestamp":
        return seconds * 10**6 + nanos // 1000 if FIRST_S <= seconds <= LAST_S and 0 <= nanos < 10**9 else None
    if abs(seconds) > LONGEST_S or abs(nanos) >= 10**9 or seconds * nanos < 0:
        return None
    return seconds * 10**6 + abs(nanos) // 1000 * (1 if nanos > 0 else -1)


SECONDS = st.one_of(
    st.integers(-2, 2), st.integers(FIRST_S - 2, FIRST_S + 2), st.integers(LAST_S - 2, LAST_S + 2),
    st.integers(LONGEST_S - 2, LONGEST_S + 2), st.integers(-LONGEST_S - 2, -LONGEST_S + 2),
    st.integers(-(2**63), 2**63 - 1), st.integers(FIRST_S, LAST_S),
)  # fmt: skip
NANOS = st.one_of(st.integers(-2000, 2000), st.integers(999_999_000, 10**9 + 1), st.integers(-(2**31), 2**31 - 1))


@given(st.sampled_from(["Timestamp", "Duration"]), SECONDS, NANOS)
@example("Timestamp", FIRST_S, 0)
@example("Timestamp", LAST_S, 999_999_999)
@example("Duration", -LONGEST_S, -999_999_999)
@example("Duration", 0, -1)
def test_each_time_is_its_microseconds_or_keeps_its_bytes(kind: str, seconds: int, nanos: int) -> None:
    """Never another time: one that Protobuf itself does not allow is null, and says why."""
    payload, expected = field(1, inner(seconds, nanos)) + b"\x10\7", micros(kind, seconds, nanos)
    row = row_of(TEXT % kind, payload)
    if expected is None:
        assert (row["value"], row["valueBytes"]) == (None, FIRST + b"\0" + payload)
        assert f"{seconds} seconds and {nanos} nanoseconds" in row["valueError"]
        return
    length = datetime.timedelta(microseconds=expected)
    assert row["value"] == {"x": ZERO + length if kind == "Timestamp" else length, "n": 7}
    assert (row["valueBytes"], row["valueError"]) == (None, None)


PLACES = [
    ("message A { google.protobuf.%s x = 1; }", lambda each: {"x": each}, lambda one: field(1, one)),
    ("message A { repeated google.protobuf.%s x = 1; }", lambda each: {"x": [each] * 2}, lambda one: field(1, one) * 2),
    ("message A { map<string, google.protobuf.%s> x = 1; }", lambda each: {"x": {"k": each}},
     lambda one: field(1, b"\x0a\1k" + field(2, one))),
    ("message A { oneof o { google.protobuf.%s x = 1; int32 y = 2; } }", lambda each: {"x": each, "y": None},
     lambda one: field(1, one)),
    ("message A { B b = 1; message B { google.protobuf.%s x = 2; } }", lambda each: {"b": {"x": each}},
     lambda one: field(1, field(2, one))),
]  # fmt: skip


@pytest.mark.parametrize("kind", ["Timestamp", "Duration"])
@pytest.mark.parametrize(("text", "expected", "payload"), PLACES)
def test_a_time_is_one_wherever_it_stands(text: str, expected: Any, payload: Any, kind: str) -> None:
    text = 'syntax = "proto3"; ' + IMPORTS + text % kind
    length = datetime.timedelta(seconds=3, microseconds=5)
    found = row_of(text, payload(inner(3, 5_999)))
    assert found["value"] == expected(ZERO + length if kind == "Timestamp" else length), found["valueError"]
    assert str(MOMENT if kind == "Timestamp" else LENGTH) in str(column_type(reader_of(text).shape()))


def test_one_that_is_not_there_is_null_and_one_without_fields_is_zero() -> None:
    for kind, zero in (("Timestamp", ZERO), ("Duration", datetime.timedelta())):
        assert row_of(TEXT % kind, b"")["value"] == {"x": None, "n": 0}
        assert row_of(TEXT % kind, b"\x0a\0")["value"] == {"x": zero, "n": 0}


def test_other_types_of_googles_stay_text() -> None:
    text = (
        'syntax = "proto3"; import "google/protobuf/field_mask.proto"; message A { google.protobuf.FieldMask x = 1; }'
    )
    assert row_of(text, field(1, field(1, b"a.b")))["value"] == {"x": "a.b"}


def test_a_message_that_only_has_the_name_is_no_time() -> None:
    """A schema may bring a file of its own in place of Google's."""
    text = 'syntax = "proto3"; package google.protobuf; message Timestamp { string seconds = 1; }'
    row = row_of(text, field(1, b"now"))
    assert (row["value"] is None) == (row["valueError"] is not None)


WORDS = {"type": "PROTOBUF", "subject": "t-value", "version": 1, "text": TEXT % "Timestamp", "references": [],
         "message": "A", "kind": None}  # fmt: skip
"""A reader schema as the plans of 0.4.0 and of earlier releases have it."""


@pytest.mark.parametrize(("kind", "shown"), [("Timestamp", "1970-01-01T00:00:03Z"), ("Duration", "3s")])
def test_a_table_that_an_earlier_release_began_goes_on_with_text(kind: str, shown: str) -> None:
    reader = ReaderSchema.of_words(WORDS | {"text": TEXT % kind})
    assert row_of(TEXT % kind, field(1, inner(3, 0)), reader)["value"] == {"x": shown, "n": 0}
    assert ReaderSchema.of_words(reader.words()) == reader
    newer = reader_of(TEXT % kind)
    assert ReaderSchema.of_words(newer.words()) == newer != reader
    assert newer == replace(reader, times=TIMES)


BOTH = (
    'syntax = "proto3"; ' + IMPORTS + "message A { google.protobuf.Timestamp x = 1; google.protobuf.Duration y = 2; }"
)
PLAN = "_kafkafs_export.json"


def grow(place: Path, *times: tuple[int, int]) -> None:
    """A topic with such times, each as moment and as length, and its schema."""
    schema = registered("t-value", 1, 1, BOTH, schemaType="PROTOBUF")
    payloads = [FIRST + b"\0" + field(1, inner(*each)) + field(2, inner(*each)) for each in times]
    write_partition(place / "data", {0: of(0, schema)}, "_schemas-0")
    write_partition(place / "data", {0: of(0, *((b"k", each) for each in payloads))}, "t-0")


def moment(seconds: int, micros: int = 0) -> dict[str, Any]:
    length = datetime.timedelta(seconds=seconds, microseconds=micros)
    return {"x": ZERO + length, "y": length}


def test_a_file_has_times_and_counts_those_that_are_none(tmp_path, capsys):
    grow(tmp_path, (3, 5_999), (LAST_S + 1, 0), (-1, 0))
    run(tmp_path, "registry")
    assert values(tmp_path) == [moment(3, 5), None, moment(-1)]
    assert "1 values do not fit their topic's columns: see valueBytes" in capsys.readouterr().err
    found = kafkafs.scan(tmp_path / "data", "t", value="registry").to_arrow()
    assert found["value"].to_pylist() == values(tmp_path)
    read = duckdb.execute(
        f"select value.x, valueError from '{tmp_path}/out/**/*.parquet' order by \"offset\""
    ).fetchall()
    assert [row[0] for row in read] == [moment(3, 5)["x"], None, moment(-1)["x"]]
    assert [row[1] is None for row in read] == [True, False, True]


def test_a_directory_that_an_earlier_release_began_goes_on_with_text(tmp_path):
    """Its plan has a reader schema without the word for times. Regression test for plans of 0.4.0."""
    grow(tmp_path, (3, 5_999))
    run(tmp_path, "registry")
    plan = json.loads((tmp_path / "out" / PLAN).read_text())
    assert plan["valueTypes"]["t"].pop("times") == ["Timestamp", "Duration"]
    assert plan["valueTypes"]["t"] == WORDS | {"text": BOTH}
    (tmp_path / "out" / PLAN).write_text(json.dumps(plan))
    for file in [*tmp_path.rglob("out/**/*.parquet"), tmp_path / "out" / "_kafkafs_export.counts"]:
        file.unlink()  # as if the earlier run was killed before it wrote one
    grow(tmp_path, (3, 5_999), (-1, 0))
    run(tmp_path, "registry")
    assert len(list(tmp_path.rglob("out/**/*.parquet"))) == 2
    first = {"x": "1970-01-01T00:00:03.000005999Z", "y": "3.000005999s"}
    assert values(tmp_path) == [first, {"x": "1969-12-31T23:59:59Z", "y": "-1s"}]


def test_for_an_iceberg_table_a_duration_is_text(tmp_path, monkeypatch):
    """Such a table has no durations: without `--iceberg` in the first run it refuses the files."""
    configure_file(monkeypatch, tmp_path)
    grow(tmp_path, (3, 5_999))
    run(tmp_path, "registry", "--iceberg", "lake.t")
    table = load_catalog().load_table("lake.t").scan().to_arrow()
    assert table["value"].to_pylist() == [{"x": moment(3, 5)["x"], "y": "3.000005999s"}]
    grow(tmp_path, (3, 5_999), (-1, 0))
    run(tmp_path, "registry")  # the plan knows, whatever the run is asked for
    assert values(tmp_path)[1]["y"] == "-1s"
