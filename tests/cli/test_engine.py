"""Which engine a command runs on; what it does there is in tests/spark/test_local.py."""

import argparse

import pytest

from kafkafs.cli.engine import engine, is_local
from kafkafs.cli.spark_progress import SparkProgress
from kafkafs.spark.local import LocalEngine


def test_without_java_the_processes_of_this_machine_are_taken(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("shutil.which", lambda _: None)
    arguments = argparse.Namespace(engine=None, master=None)
    assert is_local(arguments)
    with SparkProgress("audit") as progress, engine(arguments, "audit", progress) as where:
        assert isinstance(where, LocalEngine)
