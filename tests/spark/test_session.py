"""A command's session of Spark, without Spark: what is no master, what an environment lacks, what became of a job, each
in one sentence. How one ends: `test_interrupted` and `test_driver_ports`.
"""

import os
import socket
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from kafkafs.errors import CorruptData, DiskError, Unsupported, UsageError, Vanished
from kafkafs.installation import install_command
from kafkafs.spark import session as own
from kafkafs.spark.session import in_one_sentence, session
from tests.kafka.dataset import Dataset
from tests.mounting import KAFKAFS

LATEST = Dataset("4.3.1", "stopped")


def said(command: list[str], place: Path) -> str:
    bare = {name: value for name, value in os.environ.items() if name != "SPARK_HOME"}
    done = subprocess.run(
        [str(KAFKAFS), *command], env=bare | {"PYTHONPATH": str(place)}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode in (1, 2)
    last = done.stderr.splitlines()[-1]
    assert done.stderr.count("\n") == 1
    return last


@pytest.mark.parametrize("what", ["", "class SparkContext: pass\n"], ids=["pyspark-client", "databricks-connect"])
def test_a_client_without_java_learns_what_it_lacks(what, tmp_path):
    """The thin client has no SparkContext; Databricks' has one, and no jars for it."""
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark/__init__.py").write_text(f"__version__ = '4.9'\n{what}")
    sentence = said(["audit", str(LATEST.path), "--engine", "spark"], tmp_path)
    assert sentence.startswith("kafkafs: audit needs all of Spark, and pyspark 4.9 here is a client's, without Java's")


def test_a_library_that_does_not_fit_is_no_bug_of_ours(tmp_path):
    (tmp_path / "pyarrow.py").write_text("raise ImportError('pyarrow requires NumPy 2.0 or newer, found 1.26.4')")
    sentence = said(["export", str(LATEST.path), "--to", str(tmp_path / "out")], tmp_path)
    assert "a library is missing or does not fit: pyarrow requires NumPy 2.0" in sentence
    assert install_command("tables") in sentence


def test_without_java_a_sentence_says_so(tmp_path):
    bare = os.environ | {"PATH": "/nowhere", "JAVA_HOME": "/nowhere"}
    command = [str(KAFKAFS), "audit", str(LATEST.path), "--engine", "spark"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=bare)
    assert done.returncode == 2
    assert "Java" in done.stderr
    assert done.stderr.count("\n") == 1


MASTERS = [
    "local",
    "local[4]",
    "local[*]",
    "local[2,3]",
    "local-cluster[2,1,1024]",
    "yarn",
    "spark://a:1,b:2",
    "k8s://https://a",
]
NO_MASTERS = ["", "local[0]", "local[]", "local[-1]", "local[*,0]", "local-cluster[1]", "spark://", "yarn-client",
              "local[4]\n"]  # fmt: skip


@pytest.mark.parametrize("master", NO_MASTERS)
def test_what_is_no_master_is_reported_before_anything_starts(master):
    with pytest.raises(UsageError, match="is not a Spark master"), session(master, "test"):
        raise AssertionError


def test_a_session_that_does_not_start_leaves_one_that_runs(spark: SparkSession):
    """Regression: it took the other session's SparkContext away, and later tests in the process failed."""

    def refused(*_: object) -> NoReturn:
        raise UsageError("no")

    with pytest.raises(UsageError, match="no"), session("yarn", "test", start=refused):
        raise AssertionError
    assert SparkContext._active_spark_context is spark.sparkContext
    assert spark.range(3).count() == 3


@pytest.mark.parametrize("master", MASTERS)
def test_a_master_is_taken_as_spark_takes_it(master):
    """And on this machine with as many tries of a task as a cluster has: a log may be cut while it is read."""

    def started(given: str, *_: object) -> NoReturn:
        raise UsageError(f"would start on {given}")

    with pytest.raises(UsageError) as raised, session(master, "test", start=started):
        raise AssertionError
    assert str(raised.value) == f"would start on {master}"


@pytest.mark.parametrize(
    ("master", "expected"),
    [
        ("local", "local[1,3]"),
        ("local[*]", "local[*,3]"),
        ("local[4]", "local[4,3]"),
        ("local[4,7]", "local[4,7]"),
        ("yarn", "yarn"),
    ],
)
def test_a_master_on_this_machine_tries_a_task_again(master, expected):
    assert own.with_retries(master) == expected


def test_one_standalone_master_that_answers_is_enough(monkeypatch):
    """Spark itself would ask them for a minute; each that does not answer is named with its reason."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        port = one.getsockname()[1]
        own.check_standalone(f"spark://127.0.0.1:1,127.0.0.1:{port}")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # so that nobody else listens there
        port = taken.getsockname()[1]
        with pytest.raises(UsageError) as raised:
            own.check_standalone(f"spark://127.0.0.1:{port},nowhere.invalid:7077,127.0.0.1:99999,host")
    reported = str(raised.value)
    assert reported.startswith("no Spark master answers at 'spark://127.0.0.1:")
    assert all(
        f"{place}: " in reported for place in (f"127.0.0.1:{port}", "nowhere.invalid:7077", "127.0.0.1:99999", "host")
    )


TRACEBACK = """An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "tasks.py", line 5, in records_of
kafkafs.errors.{raised}

Driver stacktrace:
Caused by: java.lang.RuntimeException: something of Java's
"""
RAISED = [
    ("CorruptData: t-0: offset 5: a bad batch", CorruptData, "t-0: offset 5: a bad batch"),
    ("UsageError: there is no topic 'x'", UsageError, "there is no topic 'x'"),
    ("Vanished: the log was cut: twice", Vanished, "the log was cut: twice"),
    ("NoSuchError: x", Unsupported, "the Spark job failed: RuntimeException: something of Java's"),
    ("ERRNO: x", Unsupported, "the Spark job failed: RuntimeException: something of Java's"),
]  # fmt: skip


@pytest.mark.parametrize(("raised", "kind", "sentence"), RAISED)
def test_what_an_executor_raised_comes_out_of_the_traceback(raised, kind, sentence):
    """Its class decides the exit code, and its sentence is all that helps; of others the last reason counts."""
    found = in_one_sentence(RuntimeError(TRACEBACK.format(raised=raised)))
    assert (type(found), str(found)) == (kind, sentence)


def test_of_several_errors_the_last_one_counts_and_no_sentence_is_endless():
    """A task is tried again: what it said in the end is what it ended with."""
    both = TRACEBACK.format(raised="CorruptData: first") + TRACEBACK.format(raised="DiskError: second")
    assert (type(in_one_sentence(RuntimeError(both))), str(in_one_sentence(RuntimeError(both)))) == (
        DiskError,
        "second",
    )
    assert len(str(in_one_sentence(RuntimeError("x" * 10_000)))) < 500
    assert str(in_one_sentence(RuntimeError("first line\nsecond"))) == "the Spark job failed: first line"


@pytest.mark.parametrize("said", ["JAVA_HOME is not set", "java: not found", "bash: java: command not found"])
def test_a_lack_of_java_is_reported_with_the_package(said):
    assert "default-jre-headless" in str(own.cannot_start("local[*]", f"a warning\n{said}\n"))


def test_else_the_last_error_is_why_spark_does_not_start():
    for ended in (
        "Cannot call methods on a stopped SparkContext.\n\tat java.lang.Thread",
        "Job 0 cancelled because SparkContext was shut down",
    ):
        reported = "the logs of its workers say why"
        assert str(own.cannot_start("spark://a:1", f"{ended}\n\tat a.b(C)")).endswith(reported)
        assert str(in_one_sentence(RuntimeError(f": java.lang.IllegalStateException: {ended}"))).endswith(reported)
    assert str(own.cannot_start("yarn", "An error of py4j\n: java.lang.Error: why\n\tat a.b(C)")).endswith(": why")
    said = "WARN x\njava.lang.Exception: first\nCaused by: java.net.BindException: Address already in use\n\tat a.b(C)"
    assert str(own.cannot_start("local[2]", said)) == "Spark does not start on 'local[2]': Address already in use"
