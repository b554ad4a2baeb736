"""One range of a log by the dates of its records: each record once, under its date, in bounded memory."""

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kafkafs.errors import NotFound, UsageError
from kafkafs.spark.export import parquet
from kafkafs.spark.export.dates import NO_DATE
from kafkafs.spark.export.export_plan import ExportPlan, FileUnit
from kafkafs.spark.export.output import output
from kafkafs.tables import arrow
from kafkafs.tables.locations import Location
from kafkafs.tables.offsets import TopicPartition
from kafkafs.tables.planning import PartitionRange
from kafkafs.tables.typed.json_column import JsonColumn
from kafkafs.tables.typed.typed_columns import Column, FieldName
from tests.format import golden
from tests.format.batch_maker import v2_batch
from tests.log.making import Made, made, spread, write_partition

DAY_MS = 24 * 3_600_000
START_MS = 1_790_000_000_000
NAME = "00000000000000000000-{:020d}.parquet"


def unit(data: Path, times_ms: Sequence[int]) -> FileUnit:
    """All of a log of records with these timestamps, some in a batch, some batches in a segment."""
    batches = [made(first, times_ms[first : first + 7]) for first in range(0, len(times_ms), 7)]
    write_partition(data, spread(batches, 5) or {0: []}, "t-0")
    place = PartitionRange(Location(data, TopicPartition("t", 0)), 0, len(times_ms))
    return FileUnit(place, 1, f"topic=t/partition=0/{NAME.format(len(times_ms))}", "day")


def write(each: FileUnit, out: Path) -> parquet.CountsByFile:
    place = output(str(out))
    parquet.write(each, place, "read_uncommitted", "none", parquet.columns_of(each, {}))
    return parquet.files_of(place, each)


def found(out: Path) -> list[tuple[int, str]]:
    """(offset, date) of all rows that are there, each as often as it stands there."""
    return sorted(
        (offset, file.relative_to(out).parts[1].removeprefix("date="))
        for file in out.rglob("*.parquet")
        for offset in pq.ParquetFile(file).read(["offset"])["offset"].to_pylist()
    )


def date(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).date().isoformat() if 0 <= time_ms < 2**47 else NO_DATE


def in_order(days: int) -> list[int]:
    return [START_MS + number * DAY_MS // 3 for number in range(3 * days)]


def in_disorder(days: int) -> list[int]:
    dice = random.Random(days)
    times = [*in_order(days), -1, 2**52, -1, START_MS]
    dice.shuffle(times)
    return times


@pytest.fixture
def open_tables(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many are open, and were at most."""
    counted: Counter[str] = Counter()

    class Counted(parquet.FileWriter):
        def __init__(self, *about):
            super().__init__(*about)
            counted["made"] += 1
            counted["open"] += 1
            counted["most"] = max(counted["most"], counted["open"])

        def __exit__(self, *failure):
            counted["open"] -= 1
            super().__exit__(*failure)

    monkeypatch.setattr(parquet, "FileWriter", Counted)
    return counted


@pytest.mark.parametrize("times_ms", [in_order(3), in_order(90), in_disorder(90), [-1] * 20, in_disorder(1)])
@pytest.mark.parametrize("rows", [7, 1 << 14])
def test_each_record_stands_once_under_its_date(rows, times_ms, tmp_path, open_tables, monkeypatch):
    """However many rows are looked at together."""
    monkeypatch.setattr(arrow, "ROWS", rows)
    monkeypatch.setattr(parquet, "MOST_OPEN", 4)
    tables = write(unit(tmp_path / "data", times_ms), tmp_path / "out")
    assert found(tmp_path / "out") == [(offset, date(time_ms)) for offset, time_ms in enumerate(times_ms)]
    assert sum(each.rows for each in tables.values()) == len(times_ms)
    assert set(tables) == {str(file.relative_to(tmp_path / "out")) for file in (tmp_path / "out").rglob("*.parquet")}
    assert open_tables["most"] <= 4
    assert open_tables["made"] == len(tables)


def test_a_log_in_the_order_of_its_times_takes_two_passes(tmp_path, calls):
    """However many days it has: three years in one file's worth of log."""
    passes = calls(parquet, "records_of")
    tables = write(unit(tmp_path / "data", in_order(1096)), tmp_path / "out")
    assert len(tables) >= 1096
    assert len(passes) == 2


def test_what_waits_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow, "ROWS", 50)
    monkeypatch.setattr(parquet, "GROUP_BYTES", 100_000)
    times_ms = in_disorder(20) * 20
    write(unit(tmp_path / "data", times_ms), tmp_path / "out")
    assert len(found(tmp_path / "out")) == len(times_ms)
    groups = [pq.ParquetFile(file).metadata.num_row_groups for file in (tmp_path / "out").rglob("*.parquet")]
    assert max(groups) > 1


def test_a_failure_leaves_no_mark_and_nothing_half_written(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow, "ROWS", 5)
    each = unit(tmp_path / "data", in_order(9))
    log = max((tmp_path / "data/t-0").glob("*.log"))
    content = bytearray(log.read_bytes())
    content[-1] ^= 1
    log.write_bytes(content)
    with pytest.raises(NotFound, match="ends at offset 21 by now"):
        write(each, tmp_path / "out")
    assert [path for path in (tmp_path / "out").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("by", ["", "day"])
def test_a_timestamp_that_no_column_can_hold_is_null_and_counted(tmp_path, by):
    """Regression: nanoseconds in place of milliseconds could not be exported at all."""
    times_ms = [START_MS, START_MS * 10**6, -1, (2**63 - 1) // 1000, (2**63 - 1) // 1000 + 1, 2**63 - 1, START_MS + 1]
    each = replace(unit(tmp_path / "data", times_ms), by=by)
    place, columns = output(str(tmp_path / "out")), parquet.columns_of(each, {})
    parquet.write(each, place, "read_uncommitted", "none", columns)
    reported = parquet.files_of(place, each) if by else {each.file: parquet.counts(place, each.file)}
    assert (sum(one.rows for one in reported.values()), sum(one.without_time for one in reported.values())) == (7, 3)
    assert {name: parquet.counts(place, name) for name in reported} == reported
    tables = [pq.ParquetFile(tmp_path / "out" / name).read() for name in reported]
    rows = [
        pair for each in tables
        for pair in zip(each["offset"].to_pylist(), each["timestamp"].is_null().to_pylist(), strict=True)
    ]  # fmt: skip
    assert sorted(offset for offset, is_null in rows if is_null) == [1, 4, 5]


def test_a_mark_of_an_earlier_kafkafs_is_understood(tmp_path):
    each = unit(tmp_path / "data", in_order(1))
    with output(str(tmp_path)).writing(each.mark) as file:
        file.write(json.dumps({f"topic=t/date=2026-01-01/partition=0/{NAME.format(3)}": [3, 1]}).encode())
    (reported,) = parquet.files_of(output(str(tmp_path)), each).values()
    assert reported == (3, 1, 0)


def test_a_range_that_shows_nothing_is_written_too(tmp_path):
    assert write(unit(tmp_path / "data", []), tmp_path / "out") == {}


@pytest.mark.parametrize("text", ["", "[]", "[" * 99_999, '{"topic=u/date=2026-01-01/x":[1,0]}', '{"x":3}'])
def test_a_mark_that_is_none_is_refused(text, tmp_path):
    """Whoever may write there must not have us take it for more than it is."""
    each = unit(tmp_path / "data", in_order(1))
    with output(str(tmp_path)).writing(each.mark) as file:
        file.write(text.encode())
    with pytest.raises(UsageError, match="is not what an export wrote"):
        parquet.files_of(output(str(tmp_path)), each)


def test_what_a_killed_run_wrote_of_records_that_are_gone_is_removed(tmp_path):
    """Compaction was at work before the range was written anew; other files are left alone."""
    out = tmp_path / "out"
    each = unit(tmp_path / "data", in_order(2))
    tables = write(each, out)
    stray = f"topic=t/date=2020-01-01/partition=0/{NAME.format(6)}"
    other = "topic=t/date=2020-01-01/partition=0/other.parquet"
    for name in (stray, other):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_bytes(b"x")
    parquet.remove_strays(output(str(out)), ExportPlan([each]), [*tables, stray, other, each.mark], tables)
    assert not (out / stray).exists()
    assert (out / other).exists()
    assert all((out / name).exists() for name in [*tables, each.mark])
    assert json.loads((out / each.mark).read_text()).keys() == tables.keys()


@pytest.mark.parametrize("by", ["", "day"])
def test_a_range_without_records_is_written_and_counted(tmp_path, by):
    """Regression: a row group without rows has no statistics, and the export of a range of markers ended in a bug."""
    marker = v2_batch([golden.Record(0, START_MS, 0, b"\0\0\0\1", b"\0\0\0\0\0\0")], attributes=0x30)
    write_partition(tmp_path / "data", {0: [Made(marker, ())]}, "t-0")
    place = PartitionRange(Location(tmp_path / "data", TopicPartition("t", 0)), 0, 1)
    each, out = FileUnit(place, 1, f"topic=t/partition=0/{NAME.format(1)}", by), output(str(tmp_path / "out"))
    if by:
        assert write(each, tmp_path / "out") == {}
        return
    typed: dict[FieldName, Column] = {"value": JsonColumn("value", ["object", {"a": "long"}])}
    parquet.write(each, out, "read_uncommitted", "none", parquet.columns_of(each, typed))
    assert parquet.counts(out, each.file) == parquet.Counts(0, 0)
    with out.writing(each.file) as file:
        pq.write_table(parquet.columns_of(each, typed).schema.empty_table(), file)  # as earlier releases wrote it
    assert parquet.counts(out, each.file) == parquet.Counts(0, 0)
    assert pq.read_table(tmp_path / "out" / each.file, partitioning=None).num_rows == 0
