"""Records of Kafka's own topics as bytes, and partitions made of them: for what no broker can be made to write.

    data = Data(tmp_path)
    data.write("__consumer_offsets-0", [commit("g", "t", 0, 5)], producer_id=7)
    data.write("__consumer_offsets-0", [marker()], producer_id=7, is_control=True)

Slow and obvious; a schema is written as Kafka's generator would. Source: MessageDataGenerator.
"""

import base64
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kafkafs.format.messages.message_values import NUMBERS
from kafkafs.format.messages.reading import default
from kafkafs.format.messages.schema import NO_VERSIONS, Field, MessageSchema, names_by_number, schema
from tests.format.batch_maker import sized, unsigned, v2_around, varint

Pair = tuple[bytes | None, bytes | None]
TRANSACTIONAL, CONTROL = 16, 32


def message(jar: str, name: str, version: int, /, **fields: Any) -> bytes:
    """The message's bytes; a field that is not given has its default."""
    return _structure(schema(jar, name), schema(jar, name).fields, version, fields)


def pair(name: str, key: Mapping[str, Any], value: Mapping[str, Any] | None, version: int = 0) -> Pair:
    """Key and value of a record of `__consumer_offsets`, by the name of its type; without a value a tombstone."""
    return coordinator_record("group-coordinator", name, key, value, version)


def commit(group: str, topic: str, partition: int, offset: int | None, version: int = 4) -> Pair:
    """A committed offset; None is its tombstone."""
    value = None if offset is None else {"offset": offset, "commitTimestamp": 1000}
    return pair("OffsetCommit", {"group": group, "topic": topic, "partition": partition}, value, version)


def transaction(name: str, /, **value: Any) -> Pair:
    """A record of `__transaction_state`."""
    return coordinator_record("transaction-coordinator", "TransactionLog", {"transactionalId": name}, value, 1)


def metadata(record: str, version: int = 0, /, **fields: Any) -> Pair:
    """A record of `__cluster_metadata`."""
    return framed_record("metadata", record, version, fields)


def framed_record(jar: str, name: str, version: int, fields: Mapping[str, Any]) -> Pair:
    """A record of a topic without keys, by the jar that has its schemas."""
    number = next(number for number, each in names_by_number(jar, "Record").items() if each == name)
    return None, b"\1" + unsigned(number) + unsigned(version) + message(jar, name, version, **fields)


def coordinator_record(
    jar: str, name: str, key: Mapping[str, Any], value: Mapping[str, Any] | None, version: int
) -> Pair:
    """A record of a coordinator's topic, by the jar that has its schemas."""
    number = schema(jar, f"{name}Key").number
    made = None if value is None else struct.pack(">h", version) + message(jar, f"{name}Value", version, **value)
    return struct.pack(">h", number) + message(jar, f"{name}Key", 0, **key), made


def marker(commits: bool = True) -> Pair:
    """The end of a transaction."""
    return struct.pack(">hh", 0, commits), struct.pack(">hi", 0, 0)


def snapshot(*pairs: Pair, last_ms: int = 1000) -> bytes:
    """A whole snapshot of the metadata: header, records, footer. `last_ms`: the time of the last record below it."""
    head = struct.pack(">hh", 0, 3), message("clients", "SnapshotHeaderRecord", 0, lastContainedLogTimestamp=last_ms)
    foot = struct.pack(">hh", 0, 4), message("clients", "SnapshotFooterRecord", 0)
    made = batch([head], 0, is_control=True) + (batch(pairs, 1) if pairs else b"")
    return made + batch([foot], 1 + len(pairs), is_control=True)


def batch(
    pairs: Sequence[Pair], base: int, *, producer_id: int = -1, is_control: bool = False, timestamp: int = 1000,
    epoch: int = 0,
) -> bytes:  # fmt: skip
    """A batch of format v2, in a transaction if it has a producer."""
    records = b"".join(_record(number, *each) for number, each in enumerate(pairs))
    attributes = (TRANSACTIONAL if producer_id >= 0 else 0) | (CONTROL if is_control else 0)
    last = len(pairs) - 1
    header = (attributes, last, timestamp, timestamp, producer_id, 0 if producer_id >= 0 else -1, -1, len(pairs))
    return v2_around(records, len(pairs), base, header=header, epoch=epoch)


class Data:
    """A data directory that grows by batches."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        (path / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=uBxTSvaETEx3i2U_wtBtcQ\n")
        self._ends: dict[str, int] = {}

    def write(self, partition: str, pairs: Sequence[Pair], *, at: int | None = None, **options: Any) -> int:
        """One more batch at the end, or at offset `at`: its base offset. The first one's is the log's."""
        base = self._ends.get(partition, 0) if at is None else at
        place = self.path / partition
        place.mkdir(exist_ok=True)
        with open(min(place.glob("*.log"), default=place / f"{base:020}.log"), "ab") as log:
            log.write(batch(pairs, base, **options))
        self._ends[partition] = base + len(pairs)
        return base

    def write_snapshot(self, offset: int, content: bytes) -> None:
        """A snapshot of the metadata up to that offset."""
        place = self.path / "__cluster_metadata-0"
        place.mkdir(exist_ok=True)
        (place / f"{offset:020}-0000000003.checkpoint").write_bytes(content)


def _record(number: int, key: bytes | None, value: bytes | None) -> bytes:
    body = b"\0\0" + varint(number) + sized(key) + sized(value) + b"\0"
    return varint(len(body)) + body


def _structure(found: MessageSchema, fields: Sequence[Field], version: int, given: Mapping[str, Any]) -> bytes:
    made, tagged = b"", list[tuple[int, bytes]]()
    for field in fields:
        if version not in field.versions:
            continue
        value = given.get(field.name, default(found, field, version))
        if version not in field.tagged:
            made += _value(found, field, field.type, version, value)
        elif field.name in given:
            tagged.append((field.tag, _value(found, field, field.type, version, value, is_tagged=True)))
    if version not in found.flexible:
        return made
    behind = (unsigned(tag) + unsigned(len(each)) + each for tag, each in sorted(tagged))
    return made + unsigned(len(tagged)) + b"".join(behind)


def _value(found: MessageSchema, field: Field, kind: str, version: int, value: Any, is_tagged: bool = False) -> bytes:
    if kind in NUMBERS:
        return struct.pack(f">{NUMBERS[kind]}", value)
    if kind == "uuid":
        return base64.urlsafe_b64decode(f"{value}==")
    if kind in found.structures:
        there = b""
        if version in field.nullable:
            there = b"\1" if value is not None else b"\0" if is_tagged else b"\xff"
        return there if value is None else there + _structure(found, found.structures[kind], version, value)
    is_compact = version in (found.flexible if field.flexible is None else field.flexible)
    if kind.startswith("[]"):
        one = replace(field, nullable=NO_VERSIONS)
        made = None if value is None else [_value(found, one, kind[2:], version, each) for each in value]
        return _length(">i", is_compact, None if made is None else len(made)) + b"".join(made or ())
    data = value.encode() if isinstance(value, str) else value
    layout = ">h" if kind == "string" else ">i"
    return _length(layout, is_compact, None if data is None else len(data)) + (data or b"")


def _length(layout: str, is_compact: bool, length: int | None) -> bytes:
    if is_compact:
        return unsigned(0 if length is None else length + 1)
    return struct.pack(layout, -1 if length is None else length)
