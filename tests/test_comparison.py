"""What docs/comparison.md says of other tools, asked of them. What kcat and kafkafs say there, test_docs.py runs."""

import re
import subprocess
import sys

import pytest

from kafkafs.sample import unpack
from tests.kafka import jars
from tests.kafka.dumps import TOOL
from tests.mounting import run
from tests.pages import DOCS, blocks

PAGE = DOCS / "comparison.md"
SPARK, OPTIONS, COMMIT = blocks(PAGE, "text")
LOAD = """
import sys
from pyspark.sql import SparkSession
quiet = {"spark.ui.enabled": "false", "spark.log.level": "OFF", "spark.jars": sys.argv[1]}
spark = SparkSession.builder.master("local[1]").config(map=quiet).getOrCreate()
try:
    spark.read.format("kafka").option("subscribe", "orders").load().count()
except Exception as error:
    print(error)
"""


def test_the_options_of_kafkas_tool_are_those():
    """One that names an offset would be news, and the table wrong."""
    command = jars.command(jars.NEWEST, TOOL, "--help")
    shown = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert set(re.findall(r"^(--[a-z][a-z-]+)", shown.stdout + shown.stderr, re.M)) == set(OPTIONS.split())


def test_kafkas_tool_prints_commits_as_records(tmp_path):
    data = unpack(tmp_path)
    files = ("--offsets-decoder", "--files", f"__consumer_offsets-0/{0:020}.log")
    shown = jars.run(jars.NEWEST, TOOL, *files, cwd=data).stdout.decode()
    pattern = ".*".join(re.escape(part) for part in COMMIT.rstrip("\n").split("..."))
    assert re.search(f"^{pattern}$", shown, re.M), shown


@pytest.mark.slow
def test_sparks_source_asks_for_a_broker():
    connector = ",".join(map(str, jars.connector().glob("*.jar")))
    assert SPARK.strip() in run(sys.executable, "-c", LOAD, connector, timeout=300).stdout.decode()


def test_the_versions_are_those_that_were_tried():
    page = PAGE.read_text()
    assert f"of Kafka {jars.NEWEST}" in page
    reported = run("kcat", "-V").stdout.decode()
    assert re.search(r"kcat \| ([\d.]+)", page)[1] in reported  # type: ignore[index]
    assert "avro" not in reported.lower()
