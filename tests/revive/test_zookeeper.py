"""Clusters of ZooKeeper's last release with rights, users and quotas, revived: before a migration to KRaft, and in the
middle of one, when both have the metadata. `scripts/soak revive`."""

import contextlib
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.read_options import ReadOptions
from kafkafs.revive.metadata_log import read_metadata
from tests.kafka import broker as nodes
from tests.kafka import jars
from tests.kafka.broker import SETTINGS, Broker, wait_until
from tests.kafka.writer import Record, Topic, Writer, create
from tests.revive.nodes import revived
from tests.revive.test_brokers import WHOLE, consumed
from tests.revive.test_rights import ACLS, ALLOWED, CONFIGS, SET, reported, tool

pytestmark = pytest.mark.skipif(not WHOLE, reason="scripts/soak revive")
RELEASE, CONTROLLER_ID = "3.9.1", 3000
Process = subprocess.Popen[bytes]
KINDS = ("ips", "clients", "users", "topics")
"""ZooKeeper knows no client metrics."""


class Migrating:
    """A broker beside its ZooKeeper, and the controller that takes over; `disks` are those of both."""

    def __init__(self, home: Path) -> None:
        self.home, self.disks = home, [home / "data"]
        self._zookeeper, self._port = nodes.free_port(), nodes.free_port()
        self._controller, self._processes = nodes.free_port(), list[Process]()
        zookeeper = {
            "dataDir": home / "zookeeper", "clientPort": self._zookeeper, "clientPortAddress": "127.0.0.1",
            "admin.enableServer": "false", "maxClientCnxns": 0,
        }  # fmt: skip
        server = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        self._launch("zookeeper", server, zookeeper)
        wait_until(lambda: nodes._listens(self._zookeeper), "ZooKeeper to listen")
        self.broker = self._start_broker({})

    def _launch(self, name: str, program: str, settings: dict[str, object]) -> Process:
        process = nodes._launch(RELEASE, self.home, name, program, settings)
        self._processes.append(process)
        return process

    def _start_broker(self, more: dict[str, object]) -> Broker:
        settings = {
            **SETTINGS, "broker.id": 1, "listeners": f"PLAINTEXT://127.0.0.1:{self._port}", "log.dirs": self.disks[0],
            "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer", "super.users": "User:ANONYMOUS",
            "zookeeper.connect": f"127.0.0.1:{self._zookeeper}", **more,
        }  # fmt: skip
        process = self._launch("broker", "kafka.Kafka", settings)
        return nodes.ready(Broker(RELEASE, self.home, f"127.0.0.1:{self._port}", [process]))

    def migrate(self) -> None:
        """Until all metadata are in KRaft; ZooKeeper still gets each change."""
        self.broker.stop()
        quorum = {
            "controller.quorum.voters": f"{CONTROLLER_ID}@127.0.0.1:{self._controller}",
            "controller.listener.names": "CONTROLLER", "zookeeper.metadata.migration.enable": "true",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        }  # fmt: skip
        controller = {
            **quorum, "process.roles": "controller", "node.id": CONTROLLER_ID, "log.dirs": self.home / "controller",
            "listeners": f"CONTROLLER://127.0.0.1:{self._controller}", "super.users": "User:ANONYMOUS",
            "zookeeper.connect": f"127.0.0.1:{self._zookeeper}",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        }  # fmt: skip
        identity = (self.disks[0] / "meta.properties").read_text()
        cluster = next(line.partition("=")[2] for line in identity.splitlines() if line.startswith("cluster.id="))
        file = nodes._write_settings(self.home / "format.properties", controller)
        jars.run(RELEASE, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", file)
        self._launch("controller", "kafka.Kafka", controller)
        self.disks.append(self.home / "controller")
        self.broker = self._start_broker({**quorum, "inter.broker.protocol.version": "3.9"})
        wait_until(self._is_migrated, f"the migration, see {self.home}/controller.out")

    def _is_migrated(self) -> bool:
        image = read_metadata([open_data_directory(self.disks[1])], ReadOptions()).image
        return image is not None and "t" in image.ids and not image.is_in_zookeeper

    def end(self) -> None:
        nodes._end_all(self._processes)


@contextlib.contextmanager
def migrating(home: Path) -> Iterator[Migrating]:
    home.mkdir()
    made = Migrating(home)
    try:
        yield made
    finally:
        made.end()


def allow_and_set(broker: Broker) -> None:
    for kind, name, values in (each for each in SET if each[0] in (*KINDS, "brokers")):
        whose = ("--entity-default",) if name is None else ("--entity-name", name)
        tool(broker, CONFIGS, "--alter", "--entity-type", kind, *whose, "--add-config", values)
    for words in ALLOWED:
        tool(broker, ACLS, "--add", *words)


@pytest.mark.parametrize(("is_migrating", "target"), [(False, "4.4.0"), (True, "3.9.1"), (True, "4.4.0")])
def test_rights_and_users_come_back_if_they_were_in_kraft(is_migrating, target, tmp_path):
    """Before a migration, they are in ZooKeeper alone: that is told. All records come back either way."""
    with migrating(tmp_path / "source") as source:
        create(source.broker, {"t": Topic()})
        Writer(source.broker).batch("t", [Record(b"%d" % each) for each in range(50)])
        allow_and_set(source.broker)
        if is_migrating:
            source.migrate()
            tool(source.broker, ACLS, "--add", "--allow-principal", "User:later", "--topic", "t", "--operation", "Read")
        Writer(source.broker).batch("t", [Record(b"%d" % each) for each in range(50, 60)])
        before = reported(source.broker, KINDS) if is_migrating else {}
        disks = source.disks
        source.broker.stop(signal.SIGKILL)
    with revived(target, tmp_path, disks, retention="as-is") as node:
        text = "\n".join(node.report["leftOut"])
        assert ("settings, rights, quotas and users of the cluster are not on these disks" in text) != is_migrating
        if is_migrating:
            after = reported(node.broker, KINDS)
            assert "User:later" in str(after["acls"])
            assert after == before
        assert consumed(node, "t", 0) == [b"%d" % each for each in range(60)]
        Writer(node.broker, settings={"acks": "all"}).batch("t", [Record(b"new")])
        assert node.complaints() == []  # here: where it is stopped, it may still load what the consumer made it make
