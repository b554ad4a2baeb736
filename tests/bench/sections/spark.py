"""Spark: the same queries over `format("kafkafs")` and over Spark's own Kafka connector beside a running broker.

Both get two cores and the same records, and their defaults (one partition is one task of the connector's), or as many
tasks as `minPartitions` asks for. `kafkafs export` stands beside `df.write.parquet`, and the audit of one uncompressed
segment is measured on one core.
"""

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from kafkafs.spark import register
from kafkafs.spark.audit.job import check_segment
from kafkafs.spark.export.job import export
from kafkafs.spark.export.output import output
from kafkafs.spark.export.plan import Request, settle
from kafkafs.spark.offsets import EARLIEST, LATEST, AllAt
from kafkafs.spark.options import Choice
from kafkafs.spark.segments import segments_of
from tests.bench.data import Bench, topic_of
from tests.bench.measure import Result, Spread, in_turns, seconds
from tests.bench.sections.points import warm
from tests.kafka import jars
from tests.kafka.broker import Broker

MASTER = "local[2]"
MOST_ROUNDS = 3
_TASKS = 8
_SCAN_GOALS = {"none": 3.0, "lz4": 2.5}
_EXPORT_GOAL, _AUDIT_GOAL = 4.0, 1.0


def run(bench: Bench, rounds: int) -> Iterator[Result]:
    rounds = min(rounds, MOST_ROUNDS)
    yield _audit(bench, rounds)
    with bench.broker() as broker:
        spark = session(**{"spark.jars": ",".join(map(str, jars.connector().glob("*.jar")))})
        try:
            for codec, goal in _SCAN_GOALS.items():
                yield _scan(spark, bench, broker, codec, goal, rounds)
            yield _scan(spark, bench, broker, "none", None, rounds, _TASKS)
            yield _export(spark, bench, broker, rounds)
        finally:
            spark.stop()


def session(**settings: str) -> SparkSession:
    """A quiet session on two cores."""
    builder = SparkSession.builder.master(MASTER).appName("bench")
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF"}
    for name, value in (quiet | settings).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    register(spark)
    return spark


def _ours(spark: SparkSession, bench: Bench, topic: str, tasks: int = 1) -> DataFrame:
    reader = spark.read.format("kafkafs").option("path", str(bench.path)).option("minPartitions", tasks)
    return reader.option("subscribe", topic).load()


def _theirs(spark: SparkSession, broker: Broker, topic: str, tasks: int = 1) -> DataFrame:
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", broker.address)
    return reader.option("minPartitions", tasks).option("subscribe", topic).load()


def _scan(
    spark: SparkSession, bench: Bench, broker: Broker, codec: str, goal: float | None, rounds: int, tasks: int = 1
) -> Result:
    """With one task at least both do as they do without that option."""
    topic = topic_of(codec)
    count = bench.records(topic)
    warm(bench.path / f"{topic}-0")
    expected = _ours(spark, bench, topic).selectExpr("sum(length(value))").first()

    def rate(read: Callable[[], DataFrame]) -> Callable[[], float]:
        def once() -> float:
            started = time.perf_counter()
            found = read().selectExpr("sum(length(value))").first()
            assert found == expected
            return count / (time.perf_counter() - started) / 1e6

        return once

    reads = {
        "ours": rate(lambda: _ours(spark, bench, topic, tasks)),
        "theirs": rate(lambda: _theirs(spark, broker, topic, tasks)),
    }
    found = in_turns(reads, rounds)
    what = f"scan, {codec}" + (f", minPartitions={tasks}" if tasks > 1 else "")
    return Result("spark", what, "M records/s", found["ours"], "connector", found["theirs"], goal)


def _export(spark: SparkSession, bench: Bench, broker: Broker, rounds: int) -> Result:
    topic = topic_of("none")
    count = bench.records(topic)
    request = Request((bench.path,), Choice(topics=(topic,)), AllAt(EARLIEST), AllAt(LATEST))

    def ours(out: Path) -> None:
        place = output(str(out))
        done = export(spark, place, request, settle(place, request))
        assert done.records == count

    def theirs(out: Path) -> None:
        _theirs(spark, broker, topic).write.parquet(str(out))

    def rate(write: Callable[[Path], None]) -> Callable[[], float]:
        def once() -> float:
            place = Path(tempfile.mkdtemp(prefix="kafkafs-bench-"))
            try:
                return count / seconds(lambda: write(place / "out")) / 1e6
            finally:
                shutil.rmtree(place)

        return once

    found = in_turns({"ours": rate(ours), "theirs": rate(theirs)}, rounds)
    ratio = found["ours"], "connector", found["theirs"], _EXPORT_GOAL
    return Result("spark", "export to Parquet", "M records/s", *ratio)


def _audit(bench: Bench, rounds: int) -> Result:
    """One segment, by the processor time of the one thread that does it."""
    topic = topic_of("none")
    warm(bench.path / f"{topic}-0")
    unit = next(each for each in segments_of([bench.path]) if each.partition_directory == f"{topic}-0")

    def once() -> float:
        started = time.process_time()
        assert check_segment(unit, frozenset()).findings == []
        return unit.weight / (time.process_time() - started) / 1e9

    rates = Spread(tuple(once() for _ in range(rounds + 1))[1:])
    return Result("spark", "audit, one core", "GB/s", rates, goal=_AUDIT_GOAL)
