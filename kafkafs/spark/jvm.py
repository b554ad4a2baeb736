"""The JVM behind an embedded driver: started apart from Ctrl-C and from our standard error, and ended for certain.

Java and what it starts are processes below this one. Each is held by a descriptor of its own (pidfd), so that a signal
reaches it and no later process with its number.
"""

import os
import pwd
import select
import signal
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkConf

GRACE_S = 0.8
"""For so long a process may tidy up before it is killed."""


def launch(conf: "SparkConf", said: "IO[bytes]") -> Any:
    """A gateway to a new JVM; what that has to say goes to the file. Ctrl-C at a terminal does not reach it.

    In a pod a user may be a number without a name. Java then has no home for it, which Spark's Ivy asks for, and Hadoop
    does not log it in: it gets a home and is known by its number.
    """
    from pyspark.java_gateway import launch_gateway

    nameless = _is_nameless()
    if nameless:
        conf.set("spark.driver.extraJavaOptions", f"-Duser.home={tempfile.gettempdir()}")
    gateway = launch_gateway(  # type: ignore[no-untyped-call]
        conf, {"stdout": said, "stderr": said, "start_new_session": True}
    )
    if nameless:
        users = gateway.jvm.org.apache.hadoop.security.UserGroupInformation
        users.setLoginUser(users.createRemoteUser(os.environ.get("HADOOP_USER_NAME", str(os.geteuid()))))
    return gateway


@contextmanager
def private_directories() -> Iterator[None]:
    """A JVM that is launched in the block spills to directories that no other user may look into: below those of
    SPARK_LOCAL_DIRS, or below that for temporary files. Spark's own are open to all who know their names."""
    before = os.environ.get("SPARK_LOCAL_DIRS")
    places = before.split(",") if before else [tempfile.gettempdir()]
    with ExitStack() as stack:
        made = [
            stack.enter_context(tempfile.TemporaryDirectory(prefix="kafkafs-", dir=place, ignore_cleanup_errors=True))
            for place in places
        ]
        os.environ["SPARK_LOCAL_DIRS"] = ",".join(made)
        try:
            yield
        finally:
            os.environ.pop("SPARK_LOCAL_DIRS")
            if before:
                os.environ["SPARK_LOCAL_DIRS"] = before


def _is_nameless() -> bool:
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        return True
    return False


def children() -> frozenset[int]:
    """The processes that this one has started and that still run."""
    return frozenset(_parents().get(os.getpid(), ()))


def end(known: Iterable[int], *, grace_s: float = GRACE_S) -> None:
    """Ends the children of this process but for the `known` ones, and all that they have started."""
    with _held(below(children() - frozenset(known))) as processes:
        for descriptor in processes:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptor, signal.SIGTERM)
        deadline = time.monotonic() + grace_s
        left = set(processes)
        while left and (wait_s := deadline - time.monotonic()) > 0:
            left -= _ended(left, wait_s)
        for descriptor in left:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        while left and time.monotonic() < deadline + grace_s:
            left -= _ended(left, grace_s)


def _ended(processes: Iterable[int], wait_s: float) -> set[int]:
    """The descriptors whose process has ended; waits until one has. `select` takes no descriptor above 1,023."""
    waiting = select.poll()
    for descriptor in processes:
        waiting.register(descriptor, select.POLLIN)
    return {descriptor for descriptor, _ in waiting.poll(wait_s * 1000)}


@contextmanager
def _held(pids: Iterable[int]) -> Iterator[list[int]]:
    descriptors = []
    try:
        for pid in pids:
            with suppress(ProcessLookupError):
                descriptors.append(os.pidfd_open(pid))
        yield descriptors
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def below(pids: Iterable[int]) -> list[int]:
    """The processes and all that they have started, and those in turn."""
    parents, found = _parents(), list(pids)
    for pid in found:  # the list grows meanwhile
        found += parents.get(pid, ())
    return found


def _parents() -> dict[int, list[int]]:
    """The running processes by their parent process, from /proc."""
    found: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:
                state, parent = stat.read().rpartition(b")")[2].split()[:2]
                if state != b"Z":
                    found.setdefault(int(parent), []).append(int(name))
    return found
