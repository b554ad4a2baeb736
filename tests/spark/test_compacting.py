"""`export --compact`: each record once, whenever it is killed, and nothing that a later run cannot go on with."""

import itertools
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kafkafs.cli.main import main
from kafkafs.errors import UsageError
from kafkafs.spark.export import export_plan, parquet
from kafkafs.spark.export.claims import claimed
from kafkafs.spark.export.compacting import JOURNAL, compact, finish
from kafkafs.spark.export.export_plan import PLAN, Request
from kafkafs.spark.export.output import Output, output
from kafkafs.spark.export.settling import settle
from kafkafs.tables import locations
from kafkafs.tables.choice import Choice
from kafkafs.tables.offsets import EARLIEST, LATEST, AllAt
from tests.log.making import made, spread, write_partition
from tests.mounting import KAFKAFS
from tests.spark.test_output import bucket, server

__all__ = ["bucket", "server"]

DAY_MS, START_MS = 24 * 3_600_000, 1_790_000_000_000
KILLS = int(os.environ.get("KAFKAFS_EXPORT_KILLS", "2"))
NAMES = ("t-0", "t-1", "u-0")
Offsets = list[tuple[str, int, int]]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is killed leaves what it wrote to the kernel: waiting for the disk proves nothing here."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


def grow(data: Path, records: int) -> None:
    """Three partitions with so many records, of which seven have a day."""
    for name in NAMES:
        batches = [
            made(first, [START_MS + at // 7 * DAY_MS for at in range(first, first + 7)])
            for first in range(0, records, 7)
        ]
        write_partition(data, spread(batches, 5), name)
    locations.open_directories.close()


def run(data: Path, out: Output, by: Any = "", file_bytes: int = 1 << 20) -> None:
    """One run of an export, as workers write it."""
    wanted = Request((data,), Choice(pattern="."), AllAt(EARLIEST), AllAt(LATEST), file_bytes=file_bytes, by=by)
    finish(out)
    plan = settle(out, wanted)
    export_plan.save(out, wanted, plan)
    there = out.sizes()
    for unit in plan.units:
        if unit.mark not in there:
            columns = parquet.columns_of(unit, {}, plan.has_place_columns)
            parquet.write(unit, out, "read_uncommitted", "snappy", columns)


def files(out: Path) -> list[str]:
    return sorted(str(each.relative_to(out)) for each in out.rglob("*.parquet"))


def offsets(out: Path) -> Offsets:
    """Whose records stand there, each as often as it does."""
    columns = ("topic", "partition", "offset")
    tables = [pq.ParquetFile(out / name).read() for name in files(out)]
    return sorted(row for table in tables for row in zip(*(table[name].to_pylist() for name in columns), strict=True))


def expected(records: int) -> Offsets:
    return sorted(
        (name[0], int(name[-1]), offset) for name in NAMES for offset in range(records)
    )  # fmt: skip


@pytest.fixture(params=["", "day"])
def by(request) -> str:
    return str(request.param)


@pytest.fixture
def exported(tmp_path: Path, by: str) -> Path:
    """Four runs of an export, each of which found seven or fourteen new records in each partition."""
    for records in (7, 21, 28, 42):
        grow(tmp_path / "data", records)
        run(tmp_path / "data", output(str(tmp_path / "out")), by)
    return tmp_path / "out"


def test_small_files_become_one_for_each_partition(exported, by):
    before = files(exported)
    assert len(before) == (12 if not by else 18)
    done = compact(output(str(exported)))
    assert offsets(exported) == expected(42)
    after = files(exported)
    assert len(after) == (3 if not by else 18)  # by day, each day is a file already
    assert (done.before, done.after, done.rows) == (len(before), len(after), 3 * 42)
    again = compact(output(str(exported)))
    assert (again.before, again.after) == (0, 0)
    assert not [name for name in output(str(exported)).sizes() if name.endswith(".compacted")]


def test_a_later_run_goes_on_behind_them(exported, by, tmp_path):
    compact(output(str(exported)))
    before = {name: (exported / name).stat().st_mtime_ns for name in files(exported)}
    grow(tmp_path / "data", 56)
    run(tmp_path / "data", output(str(exported)), by)
    assert offsets(exported) == expected(56)
    assert all((exported / name).stat().st_mtime_ns == time_ns for name, time_ns in before.items())
    compact(output(str(exported)))
    assert offsets(exported) == expected(56)


def test_a_file_is_no_larger_than_was_asked_for(tmp_path, by):
    for records in range(7, 71, 7):
        grow(tmp_path / "data", records)
        run(tmp_path / "data", output(str(tmp_path / "out")), by, 2000)
    out = output(str(tmp_path / "out"))
    compact(out)
    _, units = export_plan.units_of(out, out.read(PLAN) or b"")
    assert max(unit.weight for unit in units) <= 2000
    for name in NAMES:
        some = [unit for unit in units if str(unit.range.location.name) == name]
        assert 1 < len(some) < 10
        assert all(one.weight + two.weight > 2000 for one, two in itertools.pairwise(some))
    assert offsets(tmp_path / "out") == expected(70)


class Killed(BaseException):
    """The process ends here."""


@contextmanager
def killed_at(step: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Ends the block before its change of that number to the directory, or after it: odd numbers."""
    steps = [0]

    def counted(name: str) -> Any:
        change = getattr(Output, name)

        def once(self: Output, *words: str) -> Any:
            steps[0] += 1
            if steps[0] * 2 == step:
                raise Killed
            answer = change(self, *words)
            if steps[0] * 2 + 1 == step:
                raise Killed
            return answer

        return once

    with monkeypatch.context() as patched:
        for name in ("rename", "remove"):
            patched.setattr(Output, name, counted(name))
        writing = Output.writing

        @contextmanager
        def written(self: Output, name: str) -> Iterator[Any]:
            steps[0] += 1
            if steps[0] * 2 == step:
                raise Killed
            with writing(self, name) as file:
                yield file
            if steps[0] * 2 + 1 == step:
                raise Killed

        patched.setattr(Output, "writing", written)
        yield steps


def test_whenever_it_is_killed_each_record_stands_once_after_the_next_run(tmp_path, by, monkeypatch):
    """Before and after changes that it makes, with `KAFKAFS_EXPORT_KILLS` above 2 each of them. No record is ever
    absent, and a run of either kind ends it."""
    for records in (7, 21, 28):
        grow(tmp_path / "data", records)
        run(tmp_path / "data", output(str(tmp_path / "whole")), by)
    kinds: set[str] = set()
    for step in range(2, 999, 1 if KILLS > 2 else 5 if not by else 17):
        place = tmp_path / f"out-{step}"
        subprocess.run(["cp", "-r", tmp_path / "whole", place], check=True)
        out = output(str(place))
        with killed_at(step, monkeypatch) as steps:
            try:
                compact(out)
            except Killed:
                pass
            else:
                assert steps[0] * 2 < step
                break
        found = offsets(place)
        assert set(found) == set(expected(28))
        kinds.add("decided" if (place / JOURNAL).exists() else "done" if len(found) == 84 else "?")
        if step % 3:
            compact(out)
        else:
            run(tmp_path / "data", out, by)
        assert offsets(place) == expected(28), step
        assert not (place / JOURNAL).exists()
    else:
        raise AssertionError("it never ended")
    assert "decided" in kinds
    assert "?" not in kinds


def test_of_two_at_once_one_is_refused(exported, capsys):
    with claimed(output(str(exported))):
        assert main(["export", "--compact", str(exported)]) == 2
    assert "another export writes to" in capsys.readouterr().err
    assert main(["export", "--compact", str(exported)]) == 0
    assert f"126 records of {12 if not (exported / export_plan.DONE).exists() else 18} files" in capsys.readouterr().err
    assert offsets(exported) == expected(42)


@pytest.mark.parametrize("by", [""], indirect=True)
def test_it_is_killed_by_a_signal(exported, by, tmp_path):
    """A process, at any moment. `KAFKAFS_EXPORT_KILLS` kills as many as one wants."""
    for _ in range(KILLS):
        with subprocess.Popen([KAFKAFS, "export", "--compact", exported], stderr=subprocess.DEVNULL) as running:
            time.sleep(random.uniform(0, 1))
            running.send_signal(signal.SIGKILL)
    subprocess.run([KAFKAFS, "export", "--compact", exported], check=True, capture_output=True)
    assert offsets(exported) == expected(42)
    assert len(files(exported)) == 3


def test_it_works_on_s3(bucket, tmp_path):
    for records in (7, 21):
        grow(tmp_path / "data", records)
        run(tmp_path / "data", bucket)
    done = compact(bucket)
    assert (done.before, done.after, done.rows) == (6, 3, 63)
    assert sum(name.endswith(".parquet") for name in bucket.sizes()) == 3


NONE = [
    "", "[]", '{"new":["/etc/passwd"],"old":[],"plan":{}}', '{"new":[],"old":["topic=t/../../x"],"plan":{}}',
    '{"new":[],"old":[7],"plan":{}}',
]  # fmt: skip


@pytest.mark.parametrize("text", NONE)
def test_a_journal_that_is_none_is_refused(text, tmp_path):
    """A destination is often a directory that many may write: a journal there must not lead out of it."""
    (tmp_path / "out").mkdir()
    (tmp_path / "x").touch()
    (tmp_path / "out" / JOURNAL).write_text(text)
    with pytest.raises(UsageError, match="is not what a compaction wrote"):
        finish(output(str(tmp_path / "out")))
    assert (tmp_path / "x").exists()


def test_what_is_no_export_is_refused(tmp_path, capsys):
    assert main(["export", "--compact", str(tmp_path / "out")]) == 2
    assert "holds no export" in capsys.readouterr().err
    assert main(["export", "--compact", str(tmp_path / "out"), "--topics", "t", "--by", "day"]) == 2
    assert "--compact takes nothing else: leave out --by, --topics" in capsys.readouterr().err
    assert main(["export", "--to", str(tmp_path / "out")]) == 2
    assert "name a data directory" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_files_of_an_earlier_release_stay_as_they_are(tmp_path):
    """Its plan has no id, and its files have no columns `topic` and `partition`."""
    grow(tmp_path / "data", 7)
    out = output(str(tmp_path / "out"))
    wanted = Request((tmp_path / "data",), Choice(pattern="."), AllAt(EARLIEST), AllAt(LATEST), file_bytes=1 << 20)
    plan = settle(out, wanted)
    plan.id = ""
    export_plan.save(out, wanted, plan)
    reported = json.loads((tmp_path / "out" / PLAN).read_text())
    del reported["id"]
    (tmp_path / "out" / PLAN).write_text(json.dumps(reported))
    run(tmp_path / "data", out)
    grow(tmp_path / "data", 21)
    run(tmp_path / "data", out)
    compact(out)
    (one, *others) = [pq.ParquetFile(tmp_path / "out" / name).schema_arrow.names for name in files(tmp_path / "out")]
    assert "topic" not in one
    assert others == [one, one]
