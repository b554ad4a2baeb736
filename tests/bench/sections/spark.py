"""Spark: the same queries over `format("kafkafs")` and over Spark's own Kafka connector beside a running broker.

Both get two cores and the same records, and their defaults (one partition is one task of the connector's), or as many
tasks as `minPartitions` asks for. `kafkafs export` stands beside `df.write.parquet`, typed values beside the connector
with Spark's own `from_avro`, and beside `export` of the same. The audit of one uncompressed segment is measured on one
core, that of all that is there on both, by either engine.
"""

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from kafkafs.spark import register
from kafkafs.spark.audit.audit_job import audit
from kafkafs.spark.audit.segment_check import check_segment
from kafkafs.spark.export.export_job import export
from kafkafs.spark.export.export_plan import Request
from kafkafs.spark.export.output import output
from kafkafs.spark.export.plan_store import PlanStore
from kafkafs.spark.export.settling import settle
from kafkafs.spark.jobs import Engine
from kafkafs.spark.segment_units import segments_of
from kafkafs.tables.choice import Choice
from kafkafs.tables.local import LocalEngine
from kafkafs.tables.offsets import EARLIEST, LATEST, AllAt
from tests.bench.data import AVRO, Bench, avro_schema, topic_of
from tests.bench.measure import Result, Spread, in_turns, rate, seconds
from tests.bench.sections.points import warm
from tests.kafka import jars
from tests.kafka.broker import Broker
from tests.spark import packages

MASTER = "local[2]"
MOST_ROUNDS = 3
_TASKS = 8
_SCAN_GOALS = {"none": 3.0, "lz4": 2.5}
_EXPORT_GOAL, _AUDIT_GOAL = 4.0, 1.0
_WHOLE_AUDIT_GOALS = {"on Spark": 1.0, "local engine": 1.5}
_TYPED_GOAL = 0.5


def run(bench: Bench, rounds: int) -> Iterator[Result]:
    rounds = min(rounds, MOST_ROUNDS)
    yield _audit(bench, rounds)
    with bench.broker() as broker:
        needed = [*jars.connector().glob("*.jar"), packages.avro()]
        spark = session(**{"spark.jars": ",".join(map(str, needed))})
        try:
            yield from _whole_audits(spark, bench, rounds)
            for codec, goal in _SCAN_GOALS.items():
                yield _scan(spark, bench, broker, codec, goal, rounds)
            yield _scan(spark, bench, broker, "none", None, rounds, _TASKS)
            yield _export(spark, bench, broker, rounds)
            yield from _typed(spark, bench, broker, rounds)
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

    def scanning(read: Callable[[], DataFrame]) -> Callable[[], float]:
        def once() -> float:
            started = time.perf_counter()
            found = read().selectExpr("sum(length(value))").first()
            assert found == expected
            return count / (time.perf_counter() - started) / 1e6

        return once

    reads = {
        "ours": scanning(lambda: _ours(spark, bench, topic, tasks)),
        "theirs": scanning(lambda: _theirs(spark, broker, topic, tasks)),
    }
    found = in_turns(reads, rounds)
    what = f"scan, {codec}" + (f", minPartitions={tasks}" if tasks > 1 else "")
    return Result("spark", what, "M records/s", found["ours"], "connector", found["theirs"], goal)


def _export(spark: SparkSession, bench: Bench, broker: Broker, rounds: int) -> Result:
    topic = topic_of("none")

    def theirs(out: Path) -> None:
        _theirs(spark, broker, topic).write.parquet(str(out))

    count = bench.records(topic)
    found = in_turns(
        {"ours": written(count, _exporting(spark, bench, topic)), "theirs": written(count, theirs)}, rounds
    )
    ratio = found["ours"], "connector", found["theirs"], _EXPORT_GOAL
    return Result("spark", "export to Parquet", "M records/s", *ratio)


def _exporting(spark: SparkSession, bench: Bench, topic: str, value: str = "bytes") -> Callable[[Path], None]:
    request = Request((bench.path,), Choice(topics=(topic,)), AllAt(EARLIEST), AllAt(LATEST), value=value)

    def once(out: Path) -> None:
        place = output(str(out))
        done = export(spark, PlanStore(place, request), settle(place, request))
        assert done.records == bench.records(topic)

    return once


def written(count: int, write: Callable[[Path], None]) -> Callable[[], float]:
    """A measurement: millions of records a second of a writer to a new directory, which goes afterwards."""

    def once() -> float:
        place = Path(tempfile.mkdtemp(prefix="kafkafs-bench-"))
        try:
            return count / seconds(lambda: write(place / "out")) / 1e6
        finally:
            shutil.rmtree(place)

    return once


def _typed(spark: SparkSession, bench: Bench, broker: Broker, rounds: int) -> Iterator[Result]:
    """All columns of the values; one of each kind is summed up, so that the rows have to be whole."""
    warm(bench.path / f"{AVRO}-0")
    count = bench.records(AVRO)
    schema = json.dumps({name: part for name, part in avro_schema().items() if not name.startswith("__")})

    def scan(read: DataFrame) -> Callable[[], float]:
        query = "sum(length(value.user)), sum(value.amount), max(value.at), count_if(value.ok)"
        return rate(count, lambda: read.selectExpr(*query.split(", ")).collect())

    ours = spark.read.format("kafkafs").options(path=str(bench.path), subscribe=AVRO, value="registry").load()
    theirs = _theirs(spark, broker, AVRO).selectExpr(f"from_avro(substring(value, 6), '{schema}', map()) AS value")
    found = in_turns({
        "ours": scan(ours), "theirs": scan(theirs),
        "export": written(count, _exporting(spark, bench, AVRO, "registry")),
    }, rounds)  # fmt: skip
    what, unit = "scan, value=registry", "M records/s"
    yield Result("spark", what, unit, found["ours"], goal=_TYPED_GOAL)
    yield Result("spark", what, unit, found["ours"], "connector, from_avro", found["theirs"])
    yield Result("spark", what, unit, found["ours"], "export of it", found["export"], 1.0)


def _whole_audits(spark: SparkSession, bench: Bench, rounds: int) -> Iterator[Result]:
    """Of the data directory, on two cores, by the clock on the wall; the broker beside it is idle."""
    for each in bench.path.glob("bench-*"):
        warm(each)
    engines: dict[str, Engine] = {"on Spark": spark, "local engine": LocalEngine(2)}

    def auditing(engine: Engine) -> Callable[[], float]:
        def once() -> float:
            started = time.perf_counter()
            report = audit(engine, [bench.path])
            return report.size / (time.perf_counter() - started) / 1e9

        return once

    found = in_turns({name: auditing(engine) for name, engine in engines.items()}, rounds)
    for name, goal in _WHOLE_AUDIT_GOALS.items():
        yield Result("spark", f"audit, {name}", "GB/s", found[name], goal=goal)


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
