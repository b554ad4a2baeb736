"""Quotas of every kind, users and rights, and settings of what is neither topic nor broker: Kafka's own tools tell them
after a revival as before. `scripts/soak revive`.
"""

import signal
from collections.abc import Sequence

import pytest

from tests.kafka import broker as nodes
from tests.kafka import jars
from tests.kafka.writer import Record, Topic, Writer, create
from tests.revive.nodes import revived
from tests.revive.test_brokers import WHOLE

pytestmark = pytest.mark.skipif(not WHOLE, reason="scripts/soak revive")
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
CONFIGS, ACLS = "org.apache.kafka.tools.ConfigCommand", "org.apache.kafka.tools.AclCommand"
SET = [
    ("ips", "127.0.0.9", "connection_creation_rate=7"),
    ("ips", None, "connection_creation_rate=500"),
    ("clients", "app/1 \u00e4", "producer_byte_rate=1024,consumer_byte_rate=2048"),
    ("clients", None, "request_percentage=250"),
    ("users", "CN=x,O=y z", "controller_mutation_rate=3"),
    ("users", None, "consumer_byte_rate=123456789"),
    ("users", "alice", "SCRAM-SHA-256=[iterations=4096,password=a]"),
    ("users", "alice", "SCRAM-SHA-512=[iterations=8192,password=a]"),
    ("brokers", None, "max.connections.per.ip=1000,min.insync.replicas=2,leader.replication.throttled.rate=1000000"),
    ("brokers", "1", "background.threads=8,remote.log.index.file.cache.total.size.bytes=2147483648"),
    ("client-metrics", "watch", "metrics=[org.apache.kafka.producer.],interval.ms=50000,match=[client_id=a.*]"),
    ("topics", "t", "min.insync.replicas=2,compression.type=zstd,compression.zstd.level=5"),
]
ALLOWED = [
    ("--allow-principal", "User:alice", "--delegation-token", "*", "--operation", "Describe"),
    ("--allow-principal", "User:CN=x,O=y z", "--user-principal", "User:bob", "--operation", "CreateTokens"),
    ("--deny-principal", "User:bob", "--deny-host", "10.0.0.0", "--group", "g", "--operation", "All",
     "--resource-pattern-type", "prefixed"),
]  # fmt: skip
KINDS = ("ips", "clients", "users", "topics", "client-metrics")


def tool(broker: nodes.Broker, command: str, *words: str) -> str:
    """What the newest release's tool prints."""
    return jars.run(jars.NEWEST, command, "--bootstrap-server", broker.address, *words).stdout.decode()


def reported(broker: nodes.Broker, kinds: Sequence[str] = KINDS) -> dict[str, list[list[str]]]:
    """By kind the words of its lines, without their order, and without what else a setting could have been."""
    asked: dict[str, tuple[str, ...]] = {kind: ("--describe", "--entity-type", kind) for kind in kinds}
    asked |= {"all brokers": ("--describe", "--entity-type", "brokers", "--entity-default")}
    printed = {name: tool(broker, CONFIGS, *words) for name, words in asked.items()} | {
        "acls": tool(broker, ACLS, "--list")
    }
    lines = {name: [line.partition(" synonyms=")[0] for line in text.splitlines()] for name, text in printed.items()}
    return {name: sorted(sorted(line.replace(",", "").split()) for line in some) for name, some in lines.items()}


@pytest.mark.parametrize(("source", "target"), [("3.9.1", "3.9.1"), ("4.3.1", "3.9.1"), ("3.9.1", "4.4.0")])
def test_quotas_users_rights_and_settings_are_reported_as_before(source, target, tmp_path):
    home = tmp_path / "source"
    home.mkdir()
    with nodes.running(source, home, AUTHORIZER) as broker:
        create(broker, {"t": Topic()})
        for kind, name, values in SET:
            whose = ("--entity-default",) if name is None else ("--entity-name", name)
            tool(broker, CONFIGS, "--alter", "--entity-type", kind, *whose, "--add-config", values)
        for words in ALLOWED:
            tool(broker, ACLS, "--add", *words)
        before = reported(broker)
        broker.stop(signal.SIGKILL)
    with revived(target, tmp_path, [home / "data"], retention="as-is") as node:
        assert reported(node.broker) == before
        Writer(node.broker, settings={"acks": "all"}).batch("t", [Record(b"new")])
    assert node.complaints() == []
