"""Logs of Kafka's own topics, made by Kafka's own classes out of random messages, and what its tool prints of them.

Every type and version of record is in there, whole and broken. No broker is needed (about five seconds, once).
"""

import json
import random
from base64 import b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kafkafs.format.messages.schema import Field, MessageSchema, names_by_number, schema
from kafkafs.format.messages.topic_records import InternalTopic
from tests.kafka import cache, jars

PROGRAM = Path(__file__).parents[1] / "kafka/java/InternalRecords.java"
LOG = "00000000000000000000.log"
FLAGS = {
    InternalTopic.OFFSETS: "--offsets-decoder",
    InternalTopic.TRANSACTIONS: "--transaction-log-decoder",
    InternalTopic.CLUSTER_METADATA: "--cluster-metadata-decoder",
    InternalTopic.REMOTE_LOG_METADATA: "--remote-log-metadata-decoder",
    InternalTopic.SHARE_STATE: "--share-group-state-decoder",
}
EACH = 12
"""Random messages of each version."""

_TEXTS = ("", "a", "orders", "é\u2028\x7f\x80", '"\\/\b\f\n\r\t\x00\x1f', "\U0001f600", "x" * 200, "consumer")
_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_DOUBLES = (0.0, -0.0, 3e-5, 1.0, 1e10, 1e-5, 0.001, 9999999.0, 1e7, 123456.789, 1.7976931348623157e308, 5e-324)


def made() -> Path:
    """In it: `<jar>-0/` with a log, and `<jar>.txt` with the tool's output, for each topic's jar."""
    chance = random.Random(20)
    tables = {
        f"{topic.value}.tsv": "\n".join([FLAGS[topic], *("\t".join(line) for line in _lines(topic, chance))]).encode()
        for topic in InternalTopic
    }

    def make(place: Path) -> None:
        for name, table in tables.items():
            (place / name).write_bytes(table)
        jars.run(jars.NEWEST, PROGRAM, str(place))
        for topic in InternalTopic:
            text = place / f"{topic.value}.txt"
            text.write_bytes(text.read_bytes().replace(f"{place}/".encode(), b""))

    return cache.once_of("internal-records", (jars.NEWEST.encode(), PROGRAM.read_bytes(), *tables.values()), make)


def _lines(topic: InternalTopic, chance: random.Random) -> Iterator[Sequence[str]]:
    jar = topic.value
    for name in names_by_number(jar, "Key").values():
        value = schema(jar, name.removesuffix("Key") + "Value")
        for version in range(value.versions.lowest, value.versions.highest + 1):
            for _ in range(EACH):
                key = _message(schema(jar, name), 0, chance)
                yield name, key, value.name, str(version), _message(value, version, chance)
        yield name, _message(schema(jar, name), 0, chance), "-", "-", "-"
    for name in names_by_number(jar, "Record").values():
        record = schema(jar, name)
        for version in range(record.versions.lowest, record.versions.highest + 1):
            for _ in range(EACH):
                yield "-", "-", name, str(version), _message(record, version, chance)


def _message(found: MessageSchema, version: int, chance: random.Random) -> str:
    return json.dumps(_fields(found, found.fields, version, chance))


def _fields(found: MessageSchema, fields: Sequence[Field], version: int, chance: random.Random) -> dict[str, Any]:
    return {
        field.name: _value(found, field, version, chance)
        for field in fields
        if version in field.versions and not (version in field.tagged and chance.random() < 0.4)
    }


def _value(found: MessageSchema, field: Field, version: int, chance: random.Random) -> Any:
    if version in field.nullable and chance.random() < 0.3:
        return None
    if field.type.startswith("[]"):
        return [_single(found, field.type[2:], field.name, version, chance) for _ in range(chance.choice((0, 1, 1, 3)))]
    return _single(found, field.type, field.name, version, chance)


def _single(found: MessageSchema, kind: str, name: str, version: int, chance: random.Random) -> Any:
    if kind in found.structures:
        return _fields(found, found.structures[kind], version, chance)
    match kind:
        case "string":
            return "consumer" if name == "protocolType" and chance.random() < 0.7 else chance.choice(_TEXTS)
        case "uuid":
            return _uuid(chance)
        case "bool":
            return chance.random() < 0.5
        case "float64":
            return chance.choice((*_DOUBLES, chance.uniform(-1e9, 1e9)))
        case "bytes":
            return _protocol(name, chance) if name in ("subscription", "assignment") else _bytes(chance)
        case "uint16":
            return chance.choice((0, 9092, 65535))
        case _ if name.endswith("State"):
            return chance.choice((0, 1, 2, 3, 4, -1))
        case _:
            half = 1 << (_BITS[kind] - 1)
            return chance.choice((0, 1, 5, 100, -1, half - 1, -half, chance.randrange(-half, half)))


def _bytes(chance: random.Random) -> str:
    return b64encode(chance.randbytes(chance.choice((0, 1, 5, 40)))).decode()


def _uuid(chance: random.Random) -> str:
    raw = bytes(15) + b"\1" if chance.random() < 0.3 else chance.randbytes(16)
    return b64encode(raw, altchars=b"-_").decode().rstrip("=")


def _protocol(name: str, chance: random.Random) -> Any:
    """A consumer's subscription or assignment, sometimes of bytes that are none."""
    if chance.random() < 0.2:
        return _bytes(chance)
    protocol = schema("clients", f"ConsumerProtocol{name.capitalize()}")
    version = chance.randrange(protocol.versions.lowest, protocol.versions.highest + 1)
    data = _fields(protocol, protocol.fields, version, chance)
    return {"schema": protocol.name, "version": version, "data": data}
