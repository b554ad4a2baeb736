"""The bundled sample: the worked example, written by a real broker. `python -m tests.kafka.sample ARCHIVE` makes it.

Topic `test` is planned to the byte, because the broker decides by bytes what it indexes: before it appends a batch it
writes an offset index entry (the batch's last offset -> its position) if more than 4,096 bytes came since the last
one, and with it a time index entry for the largest timestamp so far, that batch included. So each stretch between two
entries has to end where the next batch shall be indexed. Values are padded until it does.

Topic `orders` shows what else a log may hold: every codec, headers, null keys and values, transactions, and one order
that was cut while it was written. `readings` is in Avro, its schema in `_schemas`. The broker stops in the midst of
work: a transaction stands open in `payments`, group `billing` died of the cut order and has nobody, and `dashboard` has
a member.
"""

import io
import itertools
import json
import os
import struct
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro
from confluent_kafka import Consumer, TopicPartition

from tests.kafka import broker as node
from tests.kafka.broker import Broker, wait_until
from tests.kafka.writer import HOUR_MS, Record, Topic, Writer, create, delete_records, now_ms, transactional

RELEASE = "2.8.0"
TOP = "kafka-logs"  # the one directory in the archive
FIRST_OFFSET = 23147  # of the segment, and of what is left of the log
FIRST_MS = 1632390206915  # a broker indexes by the largest time so far: what comes before 23388 is earlier
STEP_MS = 10  # from batch to batch
BATCH_BYTES = 61  # v2 header
RECORD_BYTES = 7  # of a record without key and headers: seven one-byte fields beside its value
USUAL_BATCH = 3  # records
POISON_OFFSET = 21  # in `orders`: where group `billing` stands


@dataclass(frozen=True)
class BatchRun:
    """Batches from one index entry up to the next one: their bytes, and the first offset behind them."""

    size: int
    end_offset: int


STRETCHES = (
    BatchRun(4171 - 0, 23226),  # the batch 23226..23228 comes first in the next, at 4171
    BatchRun(8279 - 4171, 23305),  # 23305..23307 at 8279
    BatchRun(12432 - 8279, 23388),  # 23388..23390 at 12432
    BatchRun(16648 - 12432, 23475),  # 23475..23479 at 16648
)
LAST_BATCHES = (5, 3, 3, 2)  # records: 23475..23479, and three batches that nothing indexes
KNOWN_MS = {  # what the worked example says; the batches between go up to it by STEP_MS
    23388: 1632390207745,
    23400: 1632390207806,
    23475: 1632390208071,
    23480: 1632390208070,  # another producer's clock: no time beyond the last entry
}


def worked_example() -> Iterator[list[Record]]:
    """The batches of topic `test`, from FIRST_OFFSET on."""
    offset = FIRST_OFFSET
    timestamp_ms = FIRST_MS
    for count, length in itertools.chain.from_iterable(map(_split, _begins(), STRETCHES)):
        timestamp_ms = KNOWN_MS.get(offset, timestamp_ms + STEP_MS)
        yield [_message(offset + number, length[number], timestamp_ms) for number in range(count)]
        offset += count
    for count in LAST_BATCHES:
        timestamp_ms = KNOWN_MS.get(offset, timestamp_ms)
        yield [_message(offset + number, 21, timestamp_ms) for number in range(count)]
        offset += count


def _begins() -> list[int]:
    return [FIRST_OFFSET, *(stretch.end_offset for stretch in STRETCHES[:-1])]


def _split(begin: int, stretch: BatchRun) -> list[tuple[int, list[int]]]:
    """(number of records, length of each value) for each batch of a stretch; usual batches and at most one smaller."""
    records = stretch.end_offset - begin
    odd = records % USUAL_BATCH
    counts = [USUAL_BATCH] * (records // USUAL_BATCH) + [odd] * bool(odd)
    counts.insert(len(counts) // 2, counts.pop())
    value_bytes = stretch.size - len(counts) * BATCH_BYTES - records * RECORD_BYTES
    each, left = divmod(value_bytes, records)
    lengths = iter([each + (number < left) for number in range(records)])
    return [(count, [next(lengths) for _ in range(count)]) for count in counts]


def _message(offset: int, length: int, timestamp_ms: int) -> Record:
    return Record((b"message %d" % offset).ljust(length, b"."), None, timestamp_ms)


def write(broker: Broker) -> None:
    """Fills the topics; what stands before FIRST_OFFSET is deleted again, as retention would."""
    by_hour = Topic(settings={"segment.ms": HOUR_MS, "file.delete.delay.ms": 1000})
    compacted = Topic(settings={"cleanup.policy": "compact"})
    create(
        broker, {"test": by_hour, "orders": Topic(), "payments": Topic(), "readings": Topic(), "_schemas": compacted}
    )
    _lead_up(broker)
    writer = Writer(broker)
    for batch in worked_example():
        writer.batch("test", batch)
    delete_records(broker, "test", FIRST_OFFSET)
    _orders(broker)
    _readings(broker)
    first = broker.data / "test-0" / f"{0:020}.log"
    wait_until(lambda: not list(first.parent.glob(f"{first.stem}.*")), "the first segment to go")


def _lead_up(broker: Broker) -> None:
    """The offsets below FIRST_OFFSET, hours earlier: the worked example's first batch begins a new segment."""
    writer = Writer(broker, "lz4")
    for begin in range(0, FIRST_OFFSET, 1000):
        earlier = [Record(b"earlier", timestamp_ms=FIRST_MS - 3 * HOUR_MS)] * min(1000, FIRST_OFFSET - begin)
        writer.batch("test", earlier)


def _orders(broker: Broker) -> None:
    """A shop's orders of the last minutes: their markers bear the time of writing, so they do as well."""
    orders = _order_stream(now_ms() - 5 * 60_000)
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        writer = Writer(broker, codec)
        for count in (1, 4):
            writer.batch("orders", [next(orders) for _ in range(count)])
    plain = Writer(broker)
    cancelled = next(orders)
    plain.batch("orders", [Record(None, cancelled.key, cancelled.timestamp_ms, [("reason", b"cancelled")])])
    plain.batch("orders", [Record('{"note":"Grüße 🦀"}'.encode(), None, next(orders).timestamp_ms)])
    plain.batch("orders", [Record(b"\xff\x00 not text", b"raw", next(orders).timestamp_ms)])
    checkout, refund = transactional(broker, "checkout"), transactional(broker, "refund")
    checkout.begin()
    checkout.batch("orders", [next(orders) for _ in range(3)])
    refund.begin()
    refund.batch("orders", [next(orders) for _ in range(2)])
    checkout.batch("orders", [next(orders)])
    checkout.commit()
    refund.abort()
    plain.batch("orders", [next(orders)])


def _order_stream(first_ms: int) -> Iterator[Record]:
    goods = itertools.cycle(["tea", "coffee", "cocoa", "maté"])
    for number, item in zip(itertools.count(1001), goods, strict=False):
        order = {"order": number, "item": item, "amount": number % 5 + 1, "price": f"{number % 7 + 1}.50"}
        headers: list[tuple[str, bytes | None]] = [("content-type", b"application/json"), ("trace", b"%08x" % number)]
        value = json.dumps(order, ensure_ascii=False).encode()
        if number == 1001 + POISON_OFFSET:
            value = value[: -len(', "price": "1.50"}')]  # its end is missing: what kills a consumer of JSON
        yield Record(value, b"customer-%d" % (number % 3), first_ms + (number - 1001) * 5000, headers)


READING = {
    "type": "record",
    "name": "Reading",
    "fields": [
        {"name": "sensor", "type": "string"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "celsius", "type": ["null", "double"]},
    ],
}
READING_ID = 1


def _readings(broker: Broker) -> None:
    """Avro in the registry's wire format, and the record by which a registry knows its schema."""
    writer = Writer(broker)
    named = {"subject": "readings-value", "version": 1}
    registered = named | {"id": READING_ID, "schema": json.dumps(READING), "deleted": False}
    key = {"keytype": "SCHEMA"} | named | {"magic": 1}
    writer.batch("_schemas", [Record(json.dumps(registered).encode(), json.dumps(key).encode())])
    for minute in range(0, 20, 5):
        writer.batch("readings", [_reading(FIRST_MS + (minute + number) * 60_000, number) for number in range(5)])


def _reading(timestamp_ms: int, number: int) -> Record:
    sensor, out = f"cellar-{number % 2}", io.BytesIO()
    datum: dict[str, Any] = {"sensor": sensor, "at": timestamp_ms, "celsius": 11.5 + number / 4 if number else None}
    fastavro.schemaless_writer(out, fastavro.parse_schema(READING), datum)
    return Record(b"\0" + struct.pack(">I", READING_ID) + out.getvalue(), sensor.encode(), timestamp_ms)


def _commit(broker: Broker, group: str, topic: str, offset: int) -> None:
    """A reader that came so far and left."""
    reader = Consumer({"bootstrap.servers": broker.address, "group.id": group, "log_level": 0})
    reader.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    reader.close()


def leave_in_the_midst(broker: Broker) -> tuple[Writer, Consumer]:
    """What is still going on when the broker stops; both are to be kept until then."""
    _commit(broker, "billing", "orders", POISON_OFFSET)
    _commit(broker, "billing", "test", 23400)
    dashboard = Consumer({
        "bootstrap.servers": broker.address, "group.id": "dashboard", "client.id": "dashboard-1",
        "group.instance.id": "wall", "enable.auto.commit": False, "auto.offset.reset": "earliest", "log_level": 0,
    })  # fmt: skip
    dashboard.subscribe(["orders"])
    dashboard.commit(message=next(filter(None, iter(lambda: dashboard.poll(1.0), object()))), asynchronous=False)
    transfer = transactional(broker, "transfer")
    transfer.begin()
    transfer.batch(
        "payments",
        [Record(b'{"from":"tea","to":"coffee","amount":%d}' % amount, timestamp_ms=now_ms()) for amount in (10, 25)],
    )
    return transfer, dashboard


def make(archive: Path) -> None:
    """Writes the sample and packs what the broker leaves after a clean stop."""
    with tempfile.TemporaryDirectory(prefix="kafkafs-sample-") as home:
        with node.running(RELEASE, Path(home)) as broker:
            write(broker)
            going_on = leave_in_the_midst(broker)
        del going_on
        with tarfile.open(archive, "w:gz", compresslevel=9, format=tarfile.PAX_FORMAT) as packed:
            packed.add(os.path.join(home, "data"), arcname=TOP, filter=anonymous)


def anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return None if member.name.endswith("/.lock") else member


if __name__ == "__main__":
    make(Path(sys.argv[1]))
