"""The Spark session of a command: embedded unless a master is named, silent, and with errors of one sentence.

What Java and Spark have to say goes to a file that nobody needs; a failure comes back as the error of this package that
was raised in an executor, or as one sentence.
"""

import contextlib
import os
import re
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kafkafs import errors
from kafkafs.errors import KafkafsError, Unsupported, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EMBEDDED = "local[*]"
_CORES = r"(\*|[1-9]\d*)"
_MASTER = re.compile(
    rf"local(\[{_CORES}(,[1-9]\d*)?\])?|local-cluster\[[1-9]\d*,[1-9]\d*,[1-9]\d*\]|(spark|k8s)://.+|yarn"
)
_ANSWER_S = 10.0
_RAISED = re.compile(r"^(?:[\w.]+: )*kafkafs\.errors\.(\w+): (.+)$", re.MULTILINE)
_LAST_ERROR = re.compile(r"^(?:Caused by: )?([\w.]*(?:Error|Exception)): (.+)$", re.MULTILINE)


@contextlib.contextmanager
def session(master: str | None, name: str) -> Iterator["SparkSession"]:
    """A Spark session for one command. Every error inside becomes one of the family."""
    try:
        import pyspark
        from pyspark.errors import PySparkException
    except ImportError:
        raise UsageError(f"{name} needs Spark: run pip install 'kafkafs[spark]'") from None
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]

    if master is not None and not _MASTER.fullmatch(master):
        raise UsageError(f"{master!r} is no Spark master; write for example local[4], spark://host:7077 or yarn")
    _check_standalone(master or EMBEDDED)
    spark = _started(master or EMBEDDED, name, Path(pyspark.__file__).parent)
    try:
        yield spark
    except (PySparkException, Py4JError) as error:
        raise in_one_sentence(error) from error
    finally:
        with _quiet():
            spark.stop()


def _check_standalone(master: str) -> None:
    """A standalone master that answers, before Spark asks it for a minute. Several may be named: one leads."""
    if not master.startswith("spark://"):
        return
    reasons = []
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        try:
            socket.create_connection((host, int(port)), _ANSWER_S).close()
            return
        except (OSError, ValueError, OverflowError) as error:
            reasons.append(f"{place}: {error}")
    raise UsageError(f"no Spark master answers at {master!r} ({'; '.join(reasons)})")


def in_one_sentence(error: Exception) -> KafkafsError:
    """What an executor raised, out of the traceback that Spark wraps it in."""
    text = str(error)
    raised = _RAISED.findall(text)
    if raised:
        kind, sentence = raised[-1]
        found = getattr(errors, kind, None)
        if isinstance(found, type) and issubclass(found, KafkafsError):
            return found(sentence.strip())
    last = _LAST_ERROR.findall(text)
    reason = f"{last[-1][0].rpartition('.')[2]}: {last[-1][1]}" if last else text.strip().partition("\n")[0]
    return Unsupported(f"the Spark job failed: {reason[:400]}")


def _started(master: str, name: str, home: Path) -> "SparkSession":
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_HOME", str(home))
    settings: dict[str, bool | float | int | str | None] = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.task.maxFailures": "2",
        "spark.python.authenticate.socketTimeout": "60s",
        "spark.sql.shuffle.partitions": "8",
    }
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings["spark.driver.bindAddress"] = "127.0.0.1"
    builder = SparkSession.builder.master(master).appName(f"kafkafs {name}").config(map=settings)
    with _quiet() as said:
        try:
            return builder.getOrCreate()
        except Exception as error:
            said.seek(0)
            raise _cannot_start(master, f"{said.read().decode(errors='replace')}\n{error}") from None


def _cannot_start(master: str, said: str) -> KafkafsError:
    if "JAVA_HOME is not set" in said or "java: not found" in said or "java: command not found" in said:
        return UsageError("Spark needs Java 17 or newer; on Debian: apt-get install default-jre-headless")
    last = _LAST_ERROR.findall(said)
    reason = last[-1][1] if last else said.strip().rpartition("\n")[2]
    return UsageError(f"Spark does not start on {master!r}: {reason[:300]}")


@contextlib.contextmanager
def _quiet() -> "Iterator[tempfile._TemporaryFileWrapper[bytes]]":
    """Standard error, which Java inherits, goes to a file meanwhile."""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.NamedTemporaryFile() as said:
        os.dup2(said.fileno(), 2)
        try:
            yield said
        finally:
            sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)
