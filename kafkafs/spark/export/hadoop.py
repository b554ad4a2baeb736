"""HDFS for `output`: Hadoop's own libhdfs, which runs Java inside this process, and what that takes to be a good guest.

Three habits of libhdfs are mended here. Its Java takes Ctrl-C for itself and ends the process on the spot, Spark left
behind: so it is told to leave signals alone (`-Xrs`). It prints Java's traces on standard error: they are heard, and
give the error its reason. And what it cannot ask for, pyarrow takes for a file that is not there: a trace that was
heard is an error, whatever came back.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import parse_qsl, unquote, urlsplit

from pyarrow import fs

SCHEMES = ("hdfs", "viewfs")
TAKES = "it takes Hadoop's libhdfs, JAVA_HOME, and CLASSPATH from `hadoop classpath --glob`"

_DEFAULTS = {
    "replication": "0",  # what the cluster says; pyarrow's own default is 3, whatever the cluster says
    "ipc.client.connect.max.retries.on.timeouts": "2",  # of 20 s each; Hadoop's 45 are a quarter of an hour
}
_LEAVE_SIGNALS = "-Xrs"
_CLASSPATH_S = 60
_TRACE = re.compile(r"^(?:hdfs\w+\(|FileSystem: ).* error:$", re.MULTILINE)
_CAUSE = re.compile(r"(?:[a-z]\w*\.)+([A-Z][\w$]*)(?:\([\w.$]*\))?: ([^\n]*)")


def opened(uri: str) -> tuple[fs.FileSystem, str]:
    """The file system of a URI and the path in it; without a host the one that Hadoop's settings name (fs.defaultFS).

    What stands behind `?` are Hadoop's settings. ValueError where it is malformed, OSError where nothing answers.
    """
    parts = urlsplit(uri)
    user, _, place = parts.netloc.rpartition("@")
    options = _DEFAULTS | dict(parse_qsl(parts.query))
    _prepare()
    with heard():
        system = fs.HadoopFileSystem(
            f"{parts.scheme}://{place.partition(':')[0]}" if place else "default",
            parts.port or 0,
            user=options.pop("user", user) or None,
            replication=int(options.pop("replication")),
            kerb_ticket=options.pop("kerb_ticket", None),
            extra_conf=options,
        )
    return system, unquote(parts.path)


@contextmanager
def heard() -> Iterator[None]:
    """What libhdfs prints meanwhile is not shown; OSError where it was a trace of Java's, with its last cause."""
    before = os.dup(2)
    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 2)
        failure = None
        try:
            yield
        except OSError as error:
            failure = error
        finally:
            os.dup2(before, 2)
            os.close(before)
        said.seek(0)
        reason = _reason(said.read().decode(errors="replace"))
        if reason:
            raise OSError(reason) from failure
        if failure:
            raise failure


def _reason(said: str) -> str | None:
    """The last cause of the last trace; None where no trace is."""
    if not _TRACE.search(said):
        return None
    causes = _CAUSE.findall(said)
    return f"{causes[-1][0]}: {causes[-1][1]}" if causes else said.strip().rpartition("\n")[2]


def _prepare() -> None:
    """Before libhdfs starts Java, once in a process."""
    given = os.environ.get("LIBHDFS_OPTS", "")
    if _LEAVE_SIGNALS not in given.split():
        os.environ["LIBHDFS_OPTS"] = f"{given} {_LEAVE_SIGNALS}".strip()
    if not os.environ.get("CLASSPATH"):
        home = os.environ.get("HADOOP_HOME")
        hadoop = shutil.which("hadoop", path=f"{home}/bin" if home else None)
        if hadoop:
            ask = [hadoop, "classpath", "--glob"]
            with suppress(OSError, subprocess.SubprocessError):
                told = subprocess.run(ask, capture_output=True, text=True, timeout=_CLASSPATH_S, check=True)
                os.environ["CLASSPATH"] = told.stdout.strip()
