"""Processes that are ended with all that they have started, and no others; a JVM for a user who has no name."""

import os
import subprocess
import sys
import time
from contextlib import ExitStack

import pytest

from kafkafs.spark import jvm
from tests.mounting import run
from tests.promises import at_most

pytestmark = pytest.mark.urgent  # counts processes, and the seconds until they end

STUBBORN = "import signal,time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"
TWO = f"import subprocess,sys; subprocess.run([sys.executable, '-c', {STUBBORN!r}])"

WHO = """
import tempfile
from pyspark import SparkConf
from kafkafs.spark import (jvm)
with tempfile.NamedTemporaryFile() as said:
    hadoop = jvm.launch(SparkConf(loadDefaults=False), said).jvm.org.apache.hadoop
    print(hadoop.security.UserGroupInformation.getCurrentUser().getUserName())
    jvm.end(())
"""


def test_a_user_without_a_name_has_a_jvm():
    """A pod runs as whatever number the broker's files belong to; neither Spark nor Hadoop starts as that by itself."""
    done = run("unshare", "--user", "--map-user=4242", sys.executable, "-c", WHO, timeout=300)
    assert done.stdout == b"4242\n"


def test_new_processes_end_and_known_ones_stay():
    with subprocess.Popen(["sleep", "60"]) as kept:
        known = jvm.children()
        with subprocess.Popen([sys.executable, "-c", TWO], stdout=subprocess.PIPE) as running:
            assert running.stdout is not None
            running.stdout.readline()  # the one that ignores the signal is there
            began = time.monotonic()
            jvm.end(known, grace_s=0.3)
            assert running.wait(300) != 0
            assert running.stdout.read() == b""  # nobody has it open any more
        assert time.monotonic() - began < at_most(5)
        assert kept.poll() is None
        assert kept.pid in jvm.children()
        kept.kill()


def test_a_driver_with_thousands_of_open_files_ends_its_processes():
    with ExitStack() as open_files, subprocess.Popen(["sleep", "60"]) as running:
        for _ in range(1100):
            open_files.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        jvm.end(jvm.children() - {running.pid}, grace_s=0.3)
        assert running.wait(300) != 0
