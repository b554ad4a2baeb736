"""Whole clusters that real brokers wrote, and what Kafka's own AdminClient and tools said of them just before the end.

    cluster = Cluster("4.3.1", "killed")
    cluster.path                a data directory; never write there, copy it
    cluster.truth               what AdminClient answered, see `Cluster.java`

"stopped" is what a broker leaves at a clean stop, "killed" what the same one leaves that was started again and ended
by SIGKILL; each with what was told of it right before. Made at first use, kept under `cache.root()`; a change of what
stands here makes them anew.
"""

import functools
import hashlib
import json
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tests.kafka import broker as node
from tests.kafka import cache, jars
from tests.kafka.broker import Broker

State = Literal["killed", "stopped"]
STATES: tuple[State, ...] = ("killed", "stopped")
COORDINATOR_PARTITIONS = 4
PROGRAM = Path(__file__).with_name("Cluster.java")

SETTINGS = {
    "offsets.topic.num.partitions": COORDINATOR_PARTITIONS,
    "transaction.state.log.num.partitions": COORDINATOR_PARTITIONS,
    "transaction.max.timeout.ms": 900_000,
    "group.min.session.timeout.ms": 1000,
}
KRAFT_SETTINGS = SETTINGS | {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
MODERN_SETTINGS = KRAFT_SETTINGS | {
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
    "share.coordinator.state.topic.num.partitions": 2,
    "broker.rack": "rack-1",
}


@dataclass(frozen=True)
class Cluster:
    """One release's cluster of a single node, in one of its two states."""

    release: str
    state: State

    @property
    def path(self) -> Path:
        """The data directory, kept for all test runs: read it, never write there."""
        return _place(self.release) / self.state

    @property
    def truth(self) -> dict[str, Any]:
        """What AdminClient answered; the same keys for all releases, as far as the release knows the question."""
        return _truth(self.release, self.state)

    @property
    def printed(self) -> dict[str, str]:
        """What Kafka's own tools printed, see `tools` in `Cluster.java`."""
        tools: dict[str, str] = self.truth["tools"]
        return tools

    def copy_to(self, target: Path) -> Path:
        """A sparse copy, to be damaged."""
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-a", "--sparse=always", self.path, target], check=True)
        return target

    def __str__(self) -> str:
        return f"{self.release}-{self.state}"


def every() -> list[Cluster]:
    """All releases in both states."""
    return [Cluster(release, state) for release in jars.RELEASES for state in STATES]


@functools.cache
def _place(release: str) -> Path:
    digest = hashlib.sha256()
    for source in (*sorted(Path(__file__).parent.glob("*")), Path(node.__file__)):
        if source.is_file():
            digest.update(source.read_bytes())
    place = cache.root() / "clusters" / f"{release}-{digest.hexdigest()[:12]}"
    return cache.once(place, lambda unfinished: make(release, unfinished))


@functools.cache
def _truth(release: str, state: State) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads((_place(release) / f"{state}.json").read_text())
    return truth


def settings(release: str) -> dict[str, object]:
    """What makes a node's groups, transactions and rights worth looking at."""
    if release == jars.ZOOKEEPER_RELEASE:
        return dict(SETTINGS)
    return dict(MODERN_SETTINGS if release.startswith("4.") else KRAFT_SETTINGS)


def make(release: str, place: Path) -> None:
    """Fills the empty directory `place`: one cluster, stopped in peace, and once more killed; about a minute."""
    with tempfile.TemporaryDirectory(prefix="kafkafs-cluster-") as home:
        broker = node.start(release, Path(home), settings(release))
        try:
            with filled(broker) as write_truth:
                _end(broker, signal.SIGTERM, "stopped", write_truth, place)
                broker = node.start(release, Path(home), settings(release))
                _end(broker, signal.SIGKILL, "killed", write_truth, place)
        finally:
            broker.stop()


def _end(broker: Broker, how: int, state: State, write_truth: Callable[[Path], None], place: Path) -> None:
    truth = place / f"{state}.json"
    write_truth(truth)
    ends: dict[str, int] = json.loads(truth.read_text())["ends"]
    node.wait_until(lambda: ends.items() <= high_watermarks(broker.data).items(), "the high watermarks' checkpoint")
    broker.stop(how)
    copy(broker.data, place / state)


def high_watermarks(data: Path) -> dict[str, int]:
    """By the directories of their partitions, as the broker last wrote them down."""
    checkpoint = data / "replication-offset-checkpoint"
    rows = [line.split() for line in checkpoint.read_text().splitlines()[2:]] if checkpoint.exists() else []
    return {f"{topic}-{partition}": int(offset) for topic, partition, offset in rows}


@contextmanager
def filled(broker: Broker) -> Iterator[Callable[[Path], None]]:
    """A cluster with members in its groups and open transactions, as long as the context lasts.

    It yields what asks the cluster about itself and writes the answers to a file.
    """
    classpath = f"{jars.jars(jars.NEWEST)}/*:{jars.streams()}/*"
    command = ["java", jars.HEAP, *jars.QUICK_START, "-cp", classpath, str(PROGRAM), broker.address, broker.release]
    log = broker.home / "cluster.out"
    with open(log, "wb") as err:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err)

    def write_truth(path: Path) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{path}\n".encode())
        process.stdin.flush()
        if process.stdout.readline() != b"written\n":
            raise RuntimeError(f"the cluster did not tell of itself: {log.read_text()[-3000:]}")

    try:
        yield write_truth
    finally:
        process.kill()
        process.wait()


def copy(source: Path, target: Path) -> None:
    """The files as they are, holes too."""
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(["cp", "-a", "--sparse=always", source, target], check=True)
