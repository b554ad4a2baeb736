"""One Spark session for all tests: starting one takes seconds."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import pytest
from pyspark.sql import SparkSession

from kafkafs.cli.main import main
from kafkafs.spark import register
from kafkafs.spark.jobs import Engine
from kafkafs.spark.session import raise_in_one_sentence, session
from kafkafs.tables.local import LocalEngine
from tests.kafka.buckets import KEYS

collect_ignore = [] if find_spec("pyiceberg") else ["test_iceberg.py"]  # of an environment from before that extra


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session as the commands make it, with `kafkafs` registered; its processes may read the tests' stores."""
    os.environ.update(KEYS)
    with session("local[2]", "tests") as started:
        register(started)
        yield started


@pytest.fixture(params=["local", "spark"])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Both engines in turn."""
    found: Engine = LocalEngine(2) if request.param == "local" else request.getfixturevalue("spark")
    return found


@pytest.fixture
def command(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """`command("audit", data)` is `kafkafs audit DATA` in the tests' session: its exit code."""

    @contextmanager
    def given(*_: object) -> Iterator[SparkSession]:
        try:
            yield spark
        except Exception as error:
            raise_in_one_sentence(error)

    monkeypatch.setattr("kafkafs.cli.spark_command.session", given)
    return lambda *words: main([*map(str, words)])
