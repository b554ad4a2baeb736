"""The same jobs where executors are processes of their own, and what a command says when Spark cannot start."""

import os
import pty
import subprocess
import sys

import pytest

from kafkafs.cli.main import main
from tests.kafka.dataset import Dataset
from tests.mounting import KAFKAFS

LATEST = Dataset("4.3.1", "stopped")
CLUSTER = "local-cluster[1,2,2048]"  # two executors: `test_kills`
JOBS = """
import sys
from pathlib import Path
from kafkafs.spark import (register)
from kafkafs.spark.audit.audit_job import audit
from kafkafs.spark.export.export_job import export
from kafkafs.spark.export.output import output
from kafkafs.spark.export.export_plan import Request
from kafkafs.spark.export.plan_store import PlanStore
from kafkafs.spark.export.settling import settle
from kafkafs.tables.offsets import EARLIEST, LATEST, AllAt
from kafkafs.tables.choice import (Choice)
from kafkafs.spark.profile.profile_job import profile
from kafkafs.spark.reindex_job import check_target, reindex
from kafkafs.spark.session import session
from tests.spark.streams import finish
path, master, out = sys.argv[1:]
with session(master, "test") as spark:
    register(spark)
    read = spark.read.format("kafkafs").option("path", path).option("subscribe", "segments,transactions")
    read = read.option("kafka.isolation.level", "read_committed").option("minPartitions", 6)
    print(sorted(tuple(row) for row in read.load().groupBy("topic").count().collect()))
    print(audit(spark, [Path(path)]).findings)
    print(sum(each.records for each in profile(spark, [Path(path)]).values()) > 10000)
    check_target(Path(out, "indexes"), [Path(path)])
    print(len(reindex(spark, [Path(path)], Path(out, "indexes"))) > 50)
    whole = Request((Path(path),), Choice(topics=("partitions",)), AllAt(EARLIEST), AllAt(LATEST))
    place = output(f"{out}/parquet")
    print(export(spark, PlanStore(place, whole), settle(place, whole)).records)
    stream = spark.readStream.format("kafkafs").option("path", path).option("subscribe", "partitions")
    places = {"path": f"{out}/table", "checkpointLocation": f"{out}/checkpoint"}
    query = stream.option("startingOffsets", "earliest").load().writeStream.format("parquet").options(**places)
    finish(lambda: query.trigger(availableNow=True).start().awaitTermination())
    print(spark.read.parquet(f"{out}/table").count())
with session("local[1]", "another") as spark:
    print(spark.range(7).count())
"""


@pytest.mark.slow
def test_jobs_on_a_cluster(tmp_path):
    command = [sys.executable, "-c", JOBS, str(LATEST.path), CLUSTER, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=380, stdin=subprocess.DEVNULL)
    counts = [(topic, len(LATEST.records(topic, 0, "read_committed"))) for topic in ("segments", "transactions")]
    records = sum(len(LATEST.records("partitions", number)) for number in range(5))
    assert done.stdout == f"{counts}\n[]\nTrue\nTrue\n{records}\n{records}\n7\n", done.stderr
    for name in ("segments-0/00000000000000000100.timeindex", "transactions-0/00000000000000000000.txnindex"):
        assert (tmp_path / "indexes" / name).read_bytes() == (LATEST.path / name).read_bytes()


def test_a_person_at_a_terminal_sees_how_far_it_is(tmp_path):
    """Standard error is a terminal: a line that is drawn anew, and the summary in its place at the end."""
    data = LATEST.copy_to(tmp_path / "data", "long-index-0", "segments-0")
    master, terminal = pty.openpty()
    command = [str(KAFKAFS), "audit", str(data)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=terminal, stdin=subprocess.DEVNULL) as running:
        os.close(terminal)
        seen = b""
        while piece := _read(master):
            seen += piece
    os.close(master)
    assert running.returncode == 0
    assert b"\raudit: " in seen
    assert b" parts]" in seen
    assert seen.rstrip().endswith(b"MB")
    assert seen.count(b"clean: 2 partitions") == 1


def _read(master: int) -> bytes:
    try:
        return os.read(master, 4096)
    except OSError:  # the other end is closed
        return b""


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["audit", "DATA", "--master", "nonsense"], "is not a Spark master"),
        (["audit", "DATA", "--master", "local[0]"], "is not a Spark master"),
        (["audit", "DATA", "--master", "spark://127.0.0.1:1"], "no Spark master answers"),
        (["audit", "DATA", "--report", "/nowhere/report"], "there is no directory '/nowhere'"),
        (["audit", "DATA", "--report", "DATA/report"], "is inside a data directory"),
        (["export", "DATA", "--to", "/etc/hostname"], "is not a directory"),
        (["profile", "DATA", "--html", "/tmp"], "it is a directory"),
        (["reindex", "DATA", "--index-dir", "DATA/inside"], "is inside"),
        (["export", "DATA", "--to", "OUT", "--topics", "nope"], "there is no topic 'nope'"),
        (["export", "DATA", "--to", "OUT", "--from-time", "whenever"], "is not a time"),
        (["export", "DATA", "--to", "OUT", "--from-offsets", "{"], "expected e.g."),
        (["profile", "DATA", "--html", "/nowhere/page.html"], "there is no directory '/nowhere'"),
        (["profile", "OUT", "--html", "OUT/page.html"], "does not exist"),
    ],
)
def test_bad_input_gets_one_sentence(arguments, sentence, capsys, tmp_path):
    """Before Spark starts, which takes seconds."""
    places = {"DATA": str(LATEST.path), "OUT": str(tmp_path / "out")}
    assert main([places.get(word, word.replace("DATA", places["DATA"])) for word in arguments]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def test_commands_tell_what_they_made(command, capsys, tmp_path):
    data = LATEST.copy_to(tmp_path / "data", "segments-0", "headers-0", "__cluster_metadata-0")
    assert command("reindex", data, "--index-dir", tmp_path / "indexes") == 0
    without = ("--fail-on-data-loss", "false")  # the metadata name the topics that were not copied
    words = ("--topic-pattern", "seg.*|headers", "--value", "json")
    assert command("export", data, "--to", tmp_path / "parquet", *words, *without) == 0
    assert command("profile", data, "--html", tmp_path / "page.html", *without) == 0
    said = capsys.readouterr().err.splitlines()
    results = [line for line in said if f" in {tmp_path}" in line or " files, " in line]
    reindexed, exported, profiled = results  # on a slow machine lines about the progress stand between them
    count = len(LATEST.records("segments")) + len(LATEST.records("headers"))
    assert reindexed.endswith(f"bytes in {tmp_path / 'indexes'}")
    assert exported.startswith(f"{count:,} records in 2 files, ")
    assert profiled.endswith(f"records of 3 partitions in {tmp_path / 'page.html'}")
    made = (tmp_path / "indexes" / "segments-0").iterdir()
    assert all(file.read_bytes() == (LATEST.directory("segments") / file.name).read_bytes() for file in made)
