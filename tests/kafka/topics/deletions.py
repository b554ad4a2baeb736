"""What is gone: records deleted below an offset, records compacted away, a topic deleted while its files remain."""

from pathlib import Path

from tests.kafka.broker import CENTURY_MS, Broker, wait_until
from tests.kafka.writer import (
    HOUR_MS,
    START_MS,
    Record,
    Topic,
    Writer,
    configure,
    delete_records,
    now_ms,
    roll,
    transactional,
)

COMPACT = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": 0.01,
    "segment.ms": HOUR_MS,
    "index.interval.bytes": 200,
}
BATCH = 5  # records a batch of the topics that lose records
SEGMENT = 4 * BATCH  # records a segment of theirs
CLEANED_TIMEOUT_S = 300
DOOMED = "doomed"  # deleted when all else is done: its directory stays for a minute


def topics(release: str) -> dict[str, Topic]:
    """`deleted` lost whole segments and half a batch; `deleted-late` keeps the files of what it lost; and so on."""
    short = Topic(settings={"segment.ms": HOUR_MS, "index.interval.bytes": 200, "file.delete.delay.ms": 1000})
    return {
        "deleted": short,
        "deleted-late": short,
        "deleted-first-batch": short,
        "deleted-all": short,
        # what it set aside is still there when the broker stops, however busy the machine is
        "compacted": Topic(settings=COMPACT | {"delete.retention.ms": 24 * HOUR_MS, "file.delete.delay.ms": HOUR_MS}),
        "compacted-tombstones": Topic(settings=COMPACT | {"delete.retention.ms": 0, "file.delete.delay.ms": 1000}),
        "compacted-transactions": Topic(settings=COMPACT | {"delete.retention.ms": 0, "segment.ms": CENTURY_MS}),
        DOOMED: short,
    }


def write(broker: Broker) -> None:
    """Fills all and deletes early: the broker looks once, after 30 s, for segments that lost all their records."""
    writer = Writer(broker)
    for topic in ("deleted", "deleted-late", "deleted-first-batch", "deleted-all", DOOMED):
        for number in range(5 * SEGMENT // BATCH):
            writer.batch(topic, _batch(number))
        if topic == "deleted":
            delete_records(broker, topic, 2 * SEGMENT + BATCH + 2)
    delete_records(broker, "deleted-first-batch", 3)
    delete_records(broker, "deleted-all", 5 * SEGMENT)
    _compacted(broker, writer, Writer(broker, "lz4"))
    _compacted_transactions(broker, writer)


def finish(broker: Broker) -> None:
    """Waits for the cleaner and for the look at old segments; then deletes what shall stay in its files."""
    directory = broker.data / "deleted-0"
    wait_until(lambda: not (directory / f"{0:020}.log").exists(), "the deleted segments to go", CLEANED_TIMEOUT_S)
    delete_records(broker, "deleted-late", 3 * SEGMENT + 1)


def _batch(number: int) -> list[Record]:
    first_ms = START_MS + number // 4 * 2 * HOUR_MS + number % 4 * 60_000
    return [Record(b"%d/%d" % (number, n), b"%d" % n, first_ms + n) for n in range(BATCH)]


def _compacted(broker: Broker, *writers: Writer) -> None:
    """Five keys overwritten over and over, some deleted by tombstones, in eight segments; the last is never cleaned."""
    for topic in ("compacted", "compacted-tombstones"):
        for segment in range(8):
            for batch in range(6):
                first_ms = START_MS + segment * 2 * HOUR_MS + batch * 1000
                keys = [b"hot-%d" % (batch % 3), b"cold-%d-%d" % (segment, batch), b"hot-3", b"dead-%d" % segment]
                values = [b"segment %d batch %d" % (segment, batch)] * 3 + [None if batch > 3 else b"alive"]
                records = [Record(*pair, first_ms + n) for n, pair in enumerate(zip(values, keys, strict=True))]
                writers[batch % 2].batch(topic, records)
        _await_cleaned(broker, topic)
    last_ms = START_MS + 100 * HOUR_MS  # a second round drops the first one's tombstones
    for number in range(2):
        writers[0].batch("compacted-tombstones", [Record(b"again", b"hot-3", last_ms + number * 2 * HOUR_MS)])
    for topic in ("compacted", "compacted-tombstones"):
        _await_cleaned(broker, topic)
        configure(broker, topic, min_cleanable_dirty_ratio=1)


def _compacted_transactions(broker: Broker, plain: Writer) -> None:
    """Transactions whose records, and then markers, are cleaned away: batches stay behind empty, control ones too."""
    topic = "compacted-transactions"
    writers = transactional(broker, "compacted-a"), transactional(broker, "compacted-b")
    for turn in range(5):
        for number in range(8 if turn < 3 else 0):
            writer = writers[number % 2]
            writer.begin()
            writer.batch(topic, [Record(b"%d" % number, b"same-%d" % (n % 2), now_ms()) for n in range(3)])
            if number % 3 == 2:
                writer.abort()
            else:
                writer.commit()
        plain.batch(topic, [Record(b"turn %d" % turn, b"plain", now_ms())])
        roll(broker, plain, topic)
        _await_cleaned(broker, topic)
    configure(broker, topic, min_cleanable_dirty_ratio=1)


def _await_cleaned(broker: Broker, topic: str) -> None:
    """Waits until the cleaner has been through all but the newest segment."""
    directory = broker.data / f"{topic}-0"

    def cleaned() -> bool:
        newest = max(int(log.stem) for log in directory.glob("*.log"))
        return cleaned_below(broker.data, topic) >= newest

    wait_until(cleaned, f"{topic} to be compacted", CLEANED_TIMEOUT_S)


def cleaned_below(data: Path, topic: str) -> int:
    """The offset up to which the cleaner says it has compacted partition 0 of a topic."""
    lines = (line.split() for line in (data / "cleaner-offset-checkpoint").read_text().splitlines()[2:])
    return next((int(offset) for name, partition, offset in lines if (name, partition) == (topic, "0")), 0)
