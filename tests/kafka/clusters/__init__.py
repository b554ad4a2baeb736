"""Whole clusters that real brokers wrote, and what Kafka's own AdminClient and tools said of them just before the end.

    cluster = Cluster("4.3.1", "killed")
    cluster.path                a data directory; never write there, copy it
    cluster.truth               what AdminClient answered, see `Cluster.java`

"killed" is what a broker leaves that was ended by SIGKILL, "stopped" what the same one leaves at a clean stop after it
was started again. Made at first use, kept under `cache.root()`; a change of what stands here makes them anew.
"""

import functools
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
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
ASKING_S = 240
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
        return _truth(self.release)

    @property
    def described(self) -> str:
        """What `kafka-consumer-groups.sh --describe --all-groups` printed."""
        return (_place(self.release) / "described.txt").read_text()

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
def _truth(release: str) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads((_place(release) / "truth.json").read_text())
    return truth


def settings(release: str) -> dict[str, object]:
    """What makes a node's groups, transactions and rights worth looking at."""
    if release == jars.ZOOKEEPER_RELEASE:
        return dict(SETTINGS)
    return dict(MODERN_SETTINGS if release.startswith("4.") else KRAFT_SETTINGS)


def make(release: str, place: Path) -> None:
    """Fill the empty directory `place`: one cluster, killed, and once more stopped in peace; about a minute."""
    with tempfile.TemporaryDirectory(prefix="kafkafs-cluster-") as home:
        broker = node.start(release, Path(home), settings(release))
        try:
            with filled(broker, place / "truth.json"):
                described = jars.run(
                    jars.DUMP_RELEASE,
                    "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
                    *("--bootstrap-server", broker.address, "--describe", "--all-groups"),
                )
                (place / "described.txt").write_bytes(described.stdout)
                time.sleep(2)  # checkpoints are written each second; nothing says when
                copy(broker.data, place / "killed")
                broker.stop()
                copy(broker.data, place / "stopped")
        finally:
            broker.stop()


@contextmanager
def filled(broker: Broker, truth: Path) -> Iterator[None]:
    """A cluster with members in its groups and open transactions, as long as the context lasts."""
    command = ["java", jars.HEAP, *jars.QUICK_START, "-cp", f"{jars.jars(jars.DUMP_RELEASE)}/*"]
    log = broker.home / "cluster.out"
    with open(log, "wb") as err:
        process = subprocess.Popen(
            [*command, str(PROGRAM), broker.address, broker.release, str(truth)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err,
        )  # fmt: skip
    try:
        assert process.stdout is not None
        if process.stdout.readline() != b"ready\n":
            raise RuntimeError(f"the cluster was not filled: {log.read_text()[-3000:]}")
        yield
    finally:
        process.kill()
        process.wait()


def copy(source: Path, target: Path) -> None:
    """What a killed broker leaves: the files as they are at this moment."""
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(["cp", "-a", "--sparse=always", source, target], check=True)


if __name__ == "__main__":
    Cluster(sys.argv[1], "stopped").path  # noqa: B018 (made at first use)
