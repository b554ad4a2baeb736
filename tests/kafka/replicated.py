"""Three brokers' data directories of one cluster, each killed at another time, and one partition that really parted.

    for path in directories(): ...      brokers 1, 2 and 3, as SIGKILL left them; never write there

    plain       deleted up to offset 100 after broker 3 had gone, other sizes of segments on each broker, other ends
    compacted   cleaned by each broker at another time
    parted      on 2 and 3: what 2 alone took was lost when 3 was elected uncleanly, and took something else

Made at first use, kept under `cache.root()`; a change of what stands here makes them anew.
"""

import base64
import functools
import hashlib
import json
import shutil
import signal
import sys
import tempfile
import uuid
from collections.abc import Iterable
from pathlib import Path

from confluent_kafka import TopicPartition
from confluent_kafka.admin import ClusterMetadata, NewTopic, PartitionMetadata

from tests.kafka import broker as node
from tests.kafka import cache, jars
from tests.kafka.broker import KRAFT_SETTINGS, SETTINGS, Broker, wait_until
from tests.kafka.writer import Record, Writer

RELEASE = "4.3.1"
NODES = (1, 2, 3)
COMMON = 60
"""Offsets of `parted` that both brokers have alike."""

_SEGMENT_BYTES = {1: 1 << 20, 2: 3 << 19, 3: 1 << 21}  # no broker takes less than the first
TOPICS = (
    NewTopic("plain", 1, 3, config={"min.insync.replicas": "1"}),
    NewTopic("compacted", 1, 3, config={
        "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "0",
    }),
    NewTopic("parted", 1, replica_assignment=[[2, 3]], config={"unclean.leader.election.enable": "true"}),
)  # fmt: skip


@functools.cache
def directories() -> tuple[Path, ...]:
    """The data directories of brokers 1, 2 and 3, kept for all test runs: read them, never write there."""
    digest = hashlib.sha256()
    for source in (Path(__file__), Path(node.__file__)):
        digest.update(source.read_bytes())
    place = cache.once(cache.root() / "replicated" / f"{RELEASE}-{digest.hexdigest()[:12]}", make)
    return tuple(place / f"broker{number}" for number in NODES)


def make(place: Path) -> None:
    """Fills the empty directory `place` with a directory for each broker; about a minute."""
    with tempfile.TemporaryDirectory(prefix="kafkafs-replicated-") as home:
        cluster = _Cluster(Path(home))
        try:
            _fill(cluster)
        finally:
            for number in NODES:
                cluster.kill(number)
        for number in NODES:
            target = place / f"broker{number}"
            shutil.copytree(cluster.data(number), target, ignore=shutil.ignore_patterns(".lock"))


def _fill(cluster: "_Cluster") -> None:
    for number in NODES:
        cluster.start(number)
    admin = cluster.brokers[1].admin
    for future in admin.create_topics(list(TOPICS)).values():
        future.result(30)
    write(cluster, "plain", range(1500))
    write(cluster, "compacted", range(1500), keys=100)
    write(cluster, "parted", range(COMMON))
    cluster.kill(3)
    cluster.in_sync("plain", {1, 2})
    for future in admin.delete_records([TopicPartition("plain", 0, 100)]).values():
        future.result(30)
    write(cluster, "plain", range(1500, 2000))
    write(cluster, "compacted", range(1500, 3000), keys=150)
    cluster.in_sync("parted", {2})
    write(cluster, "parted", range(COMMON, COMMON + 30))
    cluster.cleaned(1)
    cluster.cleaned(2)
    cluster.kill(2)
    cluster.start(3)
    wait_until(lambda: cluster.partition("parted").leader == 3, "broker 3 to be elected uncleanly")
    write(cluster, "parted", (1_000_000 + each for each in range(20)))
    cluster.in_sync("plain", {1, 3})
    write(cluster, "plain", range(2000, 2200))
    cluster.kill(3)
    cluster.in_sync("plain", {1})
    write(cluster, "plain", range(2200, 2300))
    write(cluster, "compacted", range(3000, 4000), keys=200)
    cluster.cleaned(1)


class _Cluster:
    """The nodes that run; the first is controller too, and ends last."""

    def __init__(self, home: Path) -> None:
        self.brokers: dict[int, Broker] = {}
        self._home = home
        self._id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "x")

    def data(self, number: int) -> Path:
        return self._home / str(number) / "data"

    def start(self, number: int) -> None:
        home = self._home / str(number)
        home.mkdir(exist_ok=True)
        port, own = node._ports(home)
        _, controller = node._ports(self._home / "1")
        is_controller = number == 1
        settings = {
            **SETTINGS,
            **KRAFT_SETTINGS,
            "process.roles": "broker,controller" if is_controller else "broker",
            "node.id": number,
            "listeners": f"PLAINTEXT://127.0.0.1:{port}" + f",CONTROLLER://127.0.0.1:{own}" * is_controller,
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller}",
            "log.dirs": home / "data",
            "log.segment.bytes": _SEGMENT_BYTES[number],
            "replica.lag.time.max.ms": 2000,
            "broker.session.timeout.ms": 3000,
            "unclean.leader.election.interval.ms": 1000,
            "log.segment.delete.delay.ms": 500,
        }
        if not (home / "data" / "meta.properties").exists():
            configuration = node._write_settings(home / "format.properties", settings)
            alone = ("--standalone",) if is_controller else ()
            jars.run(RELEASE, "kafka.tools.StorageTool", "format", *alone, "-t", self._id, "-c", configuration)
        process = node._launch(RELEASE, home, "broker", "kafka.Kafka", settings)
        self.brokers[number] = Broker(RELEASE, home, f"127.0.0.1:{port}", [process])
        node.ready(self.brokers[number])
        wait_until(lambda: len(self._reported().brokers) == len(self.brokers), f"broker {number} to be told of")

    def kill(self, number: int) -> None:
        if number in self.brokers:
            self.brokers.pop(number).stop(signal.SIGKILL)

    def partition(self, topic: str) -> PartitionMetadata:
        """What the controller says of the topic's partition."""
        return self._reported().topics[topic].partitions[0]

    def in_sync(self, topic: str, numbers: set[int]) -> None:
        """Waits until these replicas are in sync, and a leader is there."""
        wait_until(
            lambda: {*self.partition(topic).isrs} == numbers and self.partition(topic).leader in numbers,
            f"{topic} to be on {numbers}",
        )

    def cleaned(self, number: int) -> None:
        """Waits until a broker has compacted all that it may: up to its last segment."""
        directory = self.data(number) / "compacted-0"

        def is_done() -> bool:
            last = max(int(path.stem) for path in directory.glob("*.log"))
            try:
                lines = (self.data(number) / "cleaner-offset-checkpoint").read_text().splitlines()
            except FileNotFoundError:
                return False
            return f"compacted 0 {last}" in lines and not list(directory.glob("*.deleted"))

        wait_until(is_done, f"broker {number} to clean up to its last segment")

    def _reported(self) -> ClusterMetadata:
        return self.brokers[1].admin.list_topics(timeout=5)


def write(cluster: _Cluster, topic: str, values: Iterable[int], keys: int | None = None) -> None:
    """Records of two kilobytes, fifty a batch; a `keys`-th one has the key of the first again."""
    writer = Writer(cluster.brokers[1], settings={"acks": "all"})
    numbers = list(values)
    for first in range(0, len(numbers), 50):
        some = numbers[first : first + 50]
        batch = [
            Record(json.dumps({"n": n}).encode() + b" " * 2000, b"%d" % (n % keys) if keys else None) for n in some
        ]
        writer.batch(topic, batch)


if __name__ == "__main__":
    print(*directories(), sep="\n", file=sys.stderr)
