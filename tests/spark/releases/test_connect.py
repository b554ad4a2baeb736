"""Spark Connect and Declarative Pipelines, in the environments of the releases; by hand, as `test_releases` says."""

import json
import os
import re
import subprocess
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from kafkafs.sample import unpack
from tests.kafka import registered
from tests.kafka.dataset import Dataset
from tests.pages import DOCS, blocks
from tests.spark.releases.test_releases import RELEASES, ROOT, environment, pytestmark

__all__ = ["pytestmark"]
LATEST = Dataset("4.3.1", "stopped")
PROGRAM = Path(__file__).with_name("connect.py")


def _ship(shipped: Path) -> None:
    shipped.mkdir()
    for name in ("kafkafs", "pyspark_kafkafs"):
        (shipped / name).symlink_to(ROOT / name)


def run(place: Path, python: Path, *words: str | Path) -> str:
    """What a command of an environment prints, where kafkafs is on the path of modules and nothing is registered."""
    shipped = place / "shipped"
    if not shipped.exists():
        _ship(shipped)
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK", "SPARK", "PYTHON"))}
    settings = {"PYTHONPATH": str(shipped), "PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [*map(str, words)], capture_output=True, text=True, timeout=600, cwd=place, env=bare | settings
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("release", RELEASES)
def test_a_client_of_connect_reads(release, tmp_path):
    """Batch, view, typed columns and a stream, through a server."""
    python = environment(release)
    settings = json.loads(run(tmp_path, python, python, PROGRAM, LATEST.path, registered.data(), tmp_path / "out"))
    count = sum(len(LATEST.records("partitions", number)) for number in range(5))
    typed = [[0, 1, "-"], [1, 2, "n"], [2, None, None]]
    module = "pyspark.sql.connect.session"
    assert settings == {"release": release, "module": module, "batch": count, "typed": typed, "stream": count}


@pytest.mark.parametrize("release", [release for release in RELEASES if release >= "4.1"])
def test_a_pipeline_of_the_page_runs(release, tmp_path):
    """Declarative Pipelines came with 4.1. A second run adds what is new: nothing."""
    (project,), (definition,) = blocks(DOCS / "spark.md", "yaml"), blocks(DOCS / "spark.md", "pipeline")
    data = unpack(tmp_path)
    (tmp_path / "transformations").mkdir()
    (tmp_path / "spark-pipeline.yml").write_text(project.replace("/data/pipelines", str(tmp_path / "pipelines")))
    (tmp_path / "transformations/orders.py").write_text(definition.replace("/var/kafka-logs", str(data)))
    python = environment(release)
    (command,) = re.findall("`(spark-pipelines run .*?)`", (DOCS / "spark.md").read_text())
    for _ in range(2):
        run(tmp_path, python, python.with_name("spark-pipelines"), *command.split()[1:])
    assert ds.dataset(tmp_path / "spark-warehouse/orders", format="parquet").count_rows() == 35
    table = ds.dataset(tmp_path / "spark-warehouse/sold", format="parquet").to_table()
    sold = dict(zip(table.column("item").to_pylist(), table.column("sold").to_pylist(), strict=True))
    assert sold == {"cocoa": 22, "coffee": 21, "maté": 23, "tea": 27}
