"""Errors of the source as a user of Spark sees them: one sentence, no traceback of Python, nothing behind it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kafkafs.errors import NotFound, UsageError
from kafkafs.spark.frame import Frame
from kafkafs.spark.limited_stream import LimitedStreamReader
from kafkafs.spark.refusals import RefusedStream, in_a_sentence
from kafkafs.spark.session import in_one_sentence
from kafkafs.spark.source import KafkafsDataSource
from tests.log.making import made, write_partition
from tests.spark.reading import frame
from tests.spark.test_stream import read, run

Refused = Callable[[SparkSession, Path], object]
REFUSED: dict[str, tuple[Refused, str]] = {
    "a schema": (lambda spark, data: frame(spark, data, value="avro"), "UsageError: value is binary, string,"),
    "a plan": (lambda spark, data: frame(spark, data, subscribe="u").count(), "UsageError: there is no topic 'u'"),
    "a task": (lambda spark, data: frame(spark, data, subscribe="t").count(), "CorruptData: t-0: "),
    "a stream's options": (
        lambda spark, data: run(read(spark, data, subscribe="t", endingOffsets="latest"), data),
        "UsageError: endingOffsets is not valid in a streaming query: it has no end",
    ),
    "a stream's plan": (
        lambda spark, data: run(read(spark, data, subscribe="u"), data), "UsageError: there is no topic 'u'",
    ),
}  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A log whose second batch is damaged."""
    directory = write_partition(tmp_path, {0: [made(0, [1]), made(1, [2]), made(2, [3])]})
    with (directory / f"{0:020}.log").open("r+b") as log:
        log.seek(150)
        log.write(bytes(8))
    return tmp_path


@pytest.mark.parametrize(("refused", "sentence"), REFUSED.values(), ids=REFUSED)
def test_spark_shows_the_sentence_alone(spark: SparkSession, data: Path, refused: Refused, sentence: str):
    """Regression: it stood below a traceback, and in a stream above pyspark's UnboundLocalError."""
    with pytest.raises(PySparkException) as raised:
        refused(spark, data)
    reported = str(raised.value)
    assert f"kafkafs.errors.{sentence}" in reported
    assert "Traceback (most recent call last)" not in reported
    assert "UnboundLocalError" not in reported
    assert sentence.partition(": ")[2] in str(in_one_sentence(raised.value))


def test_a_stream_that_cannot_be_is_refused_at_its_first_offset():
    source = KafkafsDataSource({"path": "/nowhere", "subscribe": "t", "startingOffset": "latest"})
    stream = source.streamReader(Frame().schema)
    assert isinstance(stream, RefusedStream)
    for ask in (stream.initialOffset, stream.latestOffset, lambda: stream.latestOffset({}, None)):
        with pytest.raises(UsageError, match="did you mean startingOffsets"):
            ask()
    assert isinstance(
        KafkafsDataSource({"path": ".", "subscribe": "t"}).streamReader(Frame().schema), LimitedStreamReader
    )


def test_a_write_is_refused():
    """Regression: a class without writers ended in a traceback of pyspark."""
    source = KafkafsDataSource({"path": "/data"})
    for writer in (source.writer, source.streamWriter):
        with pytest.raises(UsageError, match="format kafkafs only reads a broker's files"):
            writer(Frame().schema, False)


def test_bugs_and_other_processes_keep_their_traceback(monkeypatch):
    monkeypatch.delenv("SPARK_HIDE_TRACEBACK", raising=False)
    for error, variables, hidden in (
        (NotFound("x"), {}, None),
        (ValueError("x"), {"PYTHON_WORKER_FACTORY_PORT": "1"}, None),
        (NotFound("x"), {"PYTHON_WORKER_FACTORY_PORT": "1"}, "1"),
    ):
        with monkeypatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            with pytest.raises(type(error)), in_a_sentence():
                raise error
            assert os.environ.get("SPARK_HIDE_TRACEBACK") == hidden
            os.environ.pop("SPARK_HIDE_TRACEBACK", None)
