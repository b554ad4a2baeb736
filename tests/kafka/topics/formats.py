"""Message formats v0, v1 and v2: what 2.8.0 writes when told that its readers are old. Later releases write v2 only."""

import itertools
import random

from tests.kafka import jars
from tests.kafka.broker import Broker, wait_until
from tests.kafka.topics.codecs import sentence
from tests.kafka.writer import START_MS, Record, Topic, Writer, configure

VERSIONS = {"v0": "0.9.0", "v1": "0.10.0", "v2": "2.8"}
OLD_CODECS = ("none", "gzip", "snappy", "lz4")  # zstd needs v2
MAGIC_AT = 16


def topics(release: str) -> dict[str, Topic]:
    """`v0-<codec>`, `v1-<codec>`, `v1-append-time`, and `mixed-formats`, which changes its format as it grows."""
    if release != jars.ZOOKEEPER_RELEASE:
        return {}
    each = {
        f"{name}-{codec}": Topic(settings={"message.format.version": VERSIONS[name], "index.interval.bytes": 512})
        for name in ("v0", "v1")
        for codec in OLD_CODECS
    }
    append_time = {"message.format.version": VERSIONS["v1"], "message.timestamp.type": "LogAppendTime"}
    mixed = {"message.format.version": VERSIONS["v0"], "index.interval.bytes": 512}
    return each | {"v1-append-time": Topic(settings=append_time), "mixed-formats": Topic(settings=mixed)}


def write(broker: Broker) -> None:
    """Batches of one and several records each, with null keys and values among them."""
    if broker.release != jars.ZOOKEEPER_RELEASE:
        return
    writers = {codec: Writer(broker, codec) for codec in OLD_CODECS}
    for name, (codec, writer) in itertools.product(("v0", "v1"), writers.items()):
        _fill(writer, f"{name}-{codec}", first=0)
    for number, writer in enumerate(writers.values()):
        _fill(writer, "v1-append-time", first=100 * number)
    _write_mixed(broker, writers)


def _fill(writer: Writer, topic: str, first: int) -> None:
    rng = random.Random(topic)
    number = first
    for count in (1, 5, 1, 40, 3):
        batch = [sentence(rng, number + index) for index in range(count)]
        number += count
        writer.batch(topic, [*batch, Record(None, b"null value", START_MS + number * 1000), Record(b"null key")])


def _write_mixed(broker: Broker, writers: dict[str, Writer]) -> None:
    topic = "mixed-formats"
    order = ["v0", "v1", "v2", "v0", "v2", "v1"]
    for step, name in enumerate(order):
        configure(broker, topic, message_format_version=VERSIONS[name])
        _await_format(broker, writers["none"], topic, int(name[1]), START_MS + step * 100_000)
        for number, writer in enumerate(writers.values()):
            _fill(writer, topic, first=step * 100 + number * 20)


def _await_format(broker: Broker, writer: Writer, topic: str, magic: int, timestamp_ms: int) -> None:
    """Sends single records until the log has taken up its new format."""
    log = broker.data / f"{topic}-0" / f"{0:020}.log"

    def taken_up() -> bool:
        before = log.stat().st_size
        writer.batch(topic, [Record(b"format %d?" % magic, timestamp_ms=timestamp_ms)])
        with open(log, "rb") as file:
            file.seek(before + MAGIC_AT)
            return file.read(1) == bytes([magic])

    wait_until(taken_up, f"{topic} to be written in format {magic}")
