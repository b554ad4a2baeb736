"""Exports to HDFS: what is made of what libhdfs says, and by hand the whole with a real NameNode and DataNode.

KAFKAFS_HDFS=1 pytest tests/spark/test_hadoop.py: two minutes, and at first 70 MB from the network.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkafs.spark.export import hadoop
from tests.kafka.dataset import Dataset
from tests.mounting import KAFKAFS
from tests.spark import hdfs
from tests.spark.test_interrupted import below, runs

by_hand = pytest.mark.skipif("KAFKAFS_HDFS" not in os.environ, reason="by hand: KAFKAFS_HDFS=1")
LATEST = Dataset("4.3.1", "stopped")
REFUSED = """hdfsGetPathInfo(/x): getFileInfo error:
ConnectException: Connection refusedjava.net.ConnectException: Call From vm/127.0.0.1 to localhost:1 failed on \
connection exception: java.net.ConnectException: Connection refused; For more details see:  http://somewhere/refused
	at org.apache.hadoop.ipc.Client.call(Client.java:1474)
Caused by: java.net.ConnectException: Connection refused
	at java.base/sun.nio.ch.Net.pollConnect(Native Method)
	... 23 more
"""
DENIED = """hdfsCreateDirectory(/e): FileSystem#mkdirs error:
RemoteException: Permission denied: user=eve, inode="/":root:root:drwxr-xr-xorg.apache.hadoop.security.\
AccessControlException: Permission denied: user=eve, inode="/":root:root:drwxr-xr-x
	at org.apache.hadoop.hdfs.DFSClient.primitiveMkdir(DFSClient.java:2611)
Caused by: org.apache.hadoop.ipc.RemoteException(org.apache.hadoop.security.AccessControlException): Permission \
denied: user=eve, inode="/":root:root:drwxr-xr-x
"""
READ = """
import glob, json, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
rows = spark.read.parquet(sys.argv[1]).orderBy("topic", "partition", "offset").collect()
print(json.dumps([[row.topic, row.partition, row.offset, (row.value or b"").hex()] for row in rows]))
"""


def libhdfs_says(text: str, fails: bool) -> None:
    os.write(2, text.encode())
    if fails:
        raise OSError(255, "Unknown error 255")


@pytest.mark.parametrize(
    ("said", "reason"),
    [(REFUSED, "ConnectException: Connection refused"),
     (DENIED, 'RemoteException: Permission denied: user=eve, inode="/":root:root:drwxr-xr-x')],
)  # fmt: skip
@pytest.mark.parametrize("fails", [False, True])
def test_a_trace_is_an_error_with_its_last_cause(said, reason, fails, capfd):
    """Also where pyarrow says only that nothing is there, and where it says 'Unknown error 255'."""
    with pytest.raises(OSError, match=r"[a-z]") as found, hadoop.heard():
        libhdfs_says(said, fails)
    assert str(found.value) == reason
    assert capfd.readouterr().err == ""


def test_other_words_are_no_error_and_not_shown(capfd):
    with hadoop.heard():
        os.write(2, b"WARN NativeCodeLoader: Unable to load native-hadoop library for your platform\n")
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "after\n"
    with pytest.raises(KeyboardInterrupt), hadoop.heard():
        raise KeyboardInterrupt
    os.write(2, b"again\n")
    assert capfd.readouterr().err == "again\n"


def test_classpath_is_asked_of_hadoop_and_signals_stay_ours(monkeypatch, tmp_path):
    command = tmp_path / "bin/hadoop"
    command.parent.mkdir()
    command.write_text("#!/bin/sh\n[ \"$*\" = 'classpath --glob' ] && echo /a.jar:/b.jar\n")
    command.chmod(0o755)
    monkeypatch.setenv("HADOOP_HOME", str(tmp_path))
    monkeypatch.setenv("CLASSPATH", "")
    monkeypatch.setenv("LIBHDFS_OPTS", "-Xmx128m")
    for _ in range(2):
        hadoop._prepare()
    assert os.environ["CLASSPATH"] == "/a.jar:/b.jar"
    assert os.environ["LIBHDFS_OPTS"] == "-Xmx128m -Xrs"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[dict[str, str]]:
    with hdfs.running(tmp_path_factory.mktemp("hdfs")) as environment:
        yield environment


def exported(cluster: dict[str, str], data: Path, to: str) -> subprocess.CompletedProcess[str]:
    command = [str(KAFKAFS), "export", str(data), "--to", to, "--file-mb", "1"]
    return subprocess.run(command, env=cluster, capture_output=True, text=True, timeout=200)


@by_hand
@pytest.mark.timeout(600)
def test_an_export_stands_on_hdfs_as_spark_reads_it(cluster, tmp_path):
    """In two runs: the second adds what is new. By the cluster's own name for itself, hdfs:///."""
    data = LATEST.copy_to(tmp_path / "data", "partitions-0", "segments-0")
    held = sorted((data / "segments-0").glob("*.log"))[1:]
    for file in held:
        file.rename(tmp_path / file.name)
    first = exported(cluster, data, "hdfs:///new")
    assert first.returncode == 0, first.stderr
    for file in held:
        (tmp_path / file.name).rename(file)
    second = exported(cluster, data, f"{cluster['HDFS']}/new")
    assert second.returncode == 0
    assert "of them from an earlier run" in second.stderr
    reading = [sys.executable, "-c", READ, f"{cluster['HDFS']}/new"]
    rows = json.loads(subprocess.run(reading, env=cluster, capture_output=True, text=True, timeout=200).stdout)
    wanted = [
        [name, 0, record.offset, (record.value or b"").hex()]
        for name in ("partitions", "segments")
        for record in LATEST.records(name, 0)
    ]
    assert rows == wanted


@by_hand
@pytest.mark.timeout(200)
def test_what_does_not_answer_or_forbids_is_one_sentence(cluster):
    """A port where nobody listens, one that never answers, a name that is none, and a stranger's directory."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as mute:
        port = mute.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", port))
        silent = exported(cluster, LATEST.path, f"hdfs://127.0.0.1:{port}/x?ipc.client.connect.timeout=500")
    closed = exported(cluster, LATEST.path, f"hdfs://127.0.0.1:{port}/x?ipc.client.connect.max.retries=1")
    for each in waiting:
        each.close()
    unknown = exported(cluster, LATEST.path, "hdfs://nobody.invalid/x")
    denied = exported(cluster, LATEST.path, cluster["HDFS"].replace("//", "//eve@") + "/x")
    reasons = {
        "ConnectTimeoutException: 500": silent,
        "ConnectException: Connection refused": closed,
        "UnknownHostException: nobody.invalid": unknown,
        "Permission denied": denied,
    }
    for reason, done in reasons.items():
        last = done.stderr.splitlines()[-1]
        assert done.returncode == 2
        assert reason in last
        assert not [line for line in done.stderr.splitlines() if not line.startswith(("kafkafs: ", "export: "))]


@by_hand
@pytest.mark.timeout(200)
@pytest.mark.parametrize("after_s", [5.0, 9.0, 14.0])
def test_ctrl_c_ends_all(cluster, tmp_path, after_s):
    """Java inside the process does not take the signal for itself."""
    command = [str(KAFKAFS), "export", str(LATEST.path), "--to", f"{cluster['HDFS']}/{after_s}", "--file-mb", "1"]
    with subprocess.Popen(command, env=cluster, stderr=subprocess.PIPE, text=True, start_new_session=True) as running:
        time.sleep(after_s)  # the moment is what is tried
        processes = below(running.pid)
        os.killpg(running.pid, signal.SIGINT)
        said = running.stderr.read() if running.stderr else ""
        code = running.wait(30)
    assert (code, said) == (130, "kafkafs: interrupted; the same command goes on from here\n")
    assert [pid for pid in processes if runs(pid)] == []
