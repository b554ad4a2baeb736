"""The data that is measured: JSON records of about 80 bytes, written once by a real broker and kept.

One topic for each codec in the batches that librdkafka makes by itself, one in small batches as Java's producer makes
them, two in many segments, one with keys, and one of the same records in Avro with the registry's topic. Which of them
are whole is noted in a file, so that a run that was ended goes on.
"""

import contextlib
import functools
import io
import json
import sys
import time
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro
from confluent_kafka import KafkaError, Message, Producer

from tests.kafka import broker, cache
from tests.kafka.broker import Broker
from tests.kafka.writer import START_MS, Topic, create

RELEASE = "4.3.1"
CODECS = ("none", "lz4", "zstd", "gzip")
SMALL = "bench-small"  # batches of 16 KiB
KEYED, KEYED_SEGMENTS, KEYED_MOST = "bench-keyed", 100, 5_000_000  # each record has a key of its own
TINY = "bench-tiny"  # a few records, a batch each
AVRO = "bench-avro"  # the records of the others, in the registry's wire format; as many as are quickly encoded
AVRO_MOST = 4_000_000
SCHEMA_ID = 7
SEGMENTED = {10: "bench-10-segments", 1000: "bench-1000-segments"}
_EVENTS = ("click", "view", "buy", "login", "logout", "search")
_REPORT_S = 1.0


@dataclass(frozen=True)
class Bench:
    """A data set of `count` records a topic, in `home`, where its broker can be started again."""

    home: Path
    count: int

    @property
    def path(self) -> Path:
        """The data directory."""
        return self.home / "data"

    def log(self, topic: str) -> Path:
        """The first segment's log of a topic's only partition."""
        return min(self.path.joinpath(f"{topic}-0").glob("*.log"))

    def records(self, topic: str) -> int:
        """How many records the topic has."""
        recorded: dict[str, int] = json.loads((self.home / "whole.json").read_text())
        return recorded[topic]

    @contextlib.contextmanager
    def broker(self) -> Iterator[Broker]:
        """The broker on this data, for peers that ask one."""
        with broker.running(RELEASE, self.home) as running:
            yield running


def topic_of(codec: str) -> str:
    """The large topic in a codec."""
    return f"bench-{codec}"


def prepare(count: int, topics: Container[str] | None = None) -> Bench:
    """The data set, or these topics of it, written first where it is not there: about three minutes for nine million
    records a codec."""
    bench = Bench(cache.root() / "bench" / f"{RELEASE}-{count}", count)
    with cache.locked(bench.home):
        bench.home.mkdir(parents=True, exist_ok=True)
        recorded = bench.home / "whole.json"
        whole: dict[str, int] = json.loads(recorded.read_text()) if recorded.exists() else {}
        wanted = {name: plan for name, plan in _plans(count).items() if topics is None or name in topics}
        missing = {name: plan for name, plan in wanted.items() if name not in whole}
        if missing:
            with bench.broker() as running:
                for name, plan in missing.items():
                    _write(running, name, plan)
                    whole[name] = plan.count
                    recorded.write_text(json.dumps(whole))
    return bench


Content = tuple[bytes | None, bytes]
"""Key and value."""


@dataclass(frozen=True)
class _Plan:
    count: int
    producer: Mapping[str, Any]
    settings: Mapping[str, object]
    content: Callable[[int], Content]


def _plans(count: int) -> dict[str, _Plan]:
    plans = {
        topic_of(codec): _Plan(
            count, {"compression.codec": codec, "linger.ms": 50}, {"segment.bytes": (1 << 31) - 1}, _plain
        )
        for codec in CODECS
    }
    few = min(count, 1_000_000)
    small = {"batch.size": 16 << 10, "linger.ms": 50}
    plans[SMALL] = _Plan(few, small, {}, _plain)
    many = min(count, KEYED_MOST)
    plans[KEYED] = _Plan(many, small, {"segment.ms": max(many // KEYED_SEGMENTS, 1)}, _keyed)
    plans[TINY] = _Plan(10, {"batch.num.messages": 1}, {}, _plain)
    plans["_schemas"] = _Plan(1, small, {"cleanup.policy": "compact"}, _registered)
    plans[AVRO] = _Plan(min(count, AVRO_MOST), {"linger.ms": 50}, {"segment.bytes": 32 << 20}, _avro)
    for segments, name in SEGMENTED.items():
        plans[name] = _Plan(few, small, {"segment.ms": max(few // segments, 1)}, _plain)  # by the records' time
    return plans


def _write(running: Broker, name: str, plan: _Plan) -> None:
    if name in running.admin.list_topics(timeout=10).topics:
        name_future = running.admin.delete_topics([name])[name]
        name_future.result(30)
        broker.wait_until(lambda: not (running.data / f"{name}-0").exists(), f"an unfinished {name} to go")
    create(running, {name: Topic(settings={"file.delete.delay.ms": 1000, **plan.settings})})
    failed: list[KafkaError] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failed.append(error)

    producer = Producer(
        {
            "bootstrap.servers": running.address,
            "enable.idempotence": True,
            "on_delivery": delivered,
            "queue.buffering.max.messages": 1_000_000,
            "queue.buffering.max.kbytes": 1 << 20,
            **plan.producer,
        }
    )
    shown = time.monotonic()
    for number in range(plan.count):
        while True:
            try:
                key, value = plan.content(number)
                producer.produce(name, value, key, timestamp=START_MS + number)
                break
            except BufferError:
                producer.poll(0.05)
        if number % 1000 == 0:
            producer.poll(0)
            if time.monotonic() > shown + _REPORT_S:
                shown = time.monotonic()
                print(f"\r{name}: {number:,} of {plan.count:,} records written", end="", file=sys.stderr, flush=True)
    producer.flush(120)
    if failed:
        raise RuntimeError(f"the broker refused records of {name}: {failed[0]}")
    print(f"\r{name}: {plan.count:,} records written" + " " * 30, file=sys.stderr)


def key_of(number: int) -> bytes:
    """The key of the record at that offset, where the topic has keys."""
    return b"customer-%d" % number


def _plain(number: int) -> Content:
    """A record of about 80 bytes."""
    return None, (
        b'{"id":%d,"user":"user-%d","event":"%s","amount":%d.%02d,"ok":%s}'
        % (number, number * 7919 % 100_003, _EVENTS[number % 6].encode(), number * 31 % 1000, number % 100,
           b"true" if number % 3 else b"false")
    )  # fmt: skip


def _keyed(number: int) -> Content:
    return key_of(number), _plain(number)[1]


@functools.cache
def avro_schema() -> Any:
    """The schema of the records in Avro, as fastavro takes it."""
    fields = {
        "id": "long", "user": "string", "event": {"type": "enum", "name": "Event", "symbols": list(_EVENTS)},
        "amount": "double", "ok": "boolean", "at": {"type": "long", "logicalType": "timestamp-millis"},
        "note": ["null", "string"],
    }  # fmt: skip
    described = [{"name": name, "type": kind} for name, kind in fields.items()]
    return fastavro.parse_schema({"type": "record", "name": "Record", "fields": described})


def _avro(number: int) -> Content:
    out = io.BytesIO(b"\0" + SCHEMA_ID.to_bytes(4))
    out.seek(5)
    reported = json.loads(_plain(number)[1])
    fastavro.schemaless_writer(out, avro_schema(), {**reported, "at": START_MS + number, "note": None})
    return None, out.getvalue()


def _registered(_: int) -> Content:
    """The registry's only record: the schema of the topic's values."""
    subject = {"subject": f"{AVRO}-value", "version": 1}
    schema = {name: part for name, part in avro_schema().items() if not name.startswith("__")}
    value = {**subject, "id": SCHEMA_ID, "schema": json.dumps(schema), "deleted": False}
    return json.dumps({"keytype": "SCHEMA", **subject, "magic": 1}).encode(), json.dumps(value).encode()
