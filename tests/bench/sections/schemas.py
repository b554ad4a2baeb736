"""Avro values with their schema: `.decoded.jsonl` and `kafkafs export --value registry`.

Beside the lines stands what a Python program does: fastavro's reader and json.dumps in a loop, over payloads that it
has in memory, and over those that confluent-kafka's consumer brings, as `kcat -s value=avro` does by a registry. The
export stands beside one that leaves values as bytes.
"""

import io
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import fastavro
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.read_options import ReadOptions
from kafkafs.spark.export.export_job import export
from kafkafs.spark.export.export_plan import Request
from kafkafs.spark.export.output import output
from kafkafs.spark.export.plan_store import PlanStore
from kafkafs.spark.export.settling import settle
from kafkafs.tables.choice import Choice
from kafkafs.tables.offsets import EARLIEST, LATEST, AllAt
from tests.bench import mounts, peers
from tests.bench.data import AVRO, Bench, avro_schema
from tests.bench.measure import Result, Spread, in_turns, rate, seconds
from tests.bench.sections.points import warm
from tests.bench.sections.spark import MOST_ROUNDS, session
from tests.kafka.broker import Broker
from tests.log.reading import reader

_LOOP_GOAL, _CONSUMER_GOAL, _LINES_GOAL, _EXPORT_GOAL = 2.0, 10.0, 0.3, 0.5
_LOOP_MOST = 200_000  # records that the slow ones get: they do not become faster with more
_PREFIX = 5
_FILE = 8 << 20  # bytes of log, so that there is work for both cores


def run(bench: Bench, rounds: int) -> Iterator[Result]:
    warm(bench.path / f"{AVRO}-0")
    yield from _lines(bench, rounds)
    yield from _export(bench, min(rounds, MOST_ROUNDS))


def _lines(bench: Bench, rounds: int) -> Iterator[Result]:
    count = bench.records(AVRO)
    few = min(count, _LOOP_MOST)
    payloads = _payloads(bench, few)
    with mounts.kafkafs(bench.path) as ours:
        directory = ours.path / f"{AVRO}-0/by-offset"
        found = in_turns({
            "decoded": rate(count, lambda: peers.run(["cat", directory / f"0..{count}.decoded.jsonl"])),
            "plain": rate(count, lambda: peers.run(["cat", directory / f"0..{count}.jsonl"])),
            "loop": rate(few, lambda: _dump(payloads)),
        }, rounds)  # fmt: skip
    with bench.broker() as broker:
        slow = in_turns({"consumer": rate(few, lambda: _consume(broker, few))}, 1)
    consumer = Spread(slow["consumer"].values * rounds)
    unit, decoded = "M records/s", found["decoded"]
    yield Result("schemas", ".decoded.jsonl, Avro", unit, decoded, "fastavro + json.dumps", found["loop"], _LOOP_GOAL)
    yield Result("schemas", ".decoded.jsonl, Avro", unit, decoded, "the same, consumed", consumer, _CONSUMER_GOAL)
    yield Result("schemas", ".decoded.jsonl, Avro", unit, decoded, goal=_LINES_GOAL)
    yield Result("schemas", ".decoded.jsonl, Avro", unit, decoded, ".jsonl of it", found["plain"])


def _payloads(bench: Bench, count: int) -> list[bytes]:
    """The first values without their prefix."""
    log = open_data_directory(bench.path, ReadOptions()).partition(f"{AVRO}-0").log()
    found: list[bytes] = []
    for records in reader(log).records(0, count):
        found += [bytes(records.value(number) or b"")[_PREFIX:] for number in range(len(records))]
    return found


def _dump(payloads: Iterable[bytes]) -> None:
    schema, read = avro_schema(), fastavro.schemaless_reader
    for payload in payloads:
        json.dumps(read(io.BytesIO(payload), schema), default=str)


def _consume(broker: Broker, count: int) -> None:
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "bench", "enable.auto.commit": False})
    consumer.assign([TopicPartition(AVRO, 0, OFFSET_BEGINNING)])
    left = count
    while left > 0:
        found = consumer.consume(min(left, 10_000), 5)
        _dump((message.value() or b"")[_PREFIX:] for message in found)
        left -= len(found)
    consumer.close()


def _export(bench: Bench, rounds: int) -> Iterator[Result]:
    count = bench.records(AVRO)
    spark = session()

    def exporting(value: str) -> Callable[[], float]:
        request = Request(
            (bench.path,), Choice(topics=(AVRO,)), AllAt(EARLIEST), AllAt(LATEST), value=value, file_bytes=_FILE
        )

        def once() -> float:
            place = Path(tempfile.mkdtemp(prefix="kafkafs-bench-"))
            try:
                out = output(str(place / "out"))
                took = seconds(lambda: export(spark, PlanStore(out, request), settle(out, request)))
                return count / took / 1e6
            finally:
                shutil.rmtree(place)

        return once

    try:
        found = in_turns({"registry": exporting("registry"), "bytes": exporting("bytes")}, rounds)
    finally:
        spark.stop()
    what, unit = "export --value registry", "M records/s"
    yield Result("schemas", what, unit, found["registry"], goal=_EXPORT_GOAL)
    yield Result("schemas", what, unit, found["registry"], "values as bytes", found["bytes"])
