"""The recipe of docs/spark.md that keeps a topic as a table of Delta Lake, as it stands there, by Delta's own jars."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.format import golden
from tests.format.batch_maker import v2_batch
from tests.log.making import Made, write_partition
from tests.pages import DOCS, blocks
from tests.spark import packages

READ = """
read = spark.read.format("delta").load("/data/delta/orders")
print(*(f"{row.offset}:{row.date}" for row in read.orderBy("offset").collect()), read.inputFiles()[0].count("date="))
"""
NOON_MS = 20_000 * 24 * 3_600_000 + 12 * 3_600_000


def run(program: str, place: Path) -> str:
    """A program on a Spark that has Delta's jars, in a process of its own; its directories lie in `place`."""
    settings = {
        "ui.enabled": "false",
        "log.level": "OFF",
        "sql.shuffle.partitions": "1",
        "databricks.delta.snapshotPartitions": "1",  # of fifty, most are empty here
        "jars": ",".join(map(str, packages.delta())),
    }
    given = " ".join(f"--conf spark.{name}={value}" for name, value in settings.items())
    submit = f"--master local[1] {given} pyspark-shell"
    set_ = {"PYSPARK_SUBMIT_ARGS": submit, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    program = program.replace("/var/kafka-logs", str(place / "data")).replace("/data/", f"{place}/")
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | set_, capture_output=True, text=True, timeout=800, check=False
    )
    assert done.returncode == 0, done.stderr[:3000]
    return done.stdout


def batch(first: int, *times_ms: int) -> Made:
    records = tuple(golden.Record(first + at, time_ms, 0, b"k", b"v") for at, time_ms in enumerate(times_ms))
    return Made(v2_batch(records), records)


@pytest.mark.slow
@pytest.mark.timeout(1700)
def test_each_run_adds_what_is_new_once(tmp_path):
    (recipe,) = blocks(DOCS / "spark.md", "delta")
    old, new = [batch(0, NOON_MS, NOON_MS + 86_400_000)], [batch(2, NOON_MS + 1, NOON_MS + 2 * 86_400_000)]
    write_partition(tmp_path / "data", {0: old}, "orders-0")
    run(recipe, tmp_path)
    write_partition(tmp_path / "data", {0: old + new}, "orders-0")
    reported = run(recipe * 2 + READ, tmp_path)
    dates = ("2024-10-04", "2024-10-05", "2024-10-04", "2024-10-06")
    assert reported.split() == [*(f"{at}:{date}" for at, date in enumerate(dates)), "1"]
