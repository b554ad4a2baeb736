"""Spark at several amounts: scans and exports of the first records of one topic, beside Spark's own Kafka connector.

The same topic is read up to another offset each time, so the records, their batches and the broker are the same. Each
contestant has two cores. `minPartitions` is 2, so that the connector works on both: by default it has one task for
this topic.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from kafkafs.spark.export.export_job import export
from kafkafs.spark.export.export_plan import Request
from kafkafs.spark.export.output import output
from kafkafs.spark.export.plan_store import PlanStore
from kafkafs.spark.export.settling import settle
from kafkafs.spark.jobs import Engine
from kafkafs.tables.choice import Choice
from kafkafs.tables.local import LocalEngine
from kafkafs.tables.offsets import EARLIEST, AllAt, Specific, TopicPartition
from tests.bench.data import Bench, topic_of
from tests.bench.measure import Result, in_turns, seconds
from tests.bench.sections.points import warm
from tests.bench.sections.spark import session, written
from tests.kafka import jars

TOPIC = topic_of("none")
TOPICS = (TOPIC,)
"""The topics that have to be written for this section."""

AMOUNTS = (1_000_000, 4_000_000, 16_000_000)
_MOST_ROUNDS = 3
_CORES = 2


def run(bench: Bench, rounds: int) -> Iterator[Result]:
    warm(bench.path / f"{TOPIC}-0")
    with bench.broker() as broker:
        spark = session(**{"spark.jars": ",".join(map(str, jars.connector().glob("*.jar")))})
        places = {"kafkafs": {"path": str(bench.path)}, "kafka": {"kafka.bootstrap.servers": broker.address}}
        try:
            for amount in sorted({min(amount, bench.records(TOPIC)) for amount in AMOUNTS}):
                ours, theirs = (_read(spark, name, options, amount) for name, options in places.items())
                yield from _compared(bench, spark, amount, ours, theirs, min(rounds, _MOST_ROUNDS))
        finally:
            spark.stop()


def _read(spark: SparkSession, name: str, place: dict[str, str], amount: int) -> Callable[[], DataFrame]:
    """The first records, planned anew by each call."""
    options = {**place, "subscribe": TOPIC, "minPartitions": str(_CORES)}
    ends = json.dumps({TOPIC: {"0": amount}})
    return lambda: spark.read.format(name).options(**options).option("endingOffsets", ends).load()


def _compared(
    bench: Bench,
    spark: SparkSession,
    amount: int,
    ours: Callable[[], DataFrame],
    theirs: Callable[[], DataFrame],
    rounds: int,
) -> Iterator[Result]:
    def scanned(read: Callable[[], DataFrame]) -> Callable[[], float]:
        def once() -> float:
            counts: list[tuple[int, ...]] = []
            took = seconds(lambda: counts.extend(read().selectExpr("count(*)", "sum(length(value))").collect()))
            assert counts[0][0] == amount
            return amount / took / 1e6

        return once

    what, unit, peer = f"{amount / 1e6:g} M records", "M records/s", "connector"
    scans = in_turns({"ours": scanned(ours), "theirs": scanned(theirs)}, rounds)
    yield Result("amounts", f"scan, {what}", unit, scans["ours"], peer, scans["theirs"])
    exports = in_turns(
        {
            "spark": written(amount, _exporting(bench, spark, amount)),
            "local": written(amount, _exporting(bench, LocalEngine(_CORES), amount)),
            "theirs": written(amount, lambda out: theirs().write.parquet(str(out))),
        },
        rounds,
    )
    for engine in ("spark", "local"):
        yield Result("amounts", f"export by {engine}, {what}", unit, exports[engine], peer, exports["theirs"])


def _exporting(bench: Bench, engine: Engine, amount: int) -> Callable[[Path], None]:
    ending = Specific({TopicPartition(TOPIC, 0): amount})
    request = Request((bench.path,), Choice(topics=(TOPIC,)), AllAt(EARLIEST), ending)

    def once(out: Path) -> None:
        place = output(str(out))
        assert export(engine, PlanStore(place, request), settle(place, request)).records == amount

    return once
