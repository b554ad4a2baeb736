"""A cluster of Spark whose workers see no common disk: the data and the output are in a bucket. By hand, a minute."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.request import urlopen

import pyspark
import pytest
from pyarrow import fs

from kafkafs.sample import unpack
from tests.kafka import tiers
from tests.kafka.broker import wait_until
from tests.kafka.buckets import KEYS, bucket_of
from tests.log.making import made, write_partition
from tests.mounting import KAFKAFS
from tests.spark.test_buckets import LOCAL, records_of
from tests.spark.test_kills import executors

HIDDEN = "for place in {places}; do mount -t tmpfs none $place; done; exec {command}"
SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
DEPLOY = "org.apache.spark.deploy"


@contextmanager
def _process(log: Path, *command: str | Path) -> Iterator["subprocess.Popen[bytes]"]:
    environment = os.environ | KEYS | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    with (
        log.open("wb") as log_file,
        subprocess.Popen(command, stdout=log_file, stderr=log_file, env=environment) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()


@contextmanager
def _cluster(place: Path, hidden: Path) -> Iterator[str]:
    """The master's address. Each of three workers sees neither `hidden` nor the directories of the others."""
    port, page, homes = tiers.free_port(), tiers.free_port(), [place / f"worker-{number}" for number in range(3)]
    master = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        words = ("--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page))
        stack.enter_context(_process(place / "master", SPARK_CLASS, f"{DEPLOY}.master.Master", *words))
        wait_until(lambda: _workers(page) == 0, "Spark's master")
        for home in homes:
            home.mkdir()
        for home in homes:
            others = " ".join(map(str, [hidden, *(each for each in homes if each != home)]))
            worker = f"{DEPLOY}.worker.Worker --host 127.0.0.1 -c 1 -m 1g -d {home} --webui-port 0 {master}"
            command = HIDDEN.format(places=others, command=f"{SPARK_CLASS} {worker}")
            stack.enter_context(_process(place / f"{home.name}.log", "unshare", "-m", "bash", "-c", command))
        wait_until(lambda: _workers(page) == len(homes), "three workers", 300.0)
        yield master


def _workers(page: int) -> int:
    """The workers that the master knows; -1 while it does not answer."""
    try:
        with urlopen(f"http://127.0.0.1:{page}/json/", timeout=5) as answer:
            return int(json.load(answer)["aliveworkers"])
    except (OSError, ValueError):
        return -1


@pytest.mark.skipif("KAFKAFS_CLUSTER" not in os.environ, reason="a minute; KAFKAFS_CLUSTER=1 runs it")
def test_an_export_on_workers_without_a_common_disk_is_the_local_one(tmp_path):
    data = unpack(tmp_path / "data")
    with tiers.s3_process() as (server, _), _cluster(tmp_path, data.parent) as master:
        tiers.uploaded(data.parent, "disks", server)
        place, out = (f"s3://disks/{name}?{server}" for name in (data.name, "out"))
        for words in ((place, "--to", out, "--master", master), (data, "--to", tmp_path / "near", *LOCAL)):
            done = subprocess.run([KAFKAFS, "export", *words], capture_output=True, env=os.environ | KEYS, timeout=600)
            assert done.returncode == 0, done.stderr
        system, top = fs.S3FileSystem.from_uri(f"s3://key:secret@disks/out?{server}")
        assert records_of(top, system) == records_of(str(tmp_path / "near"))
    for number in range(3):
        assert list((tmp_path / f"worker-{number}").glob("app-*/*")), "each worker had executors"


class _Trouble:
    """From the middle of an export on: an executor is killed once, and each fifth read of a log fails once."""

    def __init__(self) -> None:
        self._reads, self._lock = 0, threading.Lock()
        self.faults: Counter[str] = Counter()

    def __call__(self, method: str, key: str) -> str:
        if method != "GET" or not key.endswith(".log"):
            return ""
        with self._lock:
            self._reads += 1
            if self._reads > 450 and not self.faults["killed"]:  # the plan takes 300, and some more for faults
                os.kill(min(executors()), signal.SIGKILL)
                self.faults["killed"] += 1
            fault = ("", "500", "short", "reset", "503")[self._reads // 5 % 5] if self._reads % 5 == 0 else ""
            self.faults[fault] += 1
            return fault


@pytest.mark.skipif("KAFKAFS_CLUSTER" not in os.environ, reason="a minute; KAFKAFS_CLUSTER=1 runs it")
def test_a_store_that_fails_and_an_executor_that_is_killed_lose_nothing(tmp_path):
    data = tmp_path / "data" / "many"
    for number in range(300):
        write_partition(data, {0: [made(10 * each, [number] * 10) for each in range(20)]}, f"many-{number}")
    with tiers.s3_process() as (server, _), bucket_of(data.parent) as store, _cluster(tmp_path, data.parent) as master:
        (tmp_path / "empty").mkdir()
        tiers.uploaded(tmp_path / "empty", "disks", server)
        out = f"s3://disks/out?{server}"
        store.fault = trouble = _Trouble()
        for words in (
            (store.address("many"), "--to", out, "--master", master),
            (data, "--to", tmp_path / "near", *LOCAL),
        ):
            done = subprocess.run([KAFKAFS, "export", *words], capture_output=True, env=os.environ | KEYS, timeout=600)
            assert done.returncode == 0, done.stderr
        system, top = fs.S3FileSystem.from_uri(f"s3://key:secret@disks/out?{server}")
        assert records_of(top, system) == records_of(str(tmp_path / "near"))
    assert {"killed", "500", "short", "reset", "503"} <= set(trouble.faults)
