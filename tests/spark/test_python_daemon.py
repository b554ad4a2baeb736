"""The PySpark that tasks run is the one that is installed, which is compiled, and not that in Spark's zip."""

import sys
from pathlib import Path

import pyspark
import pytest

from kafkafs.spark.python_daemon import settings

HOME = Path(pyspark.__file__).parent


def place(_: int) -> str:
    return str(sys.modules["pyspark"].__file__)


def test_tasks_run_what_is_installed(spark):
    """Regression: each session compiled PySpark again, half a second long."""
    assert spark.sparkContext.parallelize([0, 1], 2).map(place).collect() == [pyspark.__file__] * 2


@pytest.mark.parametrize(
    ("home", "python", "is_ours"),
    [(HOME, sys.executable, True), (Path("/opt/spark"), sys.executable, False), (HOME, "/usr/bin/python3", False)],
)
def test_another_spark_and_another_python_go_their_own_way(monkeypatch, home, python, is_ours):
    monkeypatch.setenv("PYSPARK_PYTHON", python)
    assert bool(settings(home, HOME)) == is_ours
