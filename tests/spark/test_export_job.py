"""Exports: what is in the files, what a second run does, and what is refused."""

import json
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from kafkafs.cli.export import request_of
from kafkafs.cli.main import main
from kafkafs.cli.parser import build
from kafkafs.errors import NotFound, UsageError
from kafkafs.log.read_options import ReadOptions
from kafkafs.spark.export import export_plan, parquet
from kafkafs.spark.export.export_job import Exported, export
from kafkafs.spark.export.export_plan import FileUnit, Request
from kafkafs.spark.export.output import output
from kafkafs.spark.export.plan_store import PlanStore
from kafkafs.spark.export.settling import settle
from kafkafs.spark.jobs import Engine
from kafkafs.tables.choice import Choice
from kafkafs.tables.locations import Location, open_directories
from kafkafs.tables.offsets import EARLIEST, LATEST, AllAt, Specific, Timestamps, TopicPartition
from kafkafs.tables.planning import PartitionRange
from tests.format import golden
from tests.format.batch_maker import v2_batch
from tests.kafka.dataset import Dataset
from tests.log.making import Made, write_partition
from tests.spark.reading import row

LATEST_DATA = Dataset("4.3.1", "stopped")


def request(*topics: str, **changes) -> Request:
    whole = Request((LATEST_DATA.path,), Choice(topics=topics), AllAt(EARLIEST), AllAt(LATEST))
    return replace(whole, **changes)


Run = Callable[[Path, Request], Exported]


@pytest.fixture
def run(engine: Engine) -> Run:
    """One run of an export, as the command makes it, on either engine."""

    def once(out: Path, wanted: Request) -> Exported:
        place = output(str(out))
        return export(engine, PlanStore(place, wanted), settle(place, wanted))

    return once


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


def test_only_what_lies_in_the_window_is_exported(run: Run, tmp_path):
    records = LATEST_DATA.records("segments")
    place, low, high = TopicPartition("segments", 0), records[30], records[-40]
    offsets = request("segments", starting=Specific({place: low.offset}), ending=Specific({place: high.offset}))
    run(tmp_path / "offsets", offsets)
    wanted = [each for each in truth("segments") if low.offset <= each[2] < high.offset]  # type: ignore[operator]
    assert read(tmp_path / "offsets") == wanted
    run(tmp_path / "times", request("segments", starting=Timestamps(low.timestamp_ms, "latest"),
                                    ending=Timestamps(high.timestamp_ms, "latest")))  # fmt: skip
    assert read(tmp_path / "times") == wanted


def test_values_that_are_no_json_are_kept(run: Run, tmp_path):
    run(tmp_path / "out", request("binary", value="json"))
    kept = [each["valueBytes"] for each in table(tmp_path / "out").sort_by("offset").to_pylist()]
    wanted = [record.value for record in LATEST_DATA.records("binary")]
    assert [one for one, two in zip(kept, wanted, strict=True) if one is not None and one != two] == []


def test_a_plan_is_read_back_as_it_was(tmp_path):
    out = output(str(tmp_path / "out"))
    wanted = request("partitions")
    made = settle(out, wanted)
    export_plan.save(out, wanted, made)
    loaded = settle(out, wanted)
    assert loaded.is_saved
    assert loaded.units == made.units
    assert all(isinstance(unit.range, PartitionRange) for unit in loaded.units)


def test_the_order_of_topics_and_directories_does_not_matter():
    one, two = Path("/one"), Path("/two")
    words = request("a", "b", paths=(one, two)).words()
    assert request("b", "a", "b", paths=(two, one)).words() == words
    assert request("a", paths=(one, two)).words() != words


def documents(first: int, *texts: str) -> list[Made]:
    """A batch for each value."""
    return [
        Made(v2_batch([golden.Record(first + at, 1_000 + at, 0, b"k", value.encode())]), ())
        for at, value in enumerate(texts)
    ]


def test_a_later_run_adds_what_is_new(run: Run, tmp_path):
    """Regression: the same command gave exit 0 the next day, and nothing of what had come since."""
    old, new = documents(0, '{"a":1}', "no json"), documents(2, '{"a":2}', '{"a":"text"}', '{"b":1}', "[1]")
    write_partition(tmp_path / "data", {0: old}, "t-0")
    wanted = Request((tmp_path / "data",), Choice(pattern="."), AllAt(EARLIEST), AllAt(LATEST), value="json")
    first = run(tmp_path / "out", wanted)
    assert (first.written, first.records, first.as_bytes) == (1, 2, 1)
    write_partition(tmp_path / "data", {0: old + new}, "t-0")
    write_partition(tmp_path / "data", {0: documents(0, '{"other":[true]}')}, "u-0")
    time.sleep(2 * ReadOptions().names_fresh_s)
    later = run(tmp_path / "out", wanted)
    assert (later.written, later.files, later.records, later.as_bytes) == (2, 3, 7, 4)
    rows = [
        row for name in ("t", "u") for row in table(tmp_path / "out" / f"topic={name}").sort_by("offset").to_pylist()
    ]
    assert [row["value"] for row in rows] == [
        {"a": 1}, None, {"a": 2}, None, None, None, {"other": [True]},
    ]  # fmt: skip
    assert [row["valueBytes"] for row in rows][3:6] == [b'{"a":"text"}', b'{"b":1}', b"[1]"]
    assert run(tmp_path / "out", wanted).written == 0


def test_an_end_that_was_asked_for_is_the_end(tmp_path):
    out = output(str(tmp_path / "out"))
    write_partition(tmp_path / "data", {0: documents(0, "1", "2")}, "t-0")
    name = TopicPartition("t", 0)
    wanted = Request((tmp_path / "data",), Choice(pattern="."), AllAt(EARLIEST), Specific({name: 2}))
    export_plan.save(out, wanted, settle(out, wanted))
    write_partition(tmp_path / "data", {0: documents(0, "1", "2", "3")}, "t-0")
    open_directories.close()  # a later run is another process
    assert [unit.range.end for unit in settle(out, wanted).units] == [2]


def test_what_was_deleted_or_cut_between_two_runs_is_reported(tmp_path):
    """Regression: the next day's run said nothing of records that it missed, and lost those written behind a cut."""
    data, out = tmp_path / "data", output(str(tmp_path / "out"))
    wanted = Request((data,), Choice(pattern="."), AllAt(EARLIEST), AllAt(LATEST))

    def settled(start: int, end: int) -> export_plan.ExportPlan:
        shutil.rmtree(data, ignore_errors=True)
        write_partition(data, {start: documents(0, *"x" * end)[start:]}, "t-0")
        if end < 6:
            write_partition(data, {0: documents(0, "x")}, "u-0")
        found = settle(out, wanted)
        export_plan.save(out, wanted, found)
        return found

    assert settled(0, 3).gone == []
    assert settled(1, 4).gone == []
    later = settled(6, 8)
    assert [each.split(" of t-0")[0] for each in later.gone] == [
        "u-0 is not there any more; what was exported of it stays", "offsets 4 to 5",
    ]  # fmt: skip
    assert [(each.range.start, each.range.end) for each in later.units] == [(0, 3), (0, 1), (3, 4), (6, 8)]
    with pytest.raises(UsageError, match="t-0 was exported up to offset 8 and ends at 7 now"):
        settled(0, 7)


def test_a_run_that_cannot_go_on_names_a_way_that_export_has(tmp_path):
    """Regression: it advised an option of the data source."""
    write_partition(tmp_path, {3: documents(3, "4")}, "t-0")
    place = PartitionRange(Location(tmp_path, TopicPartition("t", 0)), 0, 4)
    unit, out = FileUnit(place, 1, "one.parquet"), output(str(tmp_path / "out"))
    with pytest.raises(NotFound, match="offsets 0 to 2 of t-0 are gone; name a new directory"):
        parquet.write(unit, out, "read_uncommitted", "none", parquet.columns_of(unit, {}))


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", '{"version":2}', '{"version":', "[" * 99_999])
def test_a_plan_that_is_none_is_refused(text, tmp_path):
    """Regression: some gave "this is a bug"."""
    (tmp_path / export_plan.PLAN).write_text(text)
    with pytest.raises(UsageError, match="is not the plan of an export"):
        export_plan.load(output(str(tmp_path)), request("partitions"))


@pytest.mark.parametrize(("at", "value"), [
    (0, "/etc"), (1, "../../t"), (1, "a/b"), (1, 7), (2, -1), (2, "x"), (3, -1), (3, 1 << 63), (4, 0), (4, 1 << 70),
    (4, 1.5), (5, -1), (5, None), (4, True),
])  # fmt: skip
def test_a_plan_names_nothing_that_no_run_wrote(at, value, tmp_path):
    """A destination is often a directory that many may write: a plan there must not lead out of it."""
    out, wanted = output(str(tmp_path / "out")), request("partitions")
    export_plan.save(out, wanted, settle(out, wanted))
    file = tmp_path / "out" / export_plan.PLAN
    texts = json.loads(file.read_text())
    texts["files"][0][at] = value
    file.write_text(json.dumps(texts))
    with pytest.raises(UsageError, match="is not the plan of an export"):
        export_plan.load(out, wanted)


def test_a_plan_of_gigabytes_is_not_read(tmp_path):
    out = output(str(tmp_path))
    with open(tmp_path / export_plan.PLAN, "wb") as file:
        file.truncate(3 << 30)
    with pytest.raises(UsageError, match="too many to be one that an export wrote"):
        export_plan.load(out, request("partitions"))


@pytest.mark.parametrize("side", ["from", "to"])
def test_offsets_of_what_is_not_exported_are_refused(side, tmp_path, capsys):
    """Regression: a slip of the pen in a topic's name exported all of the topic."""
    words = ["--topics", "segments", f"--{side}-offsets", '{"segmentz":{"0":5}}']
    assert main(["export", str(LATEST_DATA.path), "--to", str(tmp_path / "out"), *words]) == 2
    assert f"{side}-offsets names segmentz-0, which is not exported; exported are seg" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("word", ["1970-01-01", "1969-12-31T23:59:59.998Z", "1969-12-31T23:59:59.999Z", "1960-01-01"])
def test_a_window_from_before_1970_begins_at_the_log_start(word):
    """Such a time is told as -1, which a broker and the data source take for the latest."""
    parsed = build(["export"]).parse_args(["export", str(LATEST_DATA.path), "--to", "out", f"--from-time={word}"])
    assert request_of(parsed).starting == AllAt(EARLIEST)


@pytest.mark.parametrize("place", ["gopher://bucket/out", "hdfs://name/out", "s3a://", "dbfs://x"])
def test_a_file_system_that_is_not_known_or_not_there_is_refused(place, tmp_path, monkeypatch, capsys):
    """Regression: it made a directory of that name where one stood, and exit 0 said that all was well."""
    monkeypatch.chdir(tmp_path)
    assert main(["export", str(LATEST_DATA.path), "--to", place]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not list(tmp_path.iterdir())
