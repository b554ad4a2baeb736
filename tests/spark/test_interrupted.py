"""Ctrl-C at any moment of a command on Spark: it ends at once, with one sentence, and leaves no process."""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kafkafs.spark import jvm
from tests.kafka.dataset import Dataset
from tests.mounting import KAFKAFS
from tests.promises import at_most

pytestmark = pytest.mark.urgent  # two seconds are measured, and Java starts in them
LATEST = Dataset("4.3.1", "stopped")
EACH_MOMENT = "KAFKAFS_SPARK_KILLS" in os.environ  # else one for each state: Java starts, Spark starts, tasks run
TOGETHER_S = 2.0
BEGUN_S = 1.2  # until then a busy machine may not have read the command yet


def below(pid: int) -> list[int]:
    return jvm.below([pid])


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


@pytest.mark.parametrize("after_s", [0.5, 1.0, 1.5, 2.5, 4.0, 6.0] if EACH_MOMENT else [0.5, 1.5, 4.0])
def test_ctrl_c_ends_all(after_s, tmp_path):
    """From the first moments, in which Java starts, until tasks run; a terminal's signal goes to the whole group."""
    data = LATEST.copy_to(tmp_path / "data", "long-index-0", "segments-0")
    command = [str(KAFKAFS), "export", str(data), "--to", str(tmp_path / "out"), "--file-mb", "1", "--engine", "spark"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as running:
        time.sleep(after_s)  # the moment is what is tried
        if running.poll() is not None:
            return  # it was done before
        processes = below(running.pid)
        began = time.monotonic()
        os.killpg(running.pid, signal.SIGINT)
        said = running.stderr.read() if running.stderr else ""
        code = running.wait(300)
        took = time.monotonic() - began
    if " records in " in said:
        return  # it had told all it had to tell, and the signal met an interpreter that was tidying up
    assert code == 130, said
    went_on = "; the same command goes on from here"
    assert said.replace(went_on, "") == "kafkafs: interrupted\n"
    assert went_on in said or after_s < BEGUN_S
    assert took < at_most(TOGETHER_S)
    assert [pid for pid in processes if runs(pid)] == []


LINGERING = """
import time
from kafkafs.spark.session import session
try:
    with session("local[1]", "test") as spark:
        print(spark.sparkContext.parallelize([1, 2]).map(str).collect())
        raise KeyboardInterrupt
except KeyboardInterrupt:
    time.sleep(2)
"""


@pytest.mark.slow
def test_no_thread_complains_of_the_end_of_java():
    """Regression: pyspark's server for accumulators printed a traceback, where it was quicker than our own end."""
    done = subprocess.run([sys.executable, "-c", LINGERING], capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.stderr) == ("['1', '2']\n", "")


def test_the_first_words_come_at_once(tmp_path):
    """A person at a terminal sees within half a second that something happens."""
    data = LATEST.copy_to(tmp_path / "data", "segments-0")
    ours, theirs = pty.openpty()
    with subprocess.Popen([str(KAFKAFS), "audit", str(data), "--engine", "spark"],
                          stderr=theirs, start_new_session=True) as running:  # fmt: skip
        os.close(theirs)
        seen = b""
        while "starting Spark…".encode() not in seen:
            seen += os.read(ours, 4096)
        running.send_signal(signal.SIGINT)
        while piece := _read(ours):
            seen += piece
        assert running.wait(300) == 130
    os.close(ours)
    assert seen.rstrip().endswith(b"kafkafs: interrupted")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other end is closed
        return b""


INTERRUPTED = """
import os, signal, threading
from kafkafs.spark.session import session
try:
    with session("local[1]", "test") as spark:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        spark._jvm.java.lang.Thread.sleep(20_000)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.slow
def test_ctrl_c_in_a_call_of_javas_prints_no_traceback():
    """Regression: py4j tells the root logger of it, in ten lines. A full run met that once."""
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=300, check=False)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


KILLED = """
import os, signal, threading, time
from kafkafs.errors import KafkafsError
from kafkafs.spark import (jvm)
from kafkafs.spark.session import session
try:
    with session("local[1]", "test") as spark:
        (java,) = jvm.children()
        threading.Timer(0.3, os.kill, (java, signal.SIGKILL)).start()
        spark.sparkContext.parallelize([1], 1).map(lambda _: time.sleep(20)).collect()
except KafkafsError as error:
    print(error)
"""


def test_a_java_that_was_killed_is_a_sentence():
    """Regression: `ConnectionRefusedError`, and "this is a bug, please report it"."""
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, timeout=300, check=False)
    reported = "the Spark job failed: its Java was ended by SIGKILL, as the system does where memory runs out\n"
    assert (done.stdout, done.stderr) == (reported, "")
