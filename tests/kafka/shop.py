"""A week of a shop's traffic, by a real broker, for the pictures: `python -m tests.kafka.shop ARCHIVE` makes it.

A daily curve with an evening peak and a livelier weekend, customers of which few buy much, orders in JSON, payments
in transactions. On Friday evening one order was cut while it was written: group `billing` stands there since. When the
broker stops a transaction of `checkout` is open. The dates are fixed, the choices come from one seed.
"""

import json
import math
import random
import sys
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from zlib import crc32

from confluent_kafka import Consumer, TopicPartition

from tests.kafka import broker as node
from tests.kafka.broker import Broker
from tests.kafka.sample import TOP, anonymous
from tests.kafka.writer import HOUR_MS, Record, Topic, Writer, create, transactional

RELEASE = "2.8.0"
MONDAY_MS = int(datetime(2026, 3, 2, tzinfo=UTC).timestamp() * 1000)
HOURS = 7 * 24
PARTITIONS = 3
CUSTOMERS = 400
GOODS = ("tea", "coffee", "cocoa", "maté", "beans", "filter", "mug", "kettle")
POISON_HOUR = 4 * 24 + 20  # Friday, 20:00


def traffic(hour: int) -> float:
    """How lively it is, 1 on average or so: quiet at four, a peak at eight in the evening, more on a weekend."""
    day, clock = divmod(hour, 24)
    curve = 1 + 0.75 * math.sin((clock - 10) * math.pi / 12) + 0.9 * math.exp(-((clock - 20) ** 2) / 5)
    return max(0.08, curve) * (1.6 if day >= 5 else 1)


def orders(dice: random.Random) -> Iterator[tuple[int, int, Record]]:
    """(hour, partition, order), hour after hour, in the order of their times."""
    number = 50_000
    for hour in range(HOURS):
        times = sorted(dice.randrange(HOUR_MS) for _ in range(round(22 * traffic(hour) * dice.uniform(0.8, 1.2))))
        for since in times:
            number += 1
            customer = b"customer-%d" % min(CUSTOMERS, int(dice.paretovariate(0.8)))
            order = {"order": number, "item": dice.choice(GOODS), "amount": dice.randint(1, 4)}
            value = json.dumps(order, ensure_ascii=False).encode()
            if hour == POISON_HOUR and since == times[len(times) // 2]:
                value = value[:-9]
            partition = crc32(customer) % PARTITIONS
            yield hour, partition, Record(value, customer, MONDAY_MS + hour * HOUR_MS + since)


def clicks(dice: random.Random, hour: int) -> list[Record]:
    """What was looked at within an hour."""
    times = sorted(dice.randrange(HOUR_MS) for _ in range(round(70 * traffic(hour) * dice.uniform(0.8, 1.2))))
    return [
        Record(b'{"page":"/%s","ms":%d}' % (dice.choice(GOODS).encode(), dice.randint(20, 900)), None,
               MONDAY_MS + hour * HOUR_MS + since)
        for since in times
    ]  # fmt: skip


def write(broker: Broker) -> dict[int, int]:
    """Fills the topics: in each partition of `orders` the offset where `billing` stands."""
    kept = {"retention.ms": -1}
    create(
        broker, {name: Topic(count, kept) for name, count in (("orders", PARTITIONS), ("clicks", 1), ("payments", 1))}
    )
    dice = random.Random(2026)
    batches: dict[tuple[int, int], list[Record]] = defaultdict(list)
    for hour, partition, record in orders(dice):
        batches[hour, partition].append(record)
    shop, looks, paid = Writer(broker, "zstd"), Writer(broker, "lz4"), transactional(broker, "checkout")
    counts, stands = [0] * PARTITIONS, dict.fromkeys(range(PARTITIONS), 0)
    for hour in range(HOURS):
        for partition in range(PARTITIONS):
            records = batches.get((hour, partition), [])
            if records:
                shop.batch("orders", records, partition)
            broken = [number for number, each in enumerate(records) if not (each.value or b"").endswith(b"}")]
            if hour < POISON_HOUR or broken:
                stands[partition] = counts[partition] + (broken[0] if broken else len(records))
            counts[partition] += len(records)
        looks.batch("clicks", clicks(dice, hour))
        paid.begin()
        at_ms = MONDAY_MS + (hour + 1) * HOUR_MS - 1
        paid.batch("payments", [Record(b'{"hour":%d,"orders":%d}' % (hour, sum(counts)), None, at_ms)])
        if hour < HOURS - 1:
            paid.commit()
    _unfinished.append(paid)
    return stands


_unfinished: list[Writer] = []  # what is open when the broker stops


def make(archive: Path) -> None:
    """Writes the week and packs what the broker leaves after a clean stop."""
    with tempfile.TemporaryDirectory(prefix="kafkafs-shop-") as home:
        with node.running(RELEASE, Path(home)) as broker:
            stands = write(broker)
            reader = Consumer({"bootstrap.servers": broker.address, "group.id": "billing", "log_level": 0})
            places = [TopicPartition("orders", partition, offset) for partition, offset in stands.items()]
            reader.commit(offsets=places, asynchronous=False)
            reader.close()
        _unfinished.clear()
        with tarfile.open(archive, "w:xz", format=tarfile.PAX_FORMAT) as packed:
            packed.add(str(Path(home, "data")), arcname=TOP, filter=anonymous)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
