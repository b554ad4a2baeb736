"""`export --iceberg`: a table has each record of a topic once, whenever a run is killed."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException

from kafkafs.cli.main import main
from kafkafs.errors import DiskError, UsageError
from kafkafs.spark.export.export_plan import Request
from kafkafs.spark.export.iceberg import Committed, IcebergTable
from kafkafs.spark.export.output import output
from kafkafs.spark.export.plan_store import PlanStore
from kafkafs.spark.export.settling import settle
from kafkafs.tables import locations
from kafkafs.tables.choice import Choice
from kafkafs.tables.offsets import EARLIEST, LATEST, AllAt
from tests.iceberg_catalogue import configure, configure_file
from tests.kafka.dataset import Dataset
from tests.log.making import made, write_partition
from tests.spark.test_compacting import Killed, expected, grow, no_waiting, run

__all__ = ["no_waiting"]
TABLE = "lake.records"
BROKER = Dataset("4.3.1", "stopped")


@pytest.fixture(autouse=True)
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalogue in a file, as an environment names it to pyiceberg."""
    configure_file(monkeypatch, tmp_path)


def wanted(data: Path, by: Any = "") -> Request:
    return Request((data,), Choice(pattern="."), AllAt(EARLIEST), AllAt(LATEST), file_bytes=1 << 20, by=by)


def export(place: Path, records: int, by: Any = "", out: str = "out") -> Committed:
    """A run that finds so many records in each partition."""
    grow(place / "data", records)
    to = output(str(place / out))
    run(place / "data", to, by)
    asked = wanted(place / "data", by)
    return IcebergTable(TABLE).commit(PlanStore(to, asked), settle(to, asked))


def rows() -> list[tuple[str, int, int]]:
    table = load_catalog().load_table(TABLE).scan().to_arrow()
    columns = ("topic", "partition", "offset")
    return sorted(zip(*(table[name].to_pylist() for name in columns), strict=True))


@pytest.mark.parametrize("by", ["", "day"])
def test_each_run_adds_what_is_new(tmp_path, by):
    assert export(tmp_path, 7, by) == Committed(3, 21)
    assert rows() == expected(7)
    assert export(tmp_path, 7, by) == Committed()
    assert export(tmp_path, 21, by).records == 42
    assert rows() == expected(21)
    scanned = load_catalog().load_table(TABLE).scan(row_filter="partition == 1 and offset >= 14", limit=99).to_arrow()
    assert sorted(scanned["offset"].to_pylist()) == [*range(14, 21)]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_the_tables_own_files_grant_no_more_than_the_exports(tmp_path, mode):
    """Regression: manifests were for everybody, with the bounds of columns from logs of mode 0600."""
    before = os.umask(0)
    try:
        export(tmp_path, 7)
        grow(tmp_path / "data", 14)
        to = replace(output(str(tmp_path / "out")), mode=mode)
        run(tmp_path / "data", to)
        asked, known = wanted(tmp_path / "data"), {*tmp_path.rglob("*")}
        IcebergTable(TABLE).commit(PlanStore(to, asked), settle(to, asked))
        assert os.umask(0) == 0
    finally:
        os.umask(before)
    new = {each for each in {*tmp_path.rglob("*")} - known if "metadata" in each.parts}
    assert {each.stat().st_mode & 0o055 for each in new} == {mode & 0o055}


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("error", [Killed, CommitFailedException, CommitStateUnknownException])
def test_whenever_it_is_killed_or_refused_each_record_stands_once(tmp_path, monkeypatch, moment, error):
    """Between files and commit, and behind a commit of which the run never heard."""
    export(tmp_path, 7)
    commits, commit = [0], SqlCatalog.commit_table

    def once(self, *words):
        commits[0] += 1
        if commits[0] > 1:
            return commit(self, *words)
        if moment == "after":
            commit(self, *words)
        raise error("ended")

    monkeypatch.setattr(SqlCatalog, "commit_table", once)
    if error is Killed:
        with pytest.raises(Killed):
            export(tmp_path, 21)
    export(tmp_path, 21)
    assert rows() == expected(21)
    assert commits[0] == (2 if moment == "before" else 1)


@pytest.mark.parametrize("far", [2**53, 253_402_300_800_000, -62_135_596_800_001])
def test_a_time_that_python_has_no_date_for_is_taken(tmp_path, capsys, far):
    """Regression: pyiceberg makes dates of the smallest and the largest value, and one time in other units than
    milliseconds kept all files out of the table."""
    times = [1_790_000_000_000, 1_790_000_000_001, far, 1_790_000_000_002]
    for count in (2, 3, 4):
        batches = [made(number, [time]) for number, time in enumerate(times[:count])]
        write_partition(tmp_path / "data", {0: batches})
        locations.open_directories.close()
        assert main(["export", str(tmp_path / "data"), "--to", str(tmp_path / "out"), "--iceberg", TABLE]) == 0
        assert "1 files are new" in capsys.readouterr().err
    table = load_catalog().load_table(TABLE)
    found = table.scan().to_arrow().sort_by("offset")
    assert found["timestamp"].cast(pa.int64()).to_pylist() == [time * 1000 for time in times]
    later = table.scan(row_filter="timestamp > '2026-09-21T14:13:20.001+00:00' and offset == 3").to_arrow()
    assert later["offset"].to_pylist() == [3]


def test_maintenance_of_the_table_brings_nothing_back(tmp_path):
    """Files that the table's owner rewrote or deleted are not added again."""
    export(tmp_path, 7)
    table = load_catalog().load_table(TABLE)
    table.overwrite(table.scan(row_filter="topic == 't'").to_arrow())
    assert export(tmp_path, 14) == Committed(3, 21)
    assert rows() == [row for row in expected(14) if row[0] == "t" or row[2] >= 7]


def test_another_export_of_the_same_offsets_is_refused(tmp_path):
    export(tmp_path, 7)
    with pytest.raises(UsageError, match="has offsets 0 to 6 of t-0 from another export"):
        export(tmp_path, 7, out="other")
    assert rows() == expected(7)


def test_its_files_are_not_compacted(tmp_path, capsys):
    export(tmp_path, 7)
    assert main(["export", "--compact", str(tmp_path / "out")]) == 2
    assert f"belong to the table {TABLE}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("there", "reason"),
    [
        ([pa.field("offset", pa.string())], "it has no column 'key', 'value', 'topic'"),
        ([], "it has a column of another type than the new files; name another table"),
    ],
)
def test_a_table_of_other_columns_is_refused_in_a_sentence(tmp_path, there, reason):
    """Regression: pyiceberg's own advice and a drawn table were the message."""
    export(tmp_path / "first", 3)
    columns = load_catalog().load_table(TABLE).schema().as_arrow()
    load_catalog().drop_table(TABLE)
    altered = columns.set(columns.get_field_index("offset"), pa.field("offset", pa.string()))
    load_catalog().create_table(TABLE, pa.schema(there) if there else altered)
    with pytest.raises(UsageError, match=f"the table 'lake.records' was not changed: {reason}") as refused:
        export(tmp_path, 7)
    assert "\n" not in str(refused.value)
    assert rows_of_offset() == 0


def rows_of_offset() -> int:
    return int(load_catalog().load_table(TABLE).scan().count())


def test_a_catalogue_that_always_changes_ends_the_run(tmp_path, monkeypatch):
    def refuse(*_):
        raise CommitFailedException("another")

    export(tmp_path, 7)
    monkeypatch.setattr(SqlCatalog, "commit_table", refuse)
    monkeypatch.setattr("kafkafs.spark.export.iceberg.ATTEMPTS", 2)  # in each, pyiceberg itself tries for a second
    with pytest.raises(DiskError, match="the same command goes on from here"):
        export(tmp_path, 14)


@pytest.mark.parametrize("name", ["", "t", ".t", "a..b"])
def test_a_name_that_is_none_is_refused(name):
    with pytest.raises(UsageError, match=r"write NAMESPACE\.TABLE"):
        IcebergTable(name)


def test_a_catalogue_that_is_not_configured_is_refused(monkeypatch):
    configure(monkeypatch, {})
    with pytest.raises(UsageError, match=r"the table 'a.b' cannot be reached: "):
        IcebergTable("a.b")


def test_the_table_is_what_a_consumer_gets(tmp_path, capsys):
    """By the command itself, from a real broker's log, with every column that the table has."""
    topics = "headers,transactions,nulls,partitions"
    words = ["export", str(BROKER.path), "--to", str(tmp_path / "out"), "--topics", topics, "--iceberg", TABLE]
    for _ in range(2):
        assert main(words) == 0
    reported = capsys.readouterr().err
    assert "0 records in 0 files are new in the table lake.records" in reported
    table = load_catalog().load_table(TABLE).scan().to_arrow().to_pylist()
    found = sorted(
        (each["topic"], each["partition"], each["offset"], round(each["timestamp"].timestamp() * 1000), each["key"],
         each["value"], tuple((one["key"], one["value"]) for one in each["headers"] or ()))
        for each in table
    )  # fmt: skip
    places = [place for place in BROKER.partitions() if place.topic in topics.split(",")]
    truth = sorted(
        (*place, one.offset, one.timestamp_ms, one.key, one.value, tuple(one.headers or ()))
        for place in places for one in BROKER.records(*place, "read_uncommitted")
    )  # fmt: skip
    assert found == truth
