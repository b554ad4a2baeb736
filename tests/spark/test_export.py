"""Exports: what is in the files, what a second run does, and what is refused."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kafkafs.errors import UsageError
from kafkafs.spark.export import plan, values
from kafkafs.spark.export.job import Exported, export
from kafkafs.spark.export.plan import Request
from kafkafs.spark.offsets import EARLIEST, LATEST, AllAt, Specific, Timestamps, TopicPartition
from kafkafs.spark.options import Choice
from kafkafs.spark.planning import OffsetRange
from tests.kafka.dataset import Dataset
from tests.spark.reading import row

LATEST_DATA = Dataset("4.3.1", "stopped")


def request(*topics: str, **changes) -> Request:
    whole = Request((LATEST_DATA.path,), Choice(topics=topics), AllAt(EARLIEST), AllAt(LATEST))
    return replace(whole, **changes)


Run = Callable[[Path, Request], Exported]


@pytest.fixture
def run(spark: SparkSession) -> Run:
    """One run of an export, as the command makes it."""
    return lambda out, wanted: export(spark, out, wanted, plan.settle(out, wanted))


def files(out: Path) -> dict[Path, float]:
    return {file: file.stat().st_mtime_ns for file in out.rglob("*.parquet")}


def table(out: Path) -> pa.Table:
    return ds.dataset(out, format="parquet", partitioning="hive", exclude_invalid_files=False).to_table()


def read(out: Path) -> list[tuple[object, ...]]:
    """The rows of all files, in the form of `tests.spark.reading.row`."""
    found = []
    for file in sorted(out.rglob("*.parquet")):
        topic, partition = (part.partition("=")[2] for part in file.relative_to(out).parts[:2])
        columns = pq.ParquetFile(file).read().to_pydict()
        times = [round(each.timestamp() * 1000) for each in columns["timestamp"]]
        headers = [tuple((each["key"], each["value"]) for each in some or ()) for some in columns["headers"]]
        rest = [columns[name] for name in ("timestampType", "key", "value")]
        found += [(topic, int(partition), *each)
                  for each in zip(columns["offset"], times, *rest, headers, strict=True)]  # fmt: skip
    return sorted(found, key=lambda each: each[:3])


def truth(*topics: str, isolation="read_uncommitted") -> list[tuple[object, ...]]:
    places = [place for place in LATEST_DATA.partitions() if place.topic in topics]
    return sorted(
        (row(*place, record) for place in places for record in LATEST_DATA.records(*place, isolation)),
        key=lambda each: each[:3],
    )


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_files_hold_every_record_once(run: Run, tmp_path, isolation):
    topics = ("partitions", "headers", "transactions", "long-index", "nulls")
    done = run(tmp_path / "out", request(*topics, isolation=isolation, file_bytes=20_000))
    assert read(tmp_path / "out") == truth(*topics, isolation=isolation)
    assert done.records == len(truth(*topics, isolation=isolation))
    assert done.files == len(files(tmp_path / "out")) > 10


def test_a_run_that_was_ended_goes_on(run: Run, tmp_path):
    wanted = request("long-index", "partitions", file_bytes=20_000)
    run(tmp_path / "out", wanted)
    before = files(tmp_path / "out")
    lost = sorted(before)[::2]
    for file in lost:
        file.unlink()
    (lost[0].parent / f".{lost[0].name}.host.1.tmp").write_bytes(b"half a file")
    done = run(tmp_path / "out", wanted)
    assert (done.written, done.files) == (len(lost), len(before))
    after = files(tmp_path / "out")
    assert all(after[file] == before[file] for file in before if file not in lost)
    assert read(tmp_path / "out") == truth("long-index", "partitions")
    assert not list((tmp_path / "out").rglob("*.tmp"))
    assert run(tmp_path / "out", wanted).written == 0


def test_another_export_or_other_files_are_refused(run: Run, tmp_path):
    run(tmp_path / "out", request("partitions"))
    with pytest.raises(UsageError, match="something else"):
        run(tmp_path / "out", request("partitions", isolation="read_committed"))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(UsageError, match="other files"):
        run(tmp_path / "full", request("partitions"))


def test_windows(run: Run, tmp_path):
    records = LATEST_DATA.records("segments")
    place, low, high = TopicPartition("segments", 0), records[30], records[-40]
    offsets = request("segments", starting=Specific({place: low.offset}), ending=Specific({place: high.offset}))
    run(tmp_path / "offsets", offsets)
    wanted = [each for each in truth("segments") if low.offset <= each[2] < high.offset]  # type: ignore[operator]
    assert read(tmp_path / "offsets") == wanted
    run(tmp_path / "times", request("segments", starting=Timestamps(low.timestamp_ms, "latest"),
                                    ending=Timestamps(high.timestamp_ms, "latest")))  # fmt: skip
    assert read(tmp_path / "times") == wanted


@pytest.mark.parametrize(
    "value",
    [b'{"a":"\\ud800"}', b'{"\\uDFFF":1}', b'{"a":1' + b"0" * 400 + b"}", b'{"a":"\xed\xa0\x80"}',
     b'{"a":' + b"[" * 900 + b"]" * 900 + b"}", b'{"a":' * 300 + b"1" + b"}" * 300],
)  # fmt: skip
def test_an_object_that_columns_cannot_hold_keeps_its_bytes(value):
    """Regression: one such value ended the whole export with an error of Python's."""
    told = [b'{"a":1}', value, b'{"a":"\\ud83d\\ude00"}']
    kind = values.kind_of_values(told)
    batch = pa.RecordBatch.from_arrays([pa.array(told, pa.binary())], names=["value"])
    shaped = values.shape(batch, values.shaped_schema(batch.schema, kind), kind).to_pylist()
    assert [each["value"] for each in shaped] == [{"a": "1"}, None, {"a": "\U0001f600"}]
    assert [each["valueBytes"] for each in shaped] == [None, value, None]


def test_types_of_json_meet():
    documents = [
        {"a": 1, "b": [1, 2.5], "c": {"x": None, "y": "s"}, "d": True, "e": [], "big": 2**70},
        {"a": 2.5, "b": [], "c": {"x": 7}, "d": "yes", "f": {}},
        {"a": None, "c": {"y": {"deep": 1}}},
    ]
    kind = values.kind_of_values([json.dumps(each).encode() for each in documents] + [b"no json", b"[1]", None])
    schema = pa.schema([("value", pa.binary()), ("offset", pa.int64())])
    told = [*(json.dumps(each).encode() for each in documents), b"\xff", None]
    batch = pa.RecordBatch.from_arrays([pa.array(told, pa.binary()), pa.array(range(5))], schema=schema)
    shaped = values.shape(batch, values.shaped_schema(schema, kind), kind).to_pylist()
    assert [each["value"] for each in shaped] == [
        {"a": 1.0, "b": [1.0, 2.5], "big": 2.0**70, "c": {"x": None, "y": "s"}, "d": "true", "e": [],
         "f": None},
        {"a": 2.5, "b": [], "big": None, "c": {"x": 7, "y": None}, "d": "yes", "e": None, "f": "{}"},
        {"a": None, "b": None, "big": None, "c": {"x": None, "y": '{"deep":1}'}, "d": None, "e": None, "f": None},
        None,
        None,
    ]  # fmt: skip
    assert [each["valueBytes"] for each in shaped] == [None, None, None, b"\xff", None]


def test_values_that_are_no_json_are_kept(run: Run, tmp_path):
    run(tmp_path / "out", request("binary", value="json"))
    kept = [each["valueBytes"] for each in table(tmp_path / "out").sort_by("offset").to_pylist()]
    wanted = [record.value for record in LATEST_DATA.records("binary")]
    assert [one for one, two in zip(kept, wanted, strict=True) if one is not None and one != two] == []


def test_a_plan_is_read_back_as_it_was(tmp_path):
    wanted = request("partitions")
    made = plan.make(wanted)
    plan.save(tmp_path, wanted, made)
    loaded = plan.load(tmp_path, wanted)
    assert loaded is not None
    assert loaded.units == made.units
    assert all(isinstance(unit.range, OffsetRange) for unit in loaded.units)
