"""Sessions in which nobody called `register`: the source is there, as soon as kafkafs is installed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from tests import class_archives
from tests.kafka.dataset import Dataset

LATEST = Dataset("4.3.1", "stopped")
COUNT = sum(len(LATEST.records("partitions", number)) for number in range(5))
VIEW = f"CREATE TEMPORARY VIEW orders USING kafkafs OPTIONS (path '{LATEST.path}', subscribe 'partitions')"
PROGRAM = """
import json, sys
from pyspark.sql import SparkSession
path, view = sys.argv[1:]
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
batch = spark.read.format("kafkafs").option("path", path).option("subscribe", "partitions").load()
told = {"batch": batch.columns[:2]}
spark.sql(view)
told["sql"] = spark.sql("SELECT count(*) FROM orders").head()[0]
stream = spark.readStream.format("kafkafs").option("path", path).option("subscribe", "partitions").load()
told["stream"] = stream.isStreaming
print(json.dumps(told))
"""


def environment() -> dict[str, str]:
    """That of an activated virtual environment."""
    without = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK", "SPARK"))}
    own = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "SPARK_LOCAL_IP": "127.0.0.1"}
    return without | own | class_archives.spark()


def test_a_new_session_knows_the_source():
    """Regression: "Failed to find the data source: kafkafs", until somebody had read the page to its end."""
    words = [sys.executable, "-c", PROGRAM, str(LATEST.path), VIEW]
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == {"batch": ["key", "value"], "sql": COUNT, "stream": True}


@pytest.mark.slow
def test_sparks_own_shell_for_sql_knows_it(tmp_path):
    words: list[str | Path] = [Path(sys.executable).with_name("spark-sql"), "--conf", "spark.ui.enabled=false", "-S",
             "-e", f"{VIEW}; SELECT concat('rows: ', count(*)) FROM orders"]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=300, cwd=tmp_path)
    assert f"rows: {COUNT}" in done.stdout.splitlines(), done.stderr[-2000:]


WITHOUT_ARROW = """
import sys
sys.modules["pyarrow"] = None
import pyspark_kafkafs
print(hasattr(pyspark_kafkafs, "DefaultSource"))
"""


def test_an_environment_without_arrow_keeps_its_other_sources():
    """Spark imports every `pyspark_*` when any source in Python is asked for."""
    done = subprocess.run([sys.executable, "-c", WITHOUT_ARROW], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_wheel_has_the_package():
    """It stands beside `kafkafs`, where nothing else of the project does."""
    builder = WheelBuilder(str(Path(__file__).parents[2]))
    names = {each.distribution_path for each in builder.recurse_included_files()}
    assert "pyspark_kafkafs/__init__.py" in names
    assert {name.partition("/")[0] for name in names} == {"kafkafs", "pyspark_kafkafs"}
