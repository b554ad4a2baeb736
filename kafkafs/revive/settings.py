"""`server.properties` of the new node, `second.properties` of a further one, and the identity files beside them.

Everything that a later day would destroy at the first start is off. `OFF` has each of these settings, with the loss
that it prevents. `docs/revive.md` says when and how to switch them on again. A further node needs them, too: the leader
of a partition deletes, and its followers delete what the leader has deleted.
"""

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

from kafkafs.cluster.image import BROKER_RESOURCE
from kafkafs.format.names import GROUPS_TOPIC, LARGEST_NODE, SHARE_TOPIC, TRANSACTIONS_TOPIC
from kafkafs.revive.kept_configs import Config
from kafkafs.revive.kept_rights import TOKEN_KEY
from kafkafs.revive.metadata_snapshot import BROKER_EPOCH, Node
from kafkafs.revive.topics import RevivedTopic

SERVER_PROPERTIES, SECOND_PROPERTIES = "server.properties", "second.properties"
_LARGEST_PORT = 65535
_ABOUT = "# Written by kafkafs revive. What may be changed, and when: docs/revive.md of kafkafs."
_NEVER_MS, _NEVER = str(2**63 - 1), str(2**31 - 1)

OFF: Mapping[str, tuple[str, str]] = {
    "log.initial.task.delay.ms": (_NEVER_MS, "retention deletes nothing, even of topics with a retention of their own"),
    "log.retention.ms": ("-1", "topics without a retention of their own keep everything"),
    "log.cleaner.enable": ("false", "compaction removes nothing"),
    "offsets.retention.minutes": (_NEVER, "groups and their offsets do not expire"),
    "producer.id.expiration.ms": (_NEVER, "what producers repeat is known as repeated"),
    "transactional.id.expiration.ms": (_NEVER, "transactional ids do not expire"),
    "transaction.remove.expired.transaction.cleanup.interval.ms": (_NEVER, "expired ids are not looked for"),
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": (_NEVER, "open transactions stay open"),
}  # fmt: skip
"""Name -> value and what it does."""

_THREADS = re.compile(r"num\.replica\.fetchers|[a-z.]*threads?[a-z.]*", re.ASCII)
_COUNT = re.compile(r"[1-9][0-9]{0,3}", re.ASCII)
"""A name is written as it is: one with a line feed would be a setting of its own. No node starts with 0 threads, or
with a million."""

_PARTITIONS = {
    GROUPS_TOPIC: "offsets.topic",
    TRANSACTIONS_TOPIC: "transaction.state.log",
    SHARE_TOPIC: "share.coordinator.state.topic",
}


def settings(
    node: Node, place: Path, topics: list[RevivedTopic], *, is_dynamic: bool, has_acls: bool, has_shares: bool
) -> dict[str, str]:
    """All but those of `OFF`. `has_acls`: rights are checked again. `has_shares`: the target knows share groups."""
    controller = f"{node.host}:{node.port + 1}"
    values = {
        "process.roles": "broker,controller",
        "node.id": str(node.number),
        "listeners": f"PLAINTEXT://{node.host}:{node.port},CONTROLLER://{controller}",
        "advertised.listeners": f"PLAINTEXT://{node.host}:{node.port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(place),
        "auto.create.topics.enable": "false",
    }
    if node.rack is not None:
        values["broker.rack"] = node.rack
    if is_dynamic:
        values["controller.quorum.bootstrap.servers"] = controller
    else:
        values["controller.quorum.voters"] = f"{node.number}@{controller}"
    counts = {each.name: len(each.partitions) for each in topics}
    for topic, prefix in _PARTITIONS.items():
        if topic == SHARE_TOPIC and not has_shares:
            continue
        values[f"{prefix}.replication.factor"] = "1"
        values[f"{prefix}.min.isr"] = "1"
        if topic in counts:
            values[f"{prefix}.num.partitions"] = str(counts[topic])
    del values["offsets.topic.min.isr"]  # there is no such setting
    if has_acls:
        values["authorizer.class.name"] = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
        values["super.users"] = "User:ANONYMOUS"
    return values


def thread_counts(configs: Iterable[Config]) -> dict[str, str]:
    """The numbers of threads that brokers were given while they ran. The new node begins with them. If a count is less
    than half or more than twice the present one, the node refuses all of them with an ERROR. Source:
    DynamicThreadPool."""
    counts = sorted((each.resource, each.name, each.value) for each in configs if each.kind == BROKER_RESOURCE)
    return {name: value for _, name, value in counts if _THREADS.fullmatch(name) and _COUNT.fullmatch(value)}


def second_settings(values: Mapping[str, str], node: Node, place: Path) -> dict[str, str]:
    """The settings of a further broker, from those of the revived node. It keeps its logs beside `place`."""
    number = node.number + 1 if node.number < LARGEST_NODE else node.number - 1
    port = node.port + 2 if node.port + 2 <= _LARGEST_PORT else node.port - 1
    listener = f"PLAINTEXT://{node.host}:{port}"
    own = {
        "process.roles": "broker",
        "node.id": str(number),
        "listeners": listener,
        "advertised.listeners": listener,
        "log.dirs": f"{place}-second",
    }
    return {name: value for name, value in {**values, **own}.items() if name != "broker.rack"}


def second_properties(values: Mapping[str, str], cluster_id: str) -> bytes:
    """The file of a further broker, with the command that has to run before it starts."""
    about = [
        _ABOUT,
        "# A further broker of the same cluster. Another machine needs another host in the listeners; a third broker a",
        "# node.id, listeners and log.dirs of its own. Before its first start:",
        f"# kafka-storage.sh format --cluster-id {shlex.quote(cluster_id)} --config {SECOND_PROPERTIES}",
    ]
    return _file(about, values)


def server_properties(values: Mapping[str, str]) -> bytes:
    """The file: first what must stay, then what is to be switched on again."""
    return _file([_ABOUT], values)


def _file(about: Iterable[str], values: Mapping[str, str]) -> bytes:
    lines = [*about, ""]
    lines += [f"{name}={_escaped(value)}" for name, value in values.items()]
    lines += ["", "# Off at first, so that nothing is lost while you look. Take out a line to switch it on again.", ""]
    for name, (value, effect) in OFF.items():
        lines += [f"# {effect}", f"{name}={value}"]
    return ("\n".join(lines) + "\n").encode("ascii")


def _escaped(value: str) -> str:
    """The value as java.util.Properties reads it: in Latin-1, with backslashes for all other characters."""
    units = value.replace("\\", "\\\\").encode("utf-16-be", "surrogatepass")
    pairs = (units[at] << 8 | units[at + 1] for at in range(0, len(units), 2))
    return "".join(chr(unit) if 0x20 <= unit < 0x7F else f"\\u{unit:04x}" for unit in pairs)


def meta_properties(cluster_id: str, node: Node) -> bytes:
    """The cluster and the node of the directory. Without it a broker does not start."""
    lines = (
        "version=1",
        f"cluster.id={_escaped(cluster_id)}",
        f"node.id={node.number}",
        f"directory.id={node.directory_id}",
    )
    return "".join(f"{line}\n" for line in lines).encode()


def clean_shutdown() -> bytes:
    """The file that a broker leaves behind after an orderly stop: the epoch of its registration."""
    return json.dumps({"version": 0, "brokerEpoch": BROKER_EPOCH}, separators=(",", ":")).encode()


def token_key() -> bytes:
    """Lines of `server.properties` for the key that delegation tokens need, which no disk has."""
    return (
        "\n# Delegation tokens are here, and the key that they were made with is not. Without it nobody gets in, and"
        f"\n# each change of the metadata logs an error. Put the old key in, and take the # away.\n#{TOKEN_KEY}=\n"
    ).encode("ascii")
