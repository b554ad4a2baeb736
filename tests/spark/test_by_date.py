"""`export --by`, from outside: what other tools find in it, and runs that were killed at any moment.

`scripts/soak export COUNT` kills as many as one wants; KAFKAFS_SEED replays a run's choices.
"""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kafkafs.tables import locations
from tests.format import golden
from tests.format.batch_maker import v2_batch
from tests.kafka.dataset import Dataset
from tests.log.making import Made, write_partition
from tests.mounting import KAFKAFS

BROKER = Dataset("4.3.1", "stopped")
COUNT = int(os.environ.get("KAFKAFS_EXPORT_KILLS", "2"))
SEED = int(os.environ.get("KAFKAFS_SEED", "0")) or random.randrange(1, 1 << 30)
TOPICS = ("disorder", "equal-times", "segments", "segments-disorder", "headers", "transactions")
NO_DATE = "__HIVE_DEFAULT_PARTITION__"
Command = Callable[..., int]


@pytest.fixture
def export(command: Command, tmp_path: Path) -> Command:
    """A run into `out`, of a process of its own, which remembers nothing."""

    def once(*words: object) -> int:
        locations.open_directories.close()
        return command("export", *words, "--to", tmp_path / "out")

    return once


def period(file: Path, out: Path) -> str:
    """What the directories say of a file's date and hour."""
    return "T".join(part.partition("=")[2] for part in file.relative_to(out).parts[1:-2])


def rows(out: Path) -> list[tuple[object, ...]]:
    """(topic, partition, offset, ms, key, value, period) of all files, a row as often as it stands there."""
    found = []
    for file in out.rglob("*.parquet"):
        reported = dict(part.split("=") for part in file.relative_to(out).parts[:-1])
        columns = pq.ParquetFile(file).read().to_pydict()
        times = [round(each.timestamp() * 1000) for each in columns["timestamp"]]
        place = (reported["topic"], int(reported["partition"]))
        some = zip(columns["offset"], times, columns["key"], columns["value"], strict=True)
        found += [(*place, *each, period(file, out)) for each in some]
    return sorted(found, key=lambda row: row[:3])


def truth(form: str) -> list[tuple[object, ...]]:
    """The same by what Kafka's consumer read."""
    return sorted(
        (*place, each.offset, each.timestamp_ms, each.key, each.value,
         datetime.fromtimestamp(each.timestamp_ms / 1000, UTC).strftime(form))
        for place in BROKER.partitions() if place.topic in TOPICS for each in BROKER.records(*place)
    )  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    chosen = [place.directory for place in BROKER.partitions() if place.topic in TOPICS]
    return BROKER.copy_to(tmp_path / "data", *chosen)


@pytest.mark.parametrize(("by", "form"), [("day", "%Y-%m-%d"), ("hour", "%Y-%m-%dT%H")])
def test_each_record_stands_once_under_its_date(data, tmp_path, export, by, form, capsys):
    assert export(data, "--by", by) == 0
    assert rows(tmp_path / "out") == truth(form)
    reported = capsys.readouterr().err.splitlines()[-1]
    files = len(list((tmp_path / "out").rglob("*.parquet")))
    assert reported.startswith(f"{len(truth(form)):,} records in {files:,} files, ")
    assert export(data, "--by", by) == 0
    assert f" in {files:,} files ({files:,} of them from an earlier run), " in capsys.readouterr().err


def test_spark_reads_dates_as_a_column(data, tmp_path, export, spark: SparkSession):
    assert export(data, "--by", "hour") == 0
    read = spark.read.parquet(str(tmp_path / "out"))
    assert {"topic", "date", "hour", "partition"} < set(read.columns)
    assert dict(read.dtypes)["date"] == "date"
    assert read.count() == len(truth("%H"))
    assert read.where("date <> CAST(timestamp AS DATE) OR hour <> hour(timestamp)").count() == 0


def batch(first: int, *times_ms: int) -> Made:
    records = [
        golden.Record(first + at, time_ms, 0, b"k", b'{"a":%d}' % at if at % 2 else b"no json")
        for at, time_ms in enumerate(times_ms)
    ]
    return Made(v2_batch(records), tuple(records))


DAY_MS = 24 * 3_600_000
NOON_MS = 20_000 * DAY_MS + DAY_MS // 2


@pytest.mark.parametrize("value", ["bytes", "json"])
def test_a_later_run_adds_late_records_to_an_earlier_day(tmp_path, export, spark: SparkSession, value, capsys):
    """And what has no date is in a directory of its own, where Spark finds null."""
    old, new = [batch(0, NOON_MS, -1, NOON_MS + DAY_MS)], [batch(3, NOON_MS + 1, 1_700_000_000_000_000, NOON_MS)]
    write_partition(tmp_path / "data", {0: old}, "t-0")
    words = (tmp_path / "data", "--by", "day", "--value", value)
    assert export(*words) == 0
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "out").rglob("*.parquet")}
    write_partition(tmp_path / "data", {0: old + new}, "t-0")
    assert export(*words) == 0
    assert {file: file.stat().st_mtime_ns for file in before} == before
    read = spark.read.parquet(str(tmp_path / "out"))
    dates = {row.offset: row.date and row.date.isoformat() for row in read.select("offset", "date").collect()}
    assert read.count() == 6
    assert dates == {0: "2024-10-04", 1: None, 2: "2024-10-05", 3: "2024-10-04", 4: None, 5: "2024-10-04"}
    reported = capsys.readouterr().err
    assert ("4 values do not fit their topic's columns" in reported) == (value == "json")


@pytest.mark.parametrize("length", [190, 208, 249])
def test_a_topic_may_have_the_longest_name(tmp_path, export, length, capsys):
    """As long as Kafka allows: what says that its ranges are written has to fit beside it."""
    write_partition(tmp_path / "data", {0: [batch(0, NOON_MS)]}, f"{'t' * length}-0")
    for _ in range(2):
        assert export(tmp_path / "data", "--by", "day") == 0, capsys.readouterr().err
        assert [row[2] for row in rows(tmp_path / "out")] == [0]
    assert " in 1 files (1 of them from an earlier run), " in capsys.readouterr().err


@pytest.mark.parametrize(("first", "second"), [(("--by", "day"), ()), ((), ("--by", "day")),
                                               (("--by", "day"), ("--by", "hour"))])  # fmt: skip
def test_another_by_is_refused(tmp_path, export, first, second, capsys):
    write_partition(tmp_path / "data", {0: [batch(0, NOON_MS)]}, "t-0")
    assert export(tmp_path / "data", *first) == 0
    assert export(tmp_path / "data", *second) == 2
    reported = capsys.readouterr().err.splitlines()[-1]
    assert reported.startswith(f"kafkafs: '{tmp_path / 'out'}' holds an export ")
    assert reported.endswith("; name another directory, or the same --by")
    assert len(list((tmp_path / "out").rglob("*.parquet"))) == 1


def test_a_file_that_somebody_removed_is_written_again(data, tmp_path, export):
    assert export(data, "--by", "day") == 0
    next((tmp_path / "out").rglob("*.parquet")).unlink()
    assert export(data, "--by", "day") == 0
    assert rows(tmp_path / "out") == truth("%Y-%m-%d")


def test_a_file_that_no_run_planned_is_refused(data, tmp_path, export, capsys):
    assert export(data, "--by", "day") == 0
    (file, *_) = (tmp_path / "out").rglob("*.parquet")
    shutil.copy(file, file.with_name("copy.parquet"))
    assert export(data, "--by", "day") == 2
    assert "holds a file that its plan does not name" in capsys.readouterr().err


def wait_for_files(out: Path, count: int, running: "subprocess.Popen[bytes]") -> None:
    """Until so many stand there, whole or half written, or the run has ended."""
    deadline = time.monotonic() + 100
    while running.poll() is None and time.monotonic() < deadline:
        if sum(len(files) for _, _, files in os.walk(out)) >= count:
            return
        time.sleep(0.002)


@pytest.mark.parametrize("number", range(COUNT))
def test_killed_at_any_moment_and_run_again(number, data, tmp_path, export):
    """What the second run finds has grown meanwhile: nothing is left out, nothing stands twice."""
    dice = random.Random(f"{SEED} {number}")
    print(f"\nseed {SEED}, kill {number}")
    out, kept_back = tmp_path / "out", tmp_path / "later"
    for log in sorted((data / "segments-0").glob("*.log"))[5:]:
        for file in (data / "segments-0").glob(f"{log.stem}.*"):
            kept_back.mkdir(exist_ok=True)
            shutil.move(file, kept_back)
    engines = dice.choices(["local", "spark"], weights=[2, 1], k=2)  # one may go on with what the other has begun
    words = [str(KAFKAFS), "export", str(data), "--to", str(out), "--by", "hour", "--engine", engines[0]]
    with subprocess.Popen(words, stderr=subprocess.PIPE, start_new_session=True) as running:
        if dice.random() < 0.8:  # while files are written
            wait_for_files(out, dice.randrange(24), running)
            time.sleep(dice.uniform(0, 0.02))  # the moment is what is tried
        else:
            time.sleep(dice.uniform(0, 8 if engines[0] == "spark" else 2))
        if dice.random() < 0.5:
            with contextlib.suppress(ProcessLookupError):  # it had ended
                os.killpg(running.pid, signal.SIGKILL)
        else:
            running.kill()  # Java and its workers live on for a while, beside the next run
        was_ended = running.wait() == -signal.SIGKILL
    done = [len(list(out.rglob(f"*.{kind}"))) for kind in ("json", "parquet", "tmp")]
    print(f"{engines}: {'killed' if was_ended else 'had ended'}; plan and marks, files, halves: {done}")
    for file in kept_back.iterdir():
        shutil.move(file, data / "segments-0")
    assert export(data, "--by", "hour", "--engine", engines[1]) == 0
    assert rows(out) == truth("%Y-%m-%dT%H")
