"""An environment whose pyspark is a client's, or whose libraries do not fit: one sentence, no traceback."""

import os
import subprocess
from pathlib import Path

import pytest

from kafkafs.installation import install_command
from tests.kafka.dataset import Dataset
from tests.mounting import KAFKAFS

LATEST = Dataset("4.3.1", "stopped")


def said(command: list[str], place: Path) -> str:
    bare = {name: value for name, value in os.environ.items() if name != "SPARK_HOME"}
    done = subprocess.run(
        [str(KAFKAFS), *command], env=bare | {"PYTHONPATH": str(place)}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode in (1, 2)
    last = done.stderr.splitlines()[-1]
    assert done.stderr.count("\n") == 1
    return last


@pytest.mark.parametrize("what", ["", "class SparkContext: pass\n"], ids=["pyspark-client", "databricks-connect"])
def test_a_client_without_java_is_told_what_it_lacks(what, tmp_path):
    """The thin client has no SparkContext; Databricks' has one, and no jars for it."""
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark/__init__.py").write_text(f"__version__ = '4.9'\n{what}")
    sentence = said(["profile", str(LATEST.path), "--html", str(tmp_path / "x")], tmp_path)
    assert sentence.startswith(
        "kafkafs: profile needs all of Spark, and pyspark 4.9 here is a client's, without Java's"
    )


def test_a_library_that_does_not_fit_is_no_bug_of_ours(tmp_path):
    (tmp_path / "pyarrow.py").write_text("raise ImportError('pyarrow requires NumPy 2.0 or newer, found 1.26.4')")
    sentence = said(["export", str(LATEST.path), "--to", str(tmp_path / "out")], tmp_path)
    assert "a library is missing or does not fit: pyarrow requires NumPy 2.0" in sentence
    assert install_command("spark") in sentence
