"""The Spark session of a command: embedded unless a master is named, silent, and with errors of one sentence.

The output of Java and Spark goes to a file of its own. A failure comes back as the error of this package that was
raised in an executor, or as one sentence. At its end, and when it is interrupted, no process of it is left.
"""

import contextlib
import logging
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from kafkafs import errors
from kafkafs.errors import KafkafsError, Unsupported, UsageError
from kafkafs.installation import install_command
from kafkafs.spark import jvm, python_daemon
from kafkafs.spark.jobs import nothing, wait_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EMBEDDED = "local[*]"
_CORES = r"(\*|[1-9]\d*)"
_LOCAL = re.compile(rf"local(?:\[({_CORES})\])?")
_RETRIES = 3  # for a task whose log was cut while it was read: Spark has none on local masters
_MASTER = re.compile(
    rf"local(\[{_CORES}(,[1-9]\d*)?\])?|local-cluster\[[1-9]\d*,[1-9]\d*,[1-9]\d*\]|(spark|k8s)://.+|yarn"
)
_LOCAL_SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.network.crypto.saslFallback": "false",
}
"""The driver's ports are any user's of this machine: who cannot prove that it is of this session is not listened to."""
_JAVAS_PART = ("jars", "assembly")  # in a release, and in a source tree
_ANSWER_S = 10.0
_ENDED = ("stopped SparkContext", "SparkContext was shut down")
_CLUSTER_ENDED_IT = (
    "the cluster ended it, as a master does if executors fail again and again; the logs of its workers say why"
)
_OF_PY4J = ("KeyboardInterrupt while sending command.", "Exception while sending command.")
_RAISED = re.compile(r"^(?:.*: )?kafkafs\.errors\.(\w+): (.+)$", re.MULTILINE)
_LAST_ERROR = re.compile(r"^(?:Caused by: |: )?([\w.]*(?:Error|Exception)): (.+)$", re.MULTILINE)


Start = Callable[[str, str, "IO[bytes]"], "SparkSession"]
"""(master, the session's name, a file for what Spark says) -> a session."""


@contextlib.contextmanager
def session(
    master: str | None, name: str, meanwhile: Callable[[], None] = nothing, start: "Start | None" = None
) -> Iterator["SparkSession"]:
    """A Spark session for one command. Every error inside becomes one of the family.

    `meanwhile` is called some times a second while Spark starts, which takes seconds. `start` starts it.
    """
    if master is not None and not _MASTER.fullmatch(master):
        raise UsageError(f"{master!r} is not a Spark master; write for example local[4], spark://host:7077 or yarn")
    known = jvm.children()
    logging.getLogger().addFilter(_is_news)
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)  # it complains of the end of what it talks to
    with jvm.private_directories():
        try:
            with tempfile.NamedTemporaryFile() as said:
                spark = wait_for(lambda: (start or _started)(master or EMBEDDED, name, said), meanwhile)
                try:
                    yield spark
                except Exception as error:
                    raise_in_one_sentence(error)
                wait_for(lambda: _stop(spark))
        except BaseException:
            _abandon(known)
            raise


def _is_news(record: logging.LogRecord) -> bool:
    """False for what py4j logs to the root logger, with a traceback, where Ctrl-C or the end of Java meets one of its
    calls: who made the call hears it anyway. Threads of its own may say so after the session."""
    return record.msg not in _OF_PY4J


def raise_in_one_sentence(error: Exception) -> None:
    """Raise an error of Spark or of its Java as a KafkafsError of one sentence, if its cause is known."""
    from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    if isinstance(error, (Py4JNetworkError, ConnectionError)) and (code := _end_of_java()) is not None:
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        raise Unsupported(f"the Spark job failed: its Java {how}, as the system does where memory runs out") from error
    if isinstance(error, (PySparkException, Py4JError)):
        raise in_one_sentence(error) from error
    raise error


def _end_of_java() -> int | None:
    """The exit code of the driver's Java, a signal's number below 0; None if it has not ended, or is not ours."""
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)
    try:
        return None if process is None else int(process.wait(jvm.GRACE_S))
    except subprocess.TimeoutExpired:
        return None


def _stop(spark: "SparkSession") -> None:
    """The end in order; the JVM goes as soon as nothing can ask it for anything."""
    from pyspark import SparkContext

    spark.stop()
    gateway, SparkContext._gateway, SparkContext._jvm = SparkContext._gateway, None, None
    process = getattr(gateway, "proc", None)
    if gateway is not None and process is not None:
        gateway.shutdown()
        process.stdin.close()
        process.wait()


def _abandon(known: frozenset[int]) -> None:
    """End all processes but the `known` ones without order. A second Ctrl-C does not prevent that.

    A Java that ran before the session lives on, and so does the SparkContext that belongs to it.
    """
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if is_main else None
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)  # a client's pyspark does not have it
    try:
        jvm.end(known)
    finally:
        if is_main:
            signal.signal(signal.SIGINT, before)
        java = getattr(getattr(context, "_gateway", None), "proc", None)
        if context is not None and (java is None or java.pid not in known):
            context._gateway = context._jvm = context._active_spark_context = None


def check_standalone(master: str) -> None:
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
    """Return the error that an executor raised, out of the traceback that Spark wraps it in."""
    text = str(error)
    raised = _RAISED.findall(text)
    if raised:
        kind, sentence = raised[-1]
        found = getattr(errors, kind, None)
        if isinstance(found, type) and issubclass(found, KafkafsError):
            return found(sentence.strip())
    if any(sign in text for sign in _ENDED):
        return Unsupported(f"the Spark job failed: {_CLUSTER_ENDED_IT}")
    last = _LAST_ERROR.findall(text)
    reason = f"{last[-1][0].rpartition('.')[2]}: {last[-1][1]}" if last else text.strip().partition("\n")[0]
    return Unsupported(f"the Spark job failed: {reason[:400]}")


def _started(master: str, name: str, said: "IO[bytes]") -> "SparkSession":
    check_standalone(master)
    try:
        import pyspark
    except ImportError:
        raise UsageError(f"{name} needs Spark: run {install_command('spark')}") from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    home = Path(os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent)))
    if not hasattr(pyspark, "SparkContext") or not any((home / part).is_dir() for part in _JAVAS_PART):
        raise UsageError(
            f"{name} needs all of Spark, and pyspark {pyspark.__version__} here is a client's, without Java's part:"
            f" run it in an environment of its own ({install_command('spark')}), or set SPARK_HOME"
        )
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.task.maxFailures": str(_RETRIES),
        "spark.python.authenticate.socketTimeout": "60s",
        "spark.sql.shuffle.partitions": "8",
    }
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings |= _LOCAL_SETTINGS | python_daemon.settings(home, Path(pyspark.__file__).parent)
    # pyspark stops its context, and warns, if Ctrl-C has ended Java as well
    warnings.filterwarnings("ignore", "Unable to cleanly shutdown Spark JVM", RuntimeWarning)
    try:
        if SparkContext._active_spark_context is None:
            conf = SparkConf(loadDefaults=False).setMaster(with_retries(master)).setAppName(f"kafkafs {name}")
            conf.setAll(list(settings.items()))
            gateway = jvm.launch(conf, said)
            if master.startswith("local-cluster"):
                conf.set("spark.authenticate.secret", secrets.token_hex(32))  # not before: `launch` has a command line
            accumulators: Any = SparkContext(conf=conf, gateway=gateway)._accumulatorServer
            accumulators.handle_error = lambda *_: None  # it prints a traceback where the JVM is gone before it
        return SparkSession.builder.getOrCreate()
    except Exception as error:
        said.seek(0)
        raise cannot_start(master, f"{said.read().decode(errors='replace')}\n{error}") from None


def with_retries(master: str) -> str:
    """The master with the retries of a local one, whose tasks are not tried again by default."""
    found = _LOCAL.fullmatch(master)
    return f"local[{found[1] or 1},{_RETRIES}]" if found else master


def cannot_start(master: str, said: str) -> KafkafsError:
    """The error for a session that did not start, from what Java and py4j said."""
    if "JAVA_HOME is not set" in said or "java: not found" in said or "java: command not found" in said:
        return UsageError("Spark needs Java 17 or newer; on Debian: apt-get install default-jre-headless")
    if any(sign in said for sign in _ENDED):
        return UsageError(f"Spark does not start on {master!r}: {_CLUSTER_ENDED_IT}")
    last = _LAST_ERROR.findall(said)
    reason = last[-1][1] if last else said.strip().rpartition("\n")[2]
    return UsageError(f"Spark does not start on {master!r}: {reason[:300]}")
