"""The same jobs where executors are processes of their own, and what a command says when Spark cannot start."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kafka.dataset import Dataset
from tests.mounting import KAFKAFS

LATEST = Dataset("4.3.1", "stopped")
CLUSTER = "local-cluster[2,1,2048]"
READ = """
import sys
from pyspark.sql import SparkSession
from kafkafs.spark import register
from kafkafs.spark.session import session
with session(sys.argv[2], "test") as spark:
    register(spark)
    read = spark.read.format("kafkafs").option("path", sys.argv[1]).option("subscribe", "segments,transactions")
    read = read.option("kafka.isolation.level", "read_committed").option("minPartitions", 6)
    print(sorted(tuple(row) for row in read.load().groupBy("topic").count().collect()))
"""


def kafkafs(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [str(KAFKAFS), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=160, stdin=subprocess.DEVNULL, env=os.environ | variables
    )


@pytest.mark.timeout(200)
def test_a_read_on_a_cluster():
    command = [sys.executable, "-c", READ, str(LATEST.path), CLUSTER]
    done = subprocess.run(command, capture_output=True, text=True, timeout=160, stdin=subprocess.DEVNULL)
    counts = [(topic, len(LATEST.records(topic, 0, "read_committed"))) for topic in ("segments", "transactions")]
    assert done.stdout == f"{counts}\n"


@pytest.mark.timeout(200)
def test_an_export_on_a_cluster(tmp_path):
    done = kafkafs("export", LATEST.path, "--to", tmp_path / "out", "--topics", "segments,headers", "--master", CLUSTER)
    count = len(LATEST.records("segments")) + len(LATEST.records("headers"))
    assert done.stderr.startswith(f"{count:,} records in 2 files")
    assert done.returncode == 0
    assert json.loads((tmp_path / "out" / "_kafkafs_export.json").read_text())["version"] == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["audit", "DATA", "--master", "nonsense"], "is no Spark master"),
        (["reindex", "DATA", "--index-dir", "DATA/inside"], "lies inside"),
        (["export", "DATA", "--to", "OUT", "--topics", "nope"], "there is no topic 'nope'"),
        (["export", "DATA", "--to", "OUT", "--from-time", "whenever"], "is no time"),
        (["export", "DATA", "--to", "OUT", "--from-offsets", "{"], "expected e.g."),
        (["profile", "DATA", "--html", "/nowhere/page.html"], "there is no directory '/nowhere'"),
        (["profile", "OUT", "--html", "OUT/page.html"], "does not exist"),
    ],
)
def test_bad_input_gets_one_sentence(arguments, sentence, tmp_path):
    places = {"DATA": str(LATEST.path), "OUT": str(tmp_path / "out")}
    done = kafkafs(*[places.get(word, word.replace("DATA", places["DATA"])) for word in arguments])
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.returncode == 2


def test_without_java_a_sentence_says_so(tmp_path):
    done = kafkafs("audit", LATEST.path, PATH="/nowhere", JAVA_HOME="/nowhere")
    assert done.returncode == 2
    assert "Java" in done.stderr
    assert done.stderr.count("\n") == 1
