"""What may be fed any bytes at all: each target may return or raise one of kafkafs' own errors, nothing else."""

import base64
import json
import os
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

from kafkafs.dump.internal_records import record_decoder
from kafkafs.dump.text_log import control_text
from kafkafs.errors import KafkafsError
from kafkafs.format import codecs
from kafkafs.format.batch import crc_holds, parse_batch, walk
from kafkafs.format.checkpoints import parse_leader_epochs, parse_offset_checkpoint, parse_partition_metadata
from kafkafs.format.control import ControlType, control_type, coordinator_epoch
from kafkafs.format.index import OffsetIndex, TimeIndex
from kafkafs.format.jsonl import JsonLines
from kafkafs.format.kernels import crc32c
from kafkafs.format.messages.message_json import decoded_json, jackson_string
from kafkafs.format.messages.topic_records import TOPICS
from kafkafs.format.names import parse_partition_name, parse_segment_file, parse_transitional_file
from kafkafs.format.producer_snapshot import parse_producer_snapshot
from kafkafs.format.records import Refusal, decode
from kafkafs.format.schemas.avro_typed import ColumnSchema
from kafkafs.format.schemas.decoders import make_decoder
from kafkafs.format.transaction_index import parse_transaction_index
from kafkafs.log.read_options import ReadOptions
from kafkafs.view import made
from kafkafs.view.grammar import parse_offset_name, parse_time_name
from kafkafs.view.tree import Root
from tests.cluster.writing import batch
from tests.format.batch_maker import v2_around
from tests.format.decoded import shown
from tests.kafka.registered import EVERY_TYPE

LIMIT = 1 << 20
_MOST_RECORDS = 64
EVERY_AVRO = json.dumps(EVERY_TYPE)
EVERY_PROTO = """syntax = "proto3"; import "google/protobuf/struct.proto"; import "google/protobuf/any.proto";
import "google/protobuf/timestamp.proto"; import "google/protobuf/duration.proto";
message A { double a = 1; sint64 b = 2; string c = 3; bytes d = 4; A e = 5; repeated A f = 6; map<string, A> g = 7;
  google.protobuf.Struct h = 8; google.protobuf.Any i = 9; google.protobuf.Timestamp j = 10; E k = 11; bool l = 12;
  google.protobuf.Duration m = 13; repeated fixed32 n = 14; oneof o { float p = 15; uint64 q = 16; } }
message B { A a = 1; message C { B b = 1; } }
enum E { Z = 0; Y = 1; }
"""
KRAFT = [kind for kind in ControlType if kind >= ControlType.LEADER_CHANGE]


def batches(data: bytes) -> None:
    """Batches with whatever checksum they have, and all of their records as JSON."""
    header = parse_batch(data, 0, 0)
    if header is not None:
        crc_holds(header, data[: header.size])
    _render(data, verify=False)


def records(data: bytes) -> None:
    """Records behind a header with a true checksum, which says what the first bytes want."""
    if len(data) >= 4:
        count = int.from_bytes(data[1:4], "big", signed=True)
        _render(v2_around(data[4:], count, 0, abs(count), attributes=data[0] & 0x7F), verify=True)


def packed(data: bytes) -> None:
    """Each codec, unpacked into a bounded buffer."""
    if len(data) >= 2:
        codecs.decompress(1 + data[0] % 4, data[1] % 3, data[2:], LIMIT)


def indexes(data: bytes) -> None:
    """Index files: every question they are asked."""
    for kind in (OffsetIndex, TimeIndex):
        index = kind(lambda position, size: data[position : position + size], len(data), 100)
        index.is_sound()
        for number in (0, 100, 200, int.from_bytes(data[:8], "big", signed=True)):
            index.lookup(number)
    parse_transaction_index(data, 0)


def small_files(data: bytes) -> None:
    """Checkpoints, snapshots, metadata, control records."""
    for parse in (parse_offset_checkpoint, parse_leader_epochs, parse_partition_metadata, parse_producer_snapshot):
        _or_refused(parse, data)
    control_type(data)
    coordinator_epoch(data)
    for kind in KRAFT:
        _or_refused(partial(control_text, struct.pack(">hh", 0, kind)), data)
    _or_refused(parse_producer_snapshot, b"\0\1" + crc32c(data[6:]).to_bytes(4, "big") + data[6:])


def messages(data: bytes) -> None:
    """Records of Kafka's own topics: a key of as many bytes as the first says, and a value, for each topic."""
    if not data:
        return
    key, value = data[1 : 1 + data[0]], data[1 + data[0] :]
    for name, topic in TOPICS.items():
        pairs: list[tuple[bytes | None, bytes | None]] = [(key, value), (None, value), (key, None)]
        for one, other in pairs:
            decoded = decoded_json(topic, one, other, jackson_string)
            for text in (decoded.key, decoded.value):
                if text is not None:
                    json.loads(text)
            with suppress(KafkafsError):
                record_decoder(name)(0, one, other)


def schema_texts(data: bytes) -> None:
    """A schema of each type, as text, and for columns; and a payload after it, behind a byte 0."""
    text, _, payload = data.partition(b"\0")
    for kind in ("AVRO", "PROTOBUF", "JSON"):
        make_decoder(kind, text.decode("utf-8", "surrogateescape"))
        _decoded(kind, text.decode("utf-8", "replace"), payload)
    _or_refused(lambda words: ColumnSchema(words.decode("utf-8", "replace")).program(EVERY_AVRO), text)


def avro_payloads(data: bytes) -> None:
    """Payloads of a schema with every type: as lines, and resolved for columns."""
    _decoded("AVRO", EVERY_AVRO, data)


def protobuf_payloads(data: bytes) -> None:
    """Payloads of messages with every type, message indexes first."""
    _decoded("PROTOBUF", EVERY_PROTO, data)


def json_payloads(data: bytes) -> None:
    """Payloads of a JSON schema, and plain values."""
    _decoded("JSON", "{}", data)


def _decoded(kind: str, schema: str, payload: bytes) -> None:
    """The line has to be JSON, and where the payload did not fit it has to hold all of it."""
    (line,) = shown(kind, schema, payload)
    if "valueError" in line and "value" in line and isinstance(line["value"], str):
        assert line["value"].encode() == b"\0\0\0\0\1" + payload
    elif "valueBase64" in line:
        assert base64.b64decode(line["valueBase64"]) == b"\0\0\0\0\1" + payload


def names(data: bytes) -> None:
    """Names of files, and of queries."""
    name = os.fsdecode(data)
    parse_partition_name(name)
    parse_segment_file(name)
    parse_transitional_file(name)
    parse_offset_name(name)
    parse_time_name(name, 1_700_000_000_000)


class _Directory:
    """A data directory whose partitions' files are rewritten for each input."""

    def __init__(self, *partitions: str) -> None:
        self.data = Path(tempfile.mkdtemp(prefix="kafkafs-fuzz-", dir="/dev/shm"))
        (self.data / "meta.properties").write_text("version=1\n")
        for name in partitions:
            (self.data / name).mkdir()
        self.partition = self.data / partitions[0]


_directories: list[_Directory] = []
made.ANSWERS = 1 << 16  # each input has roots of its own, which an answer that is remembered keeps alive


def partition(data: bytes) -> None:
    """All views of a partition whose log, indexes and checkpoint are the input."""
    if not _directories:
        _directories.append(_Directory("t-0"))
    place = _directories[0]
    cut = len(data) * 2 // 3
    for kind, part in (("log", data[:cut]), ("index", data[cut:]), ("timeindex", data[cut:]), ("txnindex", data[cut:])):
        (place.partition / f"{0:020d}.{kind}").write_bytes(part)
    (place.partition / "leader-epoch-checkpoint").write_bytes(data[cut:])
    for options in (ReadOptions(), ReadOptions(isolation="read_committed", corrupt_skip=True, max_batch=LIMIT)):
        root = Root([place.data], options)
        views = [("by-offset", name) for name in ("0..", "0...jsonl", "0...batches.jsonl", "5", "5.value", "5.explain")]
        views += [("by-time", name) for name in ("0...jsonl", "7.jsonl", "7")]
        views += [("segments", f"{0:020d}.{kind}.txt") for kind in ("log", "index", "timeindex", "txnindex")]
        for directory, name in views:
            _or_refused(partial(_read, root, directory), name)
        top: Any = root.child("t-0")
        json.loads(bytes(top.child("info.json").open().read(0, LIMIT)))


_clusters: list[_Directory] = []
_INTERNAL = ("__consumer_offsets-0", "__transaction_state-0", "__cluster_metadata-0")


def cluster(data: bytes) -> None:
    """All of `.cluster/`, where the input is the log of each internal partition and the metadata's snapshot.

    Checksums are made true and producer ids small, so that records are looked at, and transactions meet their markers.
    """
    if not _clusters:
        _clusters.append(_Directory(*_INTERNAL))
    place = _clusters[0].data
    log = b"".join(_as_batches(data))
    for name in _INTERNAL:
        (place / name / f"{0:020d}.log").write_bytes(log)
    (place / _INTERNAL[-1] / f"{1:020d}-{0:010d}.checkpoint").write_bytes(log)
    root = Root([place], ReadOptions(max_batch=LIMIT))
    waiting: list[Any] = [root.child(".cluster")]
    while waiting:
        node = waiting.pop()
        for entry in node.entries():
            found = node.child(entry.name)
            found.attributes()
            if entry.kind == "directory":
                waiting.append(found)
            elif entry.kind == "symlink":
                found.target()
            else:
                with closing(found.open()) as content:
                    for line in _whole(content).splitlines():
                        json.loads(line)


def _as_batches(data: bytes) -> Iterator[bytes]:
    """Batches of a record each: a byte of flags, the size of the key, the size of the value, and both of them."""
    at = offset = 0
    while at + 3 <= len(data) and offset < _MOST_RECORDS:
        flags, key_size, value_size = data[at : at + 3]
        key, value = data[at + 3 : at + 3 + key_size], data[at + 3 + key_size : at + 3 + key_size + value_size]
        pair = (key if flags & 4 else None, value if flags & 8 else None)
        producer = flags >> 6 if flags & 1 else -1
        yield batch([pair], offset, producer_id=producer, is_control=bool(flags & 2))
        at, offset = at + 3 + key_size + value_size, offset + 1


def _whole(content: Any) -> bytes:
    made = b""
    while got := content.read(len(made), 1 << 17):
        made += bytes(got)
    return made


def _read(root: Root, directory: str, name: str) -> None:
    top: Any = root.child("t-0")
    node = top.child(directory).child(name)
    node.attributes()
    with closing(node.open()) as content:
        offset = 0
        while offset < LIMIT and (got := content.read(offset, 1 << 17)):
            offset += len(got)


def _or_refused(parse: Callable[[Any], object], data: Any) -> None:
    with suppress(KafkafsError):
        parse(data)


def _render(data: bytes, verify: bool) -> None:
    lines = JsonLines("t", 0)
    for piece in decode(data, 0, walk(data, 0, verify=verify).rows, LIMIT):
        if not isinstance(piece, Refusal):
            for text in lines.pieces(piece):
                json.loads(b"[" + bytes(text).rstrip(b"\n").replace(b"\n", b",") + b"]")


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (
        batches, records, packed, indexes, small_files, messages, names, partition, cluster, schema_texts,
        avro_payloads, protobuf_payloads, json_payloads,
    )
}  # fmt: skip
