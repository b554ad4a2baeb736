"""Archives of loaded classes, which a JVM maps instead of loading them one by one: tests start dozens of JVMs.

`scripts/setup --test` makes them once (`python -m tests.class_archives`): with them a broker starts with 40 % and Spark
with 55 % less of the processors' time. Where one is missing, or was made by another Java or from other jars, the JVM
says nothing and loads classes as ever.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.kafka import cache

QUICK_START = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
"""For JVMs that live for seconds: they compile quickly rather than well."""

_MAPPED = "-XX:SharedArchiveFile="
_MADE = "-XX:ArchiveClassesAtExit="
_SILENT = "-Xlog:disable"
_SPARK = Path(sys.prefix, "spark-classes")  # beside its jars, whose paths it names


def options(place: Path) -> tuple[str, ...]:
    """What a JVM is started with that uses the archive in that directory, if it is there."""
    archive = place / "classes.jsa"
    return (f"{_MAPPED}{archive}", _SILENT) if archive.exists() else ()


def spark() -> dict[str, str]:
    """The environment in which tests' programs start Spark: what its JVMs are told, of the driver and of executors, and
    what the one that only writes their command line."""
    return {"SPARK_LAUNCHER_OPTS": " ".join(QUICK_START), **_environment(options(_SPARK))}


def _environment(more: tuple[str, ...]) -> dict[str, str]:
    said = " ".join((*QUICK_START, *more))
    options = f'{said} "-Dspark.executor.extraJavaOptions={said}"'
    return {"SPARK_SUBMIT_OPTS": options, "SPARK_LOCAL_IP": "127.0.0.1"}  # the machine's own name may have no address


def of_kafka(release: str) -> Path:
    """The directory of the archive for brokers of `release`; tools have most of its classes, too."""
    return cache.root() / "classes" / release


def _make_spark(place: Path) -> None:
    environment = _environment((f"{_MADE}{place}/classes.jsa", _SILENT))
    command = [sys.executable, "-c", _PROGRAM]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(f"Spark does not start: {done.stderr[-2000:]}")


_PROGRAM = """
from pyspark.sql import SparkSession
session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", False).getOrCreate()
process = session.sparkContext._gateway.proc
session.stop()
process.stdin.close()
process.wait()
"""
"""It runs no query: to write down a query's classes took 20 s, and gave each session less than 1 s back."""


def _make_kafka(release: str) -> Callable[[Path], None]:
    from tests.kafka import broker  # which starts its nodes with `options`

    def make(place: Path) -> None:
        os.environ["JAVA_TOOL_OPTIONS"] = f"{_MADE}{place}/classes.jsa {_SILENT}"
        with tempfile.TemporaryDirectory() as home:
            broker.start(release, Path(home)).stop()  # the last JVM to end is the broker's

    return make


def _main() -> None:
    from tests.kafka import jars

    makers: Mapping[Path, Callable[[Path], None]] = {
        _SPARK: _make_spark,
        **{of_kafka(release): _make_kafka(release) for release in jars.KRAFT_RELEASES},
    }
    for place, make in makers.items():
        cache.once(place, make)


if __name__ == "__main__":
    _main()
