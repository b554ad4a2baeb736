"""Exactly once under kills: drivers, exports and executors that end with -9 in mid-work, and run again.

The judge is a count of (topic, partition, offset) against a naive reading: the records that Kafka's own consumer got,
or the offsets of a log made by hand. `scripts/soak spark TIMES` runs this; KAFKAFS_SEED replays a run's choices.
"""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import kafkafs
from kafkafs.spark import jvm
from tests.kafka.broker import free_port
from tests.kafka.dataset import Dataset
from tests.log.making import made, write_partition
from tests.mounting import KAFKAFS, wait_until
from tests.spark.reading import frame

COUNT = int(os.environ.get("KAFKAFS_SPARK_KILLS", "0"))
SEED = int(os.environ.get("KAFKAFS_SEED", "0")) or random.randrange(1, 1 << 30)
pytestmark = [
    pytest.mark.skipif(not COUNT, reason="minutes of Java's starts: KAFKAFS_SPARK_KILLS=TIMES"),
    pytest.mark.timeout(3600),
]
LONG_S = 900
BROKER = Dataset("4.3.1", "stopped")
TOPICS = ("equal-times", "segments", "segments-disorder", "headers", "transactions", "partitions")
Places = Counter[tuple[str, int, int]]

DRIVER = """
import os, signal, sys
from kafkafs.spark import (register)
from kafkafs.spark.session import session
from tests.spark.streams import finish
path, topics, out, sink, dies = sys.argv[1:]
def add(batch, number):
    batch.write.mode("overwrite").parquet(f"{out}/table/batch={number}")
    if number == int(dies):
        os.killpg(0, signal.SIGKILL)  # all is written, and the checkpoint does not know it
with session("local[2]", "stream") as spark:
    register(spark)
    read = spark.readStream.format("kafkafs").options(path=path, subscribe=topics, startingOffsets="earliest")
    writer = read.option("maxOffsetsPerTrigger", 60).load().select("topic", "partition", "offset").writeStream
    writer = writer.foreachBatch(add) if sink == "foreachBatch" else writer.format("parquet").option("path", f"{out}/table")
    writer = writer.option("checkpointLocation", f"{out}/checkpoint").trigger(availableNow=True)
    finish(lambda: writer.start().awaitTermination())
"""  # noqa: E501  the text of a program


@pytest.fixture
def dice(request: pytest.FixtureRequest) -> random.Random:
    """The choices of a test."""
    print(f"\nseed {SEED}")
    return random.Random(f"{SEED} {request.node.name}")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A broker's directory without the last segments of one topic: see `grow`."""
    chosen = [place.directory for place in BROKER.partitions() if place.topic in TOPICS]
    data = BROKER.copy_to(tmp_path / "data", *chosen)
    for log in sorted((data / "segments-0").glob("*.log"))[5:]:
        (tmp_path / "later").mkdir(exist_ok=True)
        for file in (data / "segments-0").glob(f"{log.stem}.*"):
            shutil.move(file, tmp_path / "later")
    return data


def grow(data: Path) -> None:
    """The late records come: a segment, of those that are left."""
    left = sorted((data.parent / "later").glob("*.log"))
    for log in left[: max(len(left) // 2, 1)]:
        for file in log.parent.glob(f"{log.stem}.*"):
            shutil.move(file, data / "segments-0")


def truth() -> Places:
    """Each record that Kafka's consumer got, once."""
    return Counter(
        (*place, record.offset)
        for place in BROKER.partitions()
        if place.topic in TOPICS
        for record in BROKER.records(*place)
    )


def exported(out: Path) -> Places:
    """The records of all files below an export, as often as they stand there."""
    found: Places = Counter()
    for file in out.rglob("*.parquet"):
        rows = pq.ParquetFile(file).read(["topic", "partition", "offset"]).to_pydict()
        found.update(zip(rows["topic"], rows["partition"], rows["offset"], strict=True))
    return found


def places(spark: SparkSession, table: Path) -> Places:
    """The same of a table that Spark wrote."""
    rows = spark.read.parquet(str(table)).select("topic", "partition", "offset").toArrow().to_pydict()
    return Counter(zip(rows["topic"], rows["partition"], rows["offset"], strict=True))


def kill(running: "subprocess.Popen[bytes]", dice: random.Random) -> None:
    """Ends a driver with -9: all of its processes at once, or Python alone, and Java finds out later."""
    for pid in jvm.below([running.pid]) if dice.random() < 0.7 else [running.pid]:
        with contextlib.suppress(ProcessLookupError):  # it has ended, or its parent took it along
            os.kill(pid, signal.SIGKILL)
    running.wait(LONG_S)


def started(*words: object) -> "subprocess.Popen[bytes]":
    """A process in a group of its own."""
    return subprocess.Popen([*map(str, words)], stdin=subprocess.DEVNULL, start_new_session=True)


def in_mid_batch(running: "subprocess.Popen[bytes]", out: Path, after: int) -> Callable[[], bool]:
    """True once the checkpoint knows of a micro-batch that has begun, and not of its end, or the driver has ended."""

    def is_due() -> bool:
        begun, ended = (len(list((out / "checkpoint" / name).glob("[0-9]*"))) for name in ("offsets", "commits"))
        return running.poll() is not None or begun > max(ended, after)

    return is_due


@pytest.mark.parametrize("sink", ["foreachBatch", "files"])
@pytest.mark.parametrize("number", range(COUNT))
def test_a_stream_whose_driver_is_killed_in_mid_batch(number, sink, data, tmp_path, dice, spark: SparkSession):
    def driver(dies: int = -1) -> "subprocess.Popen[bytes]":
        return started(sys.executable, "-c", DRIVER, data, ",".join(TOPICS), tmp_path, sink, dies)

    for turn in range(3):
        done = len(list((tmp_path / "checkpoint/commits").glob("[0-9]*")))
        with driver(done if sink == "foreachBatch" and turn == 2 else -1) as running:
            if sink == "files" or turn < 2:
                wait_until(in_mid_batch(running, tmp_path, done + dice.randrange(1, 4)), LONG_S)
                time.sleep(dice.uniform(0, 0.4))  # the moment is what is tried
                kill(running, dice)
            running.wait(LONG_S)
        grow(data)
        print(f"{sink}, run {turn}: exit {running.returncode}, {done} micro-batches before")
    while list((tmp_path / "later").glob("*.log")):
        grow(data)
    for _ in range(2):  # the first one ends what was planned; what came since has a run of its own
        with driver() as running:
            assert running.wait(LONG_S) == 0
    assert places(spark, tmp_path / "table") == truth()


@pytest.mark.parametrize("engine", ["local", "spark"])
@pytest.mark.parametrize("number", range(COUNT))
def test_an_export_killed_in_mid_write_and_two_at_once(number, engine, data, tmp_path, dice):
    """The runs after the kills begin at once, by both engines, over a log that has grown."""
    out = tmp_path / "out"

    def export(by: str) -> "subprocess.Popen[bytes]":
        return started(KAFKAFS, "export", data, "--to", out, "--file-mb", 1, "--engine", by)

    def in_mid_write(running: "subprocess.Popen[bytes]", files: int) -> Callable[[], bool]:
        return lambda: running.poll() is not None or len(list(out.rglob("*.parquet*"))) >= files

    for turn in range(2):
        with export(engine) as running:
            wait_until(in_mid_write(running, len(list(out.rglob("*.parquet"))) + dice.randrange(1, 4)), LONG_S)
            kill(running, dice)
        grow(data)
        halves = len(list(out.rglob("*.tmp")))
        print(f"{engine}, run {turn}: exit {running.returncode}, {halves} halves")
        assert max(exported(out).values(), default=1) == 1
    with export("local") as one, export("spark") as other:
        codes = {one.wait(LONG_S), other.wait(LONG_S)}
    assert codes <= {0, 2}
    while list((tmp_path / "later").glob("*.log")):
        grow(data)
    with export(dice.choice(["local", "spark"])) as last:
        assert last.wait(LONG_S) == 0
    assert exported(out) == truth()
    assert not list(out.rglob("*.tmp"))


def test_ten_thousand_small_partitions(tmp_path, spark: SparkSession):
    """Each way to read them has every record once."""
    data, count = tmp_path / "data", 10_000
    batch = made(0, [1, 2, 3])
    for number in range(count):
        write_partition(data, {0: [batch]}, f"many-{number}")
    truth = Counter(("many", number, offset) for number in range(count) for offset in range(3))

    def timed(what: str, action: Callable[[], Places]) -> None:
        began = time.monotonic()
        found = action()
        print(f"{what}: {time.monotonic() - began:.1f} s")
        assert found == truth

    def by_export() -> Places:
        words = [KAFKAFS, "export", data, "--to", tmp_path / "out", "--engine", "local"]
        assert subprocess.run([*map(str, words)], stdin=subprocess.DEVNULL, timeout=LONG_S).returncode == 0
        return exported(tmp_path / "out")

    def by_scan() -> Places:
        rows = kafkafs.scan([data], "many", columns=["partition", "offset"]).to_arrow().to_pydict()
        return Counter(("many", *place) for place in zip(rows["partition"], rows["offset"], strict=True))

    def by_spark() -> Places:
        rows = frame(spark, data, subscribe="many").select("partition", "offset").toArrow().to_pydict()
        return Counter(("many", *place) for place in zip(rows["partition"], rows["offset"], strict=True))

    timed("scan", by_scan)
    timed("export", by_export)
    timed("Spark", by_spark)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """A master and two workers of Spark's own on this machine, which end with the test: the master's address."""
    import pyspark

    jars, port = Path(pyspark.__file__).parent / "jars/*", free_port()
    deploy, master = "org.apache.spark.deploy", f"spark://127.0.0.1:{port}"
    version = next(Path(pyspark.__file__).parent.glob("jars/scala-library-*.jar")).stem.split("-")[-1]
    place = {
        **os.environ,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_SCALA_VERSION": version.rpartition(".")[0],
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(tmp_path / "work"),
        "PYSPARK_PYTHON": sys.executable,
    }
    own = ["--host", "127.0.0.1", "--webui-port", "0"]
    commands = [
        [f"{deploy}.master.Master", *own, "--port", str(port)],
        *[[f"{deploy}.worker.Worker", *own, "--cores", "1", "--memory", "1g", master]] * 2,
    ]
    running: list[subprocess.Popen[bytes]] = []
    with contextlib.ExitStack() as stack:
        for command in commands:
            log = stack.enter_context(open(tmp_path / f"{len(running)}.log", "wb"))
            java = ["java", "-Xmx256m", "-cp", str(jars), *command]
            running.append(subprocess.Popen(java, env=place, stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        try:
            wait_until(lambda: (tmp_path / "0.log").read_text().count("Registering worker") == 2, LONG_S)
            yield master
        finally:
            for pid in jvm.below([process.pid for process in running]):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for process in running:
                process.wait(LONG_S)


def executors() -> set[int]:
    """The executors below this process: each worker has one."""
    return {
        pid for pid in jvm.below([os.getpid()])
        if b"CoarseGrainedExecutorBackend" in _reported(Path(f"/proc/{pid}/cmdline"))
    }  # fmt: skip


def at_work(running: "subprocess.Popen[bytes]", out: Path, killed: set[int]) -> Callable[[], bool]:
    """True once an executor that lives has begun to write, or the driver has ended."""
    before = set(out.rglob("*.parquet*"))
    return lambda: running.poll() is not None or bool(executors() - killed and {*out.rglob("*.parquet*")} - before)


def _reported(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:  # it has ended
        return b""


READ = """
import sys
from kafkafs.spark import (register)
from kafkafs.spark.session import session
path, out, master = sys.argv[1:]
with session(master, "read") as spark:
    register(spark)
    read = spark.read.format("kafkafs").options(path=path, subscribe="t", minPartitions=4).load()
    read.drop("headers").write.parquet(out)
"""
BATCHES, RECORDS = 3000, 1000


def large_log(data: Path) -> None:
    """A partition of 300 MB: one batch again and again. No CRC covers the base offset."""
    batch = made(0, range(RECORDS), size=80)
    directory = write_partition(data, {0: [batch]})
    with open(directory / f"{0:020}.log", "wb") as log:
        for number in range(BATCHES):
            log.write((number * RECORDS).to_bytes(8) + batch.data[8:])
    for index in directory.glob("*index"):
        index.unlink()


@pytest.mark.parametrize("what", ["export", "read"])
def test_executors_that_are_killed_on_a_standalone_cluster(what, cluster, tmp_path, dice):
    data, out = tmp_path / "data", tmp_path / "out"
    large_log(data)
    words: dict[str, list[object]] = {
        "export": [KAFKAFS, "export", data, "--to", out, "--master", cluster, "--file-mb", 16],
        "read": [sys.executable, "-c", READ, data, out, cluster],
    }
    with started(*words[what]) as running:
        killed: set[int] = set()
        for _ in range(2):
            wait_until(at_work(running, out, killed), LONG_S)
            time.sleep(dice.uniform(0, 0.5))  # the moment is what is tried
            for pid in sorted(executors() - killed)[:1]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed.add(pid)
        assert running.wait(LONG_S) == 0
    print(f"{what}: {len(killed)} executors killed")
    assert killed
    found: Counter[int] = Counter()
    for file in out.rglob("*.parquet"):
        found.update(pq.ParquetFile(file).read(["offset"])[0].to_pylist())
    assert len(found) == BATCHES * RECORDS
    assert set(found.values()) == {1}
