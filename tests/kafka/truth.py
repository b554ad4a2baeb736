"""What Kafka's consumer and ListOffsets say of a running broker's partitions, written as plain files.

One gzipped JSON file a partition, `<topic>-<partition>.json.gz`:

    records     [offset, timestamp ms, timestamp type, key, value, [[header key, header value]...]] as a consumer in
                read_uncommitted gets them; bytes in base64 or null; a v0 record has timestamp -1 and type null
    committed   the offsets that a consumer in read_committed gets; its records were seen to be the same
    earliest, latest, latestCommitted, maxTimestamp      ListOffsets -2, -1 (in both isolations), -3 (null before 3.0)
    byTime      {isolation: [[asked ms, offset, timestamp ms]...]}: ListOffsets by time; offset -1 where there is none;
                null where the broker refuses, as it does for format v0
"""

import base64
import gzip
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import (
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from tests.kafka import jars
from tests.kafka.broker import Broker

READ_TIMEOUT_S = 300
MAX_TIMES = 100  # record timestamps a partition is asked for, each with its two neighbours
FAR_FUTURE_MS = 253_402_300_799_000
TYPES = {TIMESTAMP_CREATE_TIME: "CreateTime", TIMESTAMP_LOG_APPEND_TIME: "LogAppendTime"}
ISOLATIONS = {
    "read_uncommitted": IsolationLevel.READ_UNCOMMITTED,
    "read_committed": IsolationLevel.READ_COMMITTED,
}
Partition = tuple[str, int]
Row = list[Any]


def record(broker: Broker, place: Path) -> None:
    """Writes the truth about every partition of `broker` into the directory `place`."""
    partitions = all_partitions(broker)
    rows = read(broker, partitions, "read_uncommitted")
    committed = read(broker, partitions, "read_committed")
    times = {partition: _times(rows[partition]) for partition in partitions}
    by_time = {name: _by_time(broker.admin, times, level) for name, level in ISOLATIONS.items()}
    earliest = ask(broker.admin, dict.fromkeys(partitions, OffsetSpec.earliest()))
    latest = ask(broker.admin, dict.fromkeys(partitions, OffsetSpec.latest()))
    stable = ask(broker.admin, dict.fromkeys(partitions, OffsetSpec.latest()), IsolationLevel.READ_COMMITTED)
    newest: dict[Partition, Row | None] = dict.fromkeys(partitions)
    if broker.release != jars.ZOOKEEPER_RELEASE:  # it would answer something else
        newest = ask(broker.admin, dict.fromkeys(partitions, OffsetSpec.max_timestamp()))
    for partition in partitions:
        _check_subset(partition, rows[partition], committed[partition])
        answers = {
            "records": rows[partition],
            "committed": [row[0] for row in committed[partition]],
            "earliest": _offset(earliest[partition]),
            "latest": _offset(latest[partition]),
            "latestCommitted": _offset(stable[partition]),
            "maxTimestamp": newest[partition],
            "byTime": {name: asked[partition] for name, asked in by_time.items()},
        }
        name = "{}-{}.json.gz".format(*partition)
        (place / name).write_bytes(gzip.compress(json.dumps(answers).encode(), compresslevel=6, mtime=0))


def all_partitions(broker: Broker) -> list[Partition]:
    """Every partition that the broker leads, its own topics among them."""
    topics = broker.admin.list_topics(timeout=READ_TIMEOUT_S).topics
    return sorted((name, number) for name, topic in topics.items() for number in topic.partitions)


def read(broker: Broker, partitions: Sequence[Partition], isolation: str) -> dict[Partition, list[Row]]:
    """All records of `partitions`, as Kafka's consumer hands them out in `isolation`."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.address,
            "group.id": "truth",
            "enable.auto.commit": False,
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "check.crcs": True,
            "log_level": 0,
        }
    )
    rows: dict[Partition, list[Row]] = {partition: [] for partition in partitions}
    try:
        consumer.assign([TopicPartition(*partition, 0) for partition in partitions])
        unfinished = set(partitions)
        deadline = time.monotonic() + READ_TIMEOUT_S
        while unfinished:
            if time.monotonic() > deadline:
                raise TimeoutError(f"not read to the end within {READ_TIMEOUT_S} s: {sorted(unfinished)}")
            for message in consumer.consume(1000, timeout=0.2):
                partition = _partition(message)
                if (error := message.error()) is None:
                    rows[partition].append(_row(message))
                elif error.code() == KafkaError._PARTITION_EOF:
                    unfinished.discard(partition)
                else:
                    raise KafkaException(error)
    finally:
        consumer.close()
    return rows


def _partition(message: Message) -> Partition:
    topic, partition = message.topic(), message.partition()
    assert topic is not None
    assert partition is not None
    return topic, partition


def _row(message: Message) -> Row:
    kind, timestamp_ms = message.timestamp()
    known = TYPES.get(kind)
    headers = [[header[0], _text(header[1])] for header in message.headers() or []]
    key, value = _text(message.key()), _text(message.value())
    # librdkafka says 0 for a record without a timestamp, Kafka's own consumer -1
    return [message.offset(), timestamp_ms if known else -1, known, key, value, headers]


def _text(content: bytes | str | None) -> str | None:
    if content is None:
        return None
    return base64.b64encode(content.encode() if isinstance(content, str) else content).decode()


def _check_subset(partition: Partition, rows: list[Row], committed: list[Row]) -> None:
    by_offset = {row[0]: row for row in rows}
    if any(by_offset[row[0]] != row for row in committed):
        raise RuntimeError(f"{partition}: the two isolations disagree about a record")


def _times(rows: list[Row]) -> list[int]:
    """What to ask: record timestamps with their neighbours, the beginning of time and its end."""
    distinct = sorted({row[1] for row in rows if row[1] >= 0})
    step = max(1, -(-len(distinct) // MAX_TIMES))
    chosen = {*distinct[::step], *distinct[-1:]}
    return sorted({0, FAR_FUTURE_MS, *(at + shift for at in chosen for shift in (-1, 0, 1) if at + shift >= 0)})


def _by_time(
    admin: AdminClient, times: dict[Partition, list[int]], isolation: IsolationLevel
) -> dict[Partition, list[Row] | None]:
    found: dict[Partition, list[Row] | None] = {partition: [] for partition in times}
    for asked in _rounds(times):
        specs = {partition: OffsetSpec.for_timestamp(at) for partition, at in asked.items()}
        for partition, answer in ask(admin, specs, isolation).items():
            rows = found[partition]
            if answer is None or rows is None:
                found[partition] = None
            else:
                rows.append([asked[partition], *answer])
    return found


def _rounds(times: dict[Partition, list[int]]) -> Iterator[dict[Partition, int]]:
    """One request may ask a partition one time: the n-th times of all partitions make the n-th request."""
    for number in range(max(map(len, times.values()))):
        yield {partition: asked[number] for partition, asked in times.items() if number < len(asked)}


def ask(
    admin: AdminClient, specs: dict[Partition, OffsetSpec], isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
) -> dict[Partition, Row | None]:
    """ListOffsets: [offset, timestamp] for each partition, None where the broker refuses."""
    request = {TopicPartition(*partition): spec for partition, spec in specs.items()}
    answers: dict[Partition, Row | None] = {}
    for asked, future in admin.list_offsets(request, isolation_level=isolation).items():
        try:
            result = future.result(READ_TIMEOUT_S)
            answers[asked.topic, asked.partition] = [result.offset, result.timestamp]
        except KafkaException:
            answers[asked.topic, asked.partition] = None
    return answers


def _offset(answer: Row | None) -> int | None:
    return None if answer is None else int(answer[0])
