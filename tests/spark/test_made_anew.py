"""Exports run again over a topic that was made anew meanwhile: another log under the same name, with the same offsets.

Two topics of a real broker stand for the two lives of one: each has an id, offsets and batches of its own.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from kafkafs.spark import jobs
from kafkafs.tables import locations
from tests.kafka.dataset import Dataset

BROKER = Dataset("4.3.1", "stopped")
OLD, NEW = "equal-times-0", "segments-0"  # the second is longer, as a topic is that was made anew some days ago
RECORDS = 150  # of the first
Command = Callable[..., int]


@pytest.fixture
def export(data: Path, tmp_path: Path, command: Command) -> Command:
    """A run into `out`, of a process of its own, which remembers nothing; `to` another place."""

    def once(*words: object, to: str = "out") -> int:
        locations.open_directories.close()
        return command("export", *(words or [data]), "--to", tmp_path / to)

    return once


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory with a topic `orders`, in its first life."""
    data = BROKER.copy_to(tmp_path / "data", OLD)
    (data / OLD).rename(data / "orders-0")
    return data


def remake(data: Path, with_id: bool = True) -> None:
    shutil.rmtree(data / "orders-0")
    BROKER.copy_to(data, NEW)
    (data / NEW).rename(data / "orders-0")
    if not with_id:
        (data / "orders-0/partition.metadata").unlink()


def rows(out: Path) -> int:
    return int(ds.dataset(out, format="parquet", exclude_invalid_files=True).count_rows())


@pytest.mark.parametrize("with_id", [True, False], ids=["with-id", "without"])
@pytest.mark.parametrize(
    "end", [(), ("--to-offsets", '{"orders":{"0":200}}'), ("--by", "day")], ids=["open", "fixed", "by-day"]
)
def test_a_topic_made_again_is_not_continued(data, tmp_path, export: Command, capsys, with_id, end):
    """Regression: the next day's run gave exit 0, and the new topic's first 150 records were missing."""
    assert export(data, *end) == 0
    remake(data, with_id)
    assert export(data, *end) == 2
    reported = capsys.readouterr().err.splitlines()[-1]
    wanted = "orders-0 was deleted and created again: its topic id was " if with_id else "orders-0 has another batch"
    assert reported.startswith(f"kafkafs: {wanted}")
    assert reported.endswith("; name a new directory for an export")
    assert rows(tmp_path / "out") == RECORDS
    assert export(data, *end, to="other") == 0


def test_a_run_that_was_ended_is_not_finished_with_another_topics_records(data, tmp_path, export: Command):
    """Its plan names offsets of files that are yet to be written."""
    assert export() == 0
    (file,) = (tmp_path / "out").rglob("*.parquet")
    file.unlink()
    remake(data)
    assert export() == 2
    assert not file.exists()


def test_a_topic_made_again_under_a_running_export_is_reported(data, export: Command, monkeypatch, capsys):
    """Some of its files may hold the one, some the other: that is no success."""
    run = jobs.run

    def meanwhile(*job: Any) -> object:
        found = run(*job)
        remake(data)
        locations.open_directories.close()
        return found

    monkeypatch.setattr(jobs, "run", meanwhile)
    assert export() == 2
    assert "orders-0 was deleted and created again" in capsys.readouterr().err


def test_another_partition_of_a_topic_made_again_is_none_of_the_export(data, export: Command, capsys):
    """The partition that was exported may be on a disk that is not here."""
    assert export() == 0
    remake(data)
    (data / "orders-0").rename(data / "orders-1")
    assert export() == 2
    assert "orders-1 was deleted and created again" in capsys.readouterr().err


def test_a_partition_that_moved_to_another_disk_is_read_from_there(data, tmp_path, export: Command):
    """What an earlier run planned and did not write yet, too."""
    other = tmp_path / "disk2"
    other.mkdir()
    shutil.copy(data / "meta.properties", other)
    assert export(data, other) == 0
    (file,) = (tmp_path / "out").rglob("*.parquet")
    file.unlink()
    (data / "orders-0").rename(other / "orders-0")
    assert export(data, other) == 0
    assert rows(tmp_path / "out") == RECORDS


def test_a_plan_of_another_release_is_refused(tmp_path, export: Command, capsys):
    """An older one does not know which logs it is of."""
    assert export() == 0
    plan = tmp_path / "out/_kafkafs_export.json"
    plan.write_text(plan.read_text().replace('"version": 3', '"version": 2'))
    assert export() == 2
    assert "another release of kafkafs began; name a new directory" in capsys.readouterr().err
