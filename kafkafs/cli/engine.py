"""Where `audit` and `reindex` run: on Spark, or in processes of this machine. The same functions, the same report."""

import argparse
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from kafkafs.cli.spark_progress import SparkProgress
from kafkafs.errors import UsageError
from kafkafs.spark.jobs import Engine
from kafkafs.spark.local import LocalEngine
from kafkafs.spark.session import session


@contextmanager
def engine(arguments: argparse.Namespace, name: str, progress: SparkProgress) -> Iterator[Engine]:
    """The engine that `--engine` names, without it Spark where that is installed, or a master is named."""
    if is_local(arguments):
        yield LocalEngine()
    else:
        with session(arguments.master, name, progress.starting) as spark:
            yield spark


def is_local(arguments: argparse.Namespace) -> bool:
    """Whether the command runs without Spark."""
    if arguments.engine == "local" and arguments.master is not None:
        raise UsageError("--master names a Spark, and --engine local takes none: leave one of them out")
    if arguments.engine is None:
        return arguments.master is None and not _is_spark_here()
    return bool(arguments.engine == "local")


def _is_spark_here() -> bool:
    """Whether Spark and a Java for it are installed; a client's pyspark has neither."""
    java = os.environ.get("JAVA_HOME") or shutil.which("java")
    return bool(java) and find_spec("pyspark") is not None and find_spec("py4j") is not None
