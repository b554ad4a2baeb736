"""Groups whose every commit was noted while a real broker took it: `Story().path`, `Story().steps`.

A step is what `history.jsonl` must show of it: {"group", "event", ...}; of a commit with the log end at that time, as
the broker told it. Members, expiry and deletion are the broker's own doing.
"""

import functools
import hashlib
import json
import signal
import socket
import struct
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition

from tests.kafka import broker as node
from tests.kafka import cache, jars
from tests.kafka.broker import Broker, wait_until
from tests.kafka.writer import Record, Topic, Writer, create, now_ms

RELEASE = "4.3.1"
SETTINGS = {
    "offsets.topic.num.partitions": 3,
    "offsets.retention.check.interval.ms": 300,
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 1000,
    "transaction.state.log.num.partitions": 1,
    "transaction.max.timeout.ms": 900_000,
}
TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
SLASH = "with/slash"


@dataclass(frozen=True)
class Story:
    """The data directory and what happened."""

    @property
    def path(self) -> Path:
        """A data directory: read it, never write there."""
        return _place() / "data"

    @property
    def steps(self) -> list[dict[str, Any]]:
        """All steps, in order."""
        return _steps()

    def of(self, group: str) -> list[dict[str, Any]]:
        """The steps of one group."""
        return [each for each in self.steps if each["group"] == group]


@functools.cache
def _place() -> Path:
    digest = hashlib.sha256(Path(__file__).read_bytes() + Path(node.__file__).read_bytes()).hexdigest()[:12]
    return cache.once(cache.root() / "histories" / f"{RELEASE}-{digest}", _make)


@functools.cache
def _steps() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((_place() / "steps.json").read_text())
    return found


def _make(place: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="kafkafs-history-") as home:
        broker = node.start(RELEASE, Path(home), SETTINGS)
        try:
            script = _Script(broker)
            script.play()
            broker.stop(signal.SIGTERM)
            copy(broker.data, place / "data")
        finally:
            broker.stop()
        (place / "steps.json").write_text(json.dumps(script.steps))


def copy(source: Path, target: Path) -> None:
    """The files as they are, holes too."""
    subprocess.run(["cp", "-a", "--sparse=always", source, target], check=True)


class _Script:
    """What the groups do, one after the other."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.writer = Writer(broker)
        self.steps: list[dict[str, Any]] = []
        self._asking = Consumer({
            "bootstrap.servers": broker.address, "group.id": "asking", "log_level": 0,
            "isolation.level": "read_uncommitted",
        })  # fmt: skip

    def play(self) -> None:
        create(self.broker, {"t": Topic(2), "u": Topic(1)})
        self.produce("t", 0, 5)
        self.produce("t", 1, 3)
        self.produce("u", 0, 2)
        self.classic()
        self.rewind()
        self.modern()
        self.transactions()
        self.expired()
        self.deleted()
        self._asking.close()

    def produce(self, topic: str, partition: int, count: int) -> None:
        """Records of now; what happens later has a later time."""
        self.writer.batch(topic, [Record(b"x", None, now_ms()) for _ in range(count)], partition)
        self.pause()

    def pause(self) -> None:
        """Until the clock goes on, twice: a commit is then later than what was written, and earlier than the next."""
        for _ in range(2):
            begun = now_ms()
            wait_until(lambda begun=begun: now_ms() > begun, "the clock")  # type: ignore[misc]

    def end(self, topic: str, partition: int) -> int:
        """The log end now."""
        return int(self._asking.get_watermark_offsets(TopicPartition(topic, partition), timeout=20)[1])

    def committed(self, group: str, topic: str, partition: int, offset: int, change: int | None, **more: Any) -> None:
        """Notes a commit."""
        end = self.end(topic, partition)
        self.steps.append({
            "group": group, "event": "commit", "topic": topic, "partition": partition, "offset": offset,
            "change": change, "logEndThen": end, "lagThen": end - offset, "transaction": None, **more,
        })  # fmt: skip
        self.pause()

    def consumer(self, group: str, **more: object) -> Consumer:
        return Consumer({
            "bootstrap.servers": self.broker.address, "group.id": group, "enable.auto.commit": False, "log_level": 0,
            "auto.offset.reset": "earliest", "session.timeout.ms": 45_000, **more,
        })  # fmt: skip

    def classic(self) -> None:
        """A member joins, commits with pauses, and leaves."""
        reader = self.consumer("classic")
        reader.subscribe(["t"])
        wait_until(lambda: _polled(reader), "a member of `classic`")
        for state, generation in (("Empty", None), ("Stable", 1)):  # it begins without a protocol
            members = int(state == "Stable")
            group_value = {"state": state, "generation": generation, "members": members}
            self.steps.append({"group": "classic", "event": "group", **group_value})
        for offset, change in ((2, None), (4, 2), (5, 1)):
            reader.commit(offsets=[TopicPartition("t", 0, offset, metadata=f"at {offset}")], asynchronous=False)
            self.committed("classic", "t", 0, offset, change)
            self.produce("t", 0, 3)
        reader.commit(offsets=[TopicPartition("t", 1, 1)], asynchronous=False)
        self.committed("classic", "t", 1, 1, None)
        reader.close()
        self.steps.append({"group": "classic", "event": "group", "state": "Empty", "generation": 2, "members": 0})

    def rewind(self) -> None:
        """Kafka's own tool sets the group back."""
        words = ("--bootstrap-server", self.broker.address, "--group", "classic", "--topic", "t:0")
        jars.run(RELEASE, TOOL, *words, "--reset-offsets", "--to-offset", "1", "--execute")
        self.committed("classic", "t", 0, 1, -4)

    def modern(self) -> None:
        """A group of KIP-848."""
        reader = Consumer({
            "bootstrap.servers": self.broker.address, "group.id": "modern", "group.protocol": "consumer",
            "enable.auto.commit": False, "log_level": 0, "auto.offset.reset": "earliest",
        })  # fmt: skip
        reader.subscribe(["u"])
        wait_until(lambda: _polled(reader), "a member of `modern`")
        for offset, change in ((1, None), (2, 1)):
            reader.commit(offsets=[TopicPartition("u", 0, offset)], asynchronous=False)
            self.committed("modern", "u", 0, offset, change)
        reader.close()

    def transactions(self) -> None:
        """Offsets sent within transactions: one aborts, one commits, one stays open."""
        group = self.consumer("exact")
        group.assign([TopicPartition("t", 0, 0)])
        producer = Producer({
            "bootstrap.servers": self.broker.address, "transactional.id": "exact", "log_level": 0,
            "transaction.timeout.ms": 900_000,
        })  # fmt: skip
        producer.init_transactions(20)
        offsets = ((3, None, "aborted"), (4, None, "committed"), (6, 2, "open"))
        for offset, change, outcome in offsets:
            producer.begin_transaction()
            producer.produce("u", b"y", partition=0)
            producer.flush(20)
            self.pause()
            producer.send_offsets_to_transaction([TopicPartition("t", 0, offset)], group.consumer_group_metadata())
            self.committed("exact", "t", 0, offset, change, transaction=outcome)
            if outcome != "open":
                (producer.abort_transaction if outcome == "aborted" else producer.commit_transaction)()
        group.close()
        plain = self.consumer("exact-too")
        plain.commit(offsets=[TopicPartition("u", 0, 1)], asynchronous=False)
        self.committed("exact-too", "u", 0, 1, None)
        plain.close()
        self._unfinished = producer

    def expired(self) -> None:
        """A commit that says itself when it expires, as old clients could."""
        _old_commit(self.broker.address, "expired", "t", 1, 2, retention_ms=200)
        self.committed("expired", "t", 1, 2, None)
        self.steps.append({"group": "expired", "event": "expire", "topic": "t", "partition": 1})
        self.steps.append({"group": "expired", "event": "delete"})
        self.gone("expired")

    def deleted(self) -> None:
        """A group that an admin deletes; its name is no file name."""
        admin = self.broker.admin
        change = ConsumerGroupTopicPartitions(SLASH, [TopicPartition("t", 0, 2), TopicPartition("u", 0, 1)])
        admin.alter_consumer_group_offsets([change])[SLASH].result(20)
        self.committed(SLASH, "t", 0, 2, None)
        self.committed(SLASH, "u", 0, 1, None)
        admin.delete_consumer_groups([SLASH])[SLASH].result(20)
        self.steps += [
            {"group": SLASH, "event": "expire", "topic": topic, "partition": 0} for topic in ("t", "u")
        ] + [{"group": SLASH, "event": "delete"}]  # fmt: skip

    def gone(self, group: str) -> None:
        """Waits until the broker has forgotten a group."""
        admin = self.broker.admin
        wait_until(
            lambda: group not in {each.group_id for each in admin.list_consumer_groups().result(20).valid},
            f"the end of {group}",
        )


def _polled(consumer: Consumer) -> bool:
    message = consumer.poll(0.2)
    return message is not None and message.error() is None


def _old_commit(address: str, group: str, topic: str, partition: int, offset: int, retention_ms: int) -> None:
    """OffsetCommit v2, which has a time of retention. Source: OffsetCommitRequest.json."""

    def text(value: str) -> bytes:
        return struct.pack(">h", len(value)) + value.encode()

    body = text(group) + struct.pack(">i", -1) + text("") + struct.pack(">qi", retention_ms, 1) + text(topic)
    body += struct.pack(">iiq", 1, partition, offset) + text("")
    request = struct.pack(">hhi", 8, 2, 1) + text("old") + body
    host, port = address.split(":")
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            size = struct.unpack(">i", _received(connection, 4))[0]
            answer = _received(connection, size)
        if answer[-2:] == b"\0\0":
            return
        time.sleep(0.1)
    raise TimeoutError(f"the coordinator of {group} answers {answer!r}")


def _received(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise ConnectionError("the broker hung up")
        data += piece
    return data
