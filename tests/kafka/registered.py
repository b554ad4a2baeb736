"""A registry's topic and topics whose records name its schemas, written by a real broker: `data()` is the directory.

The registry itself is not to be had as a package; its records are as its sources have them. Payloads are made by
fastavro and by protobuf, in the wire format of Confluent's serializers. Each `Case` tells what a decoded line shows.
"""

import base64
import datetime
import functools
import hashlib
import io
import json
import struct
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

from tests.kafka import broker as node
from tests.kafka import cache
from tests.kafka.generate import copy
from tests.kafka.writer import Record, Topic, Writer, create

RELEASE = "4.3.1"

ADDRESS = {"type": "record", "name": "Address", "namespace": "com.acme", "fields": [{"name": "city", "type": "string"}]}
EVERY_TYPE = {
    "type": "record",
    "name": "Every",
    "namespace": "com.acme",
    "fields": [
        {"name": "nothing", "type": "null"},
        {"name": "flag", "type": "boolean"},
        {"name": "small", "type": "int"},
        {"name": "large", "type": "long"},
        {"name": "single", "type": "float"},
        {"name": "double", "type": "double"},
        {"name": "raw", "type": "bytes"},
        {"name": "text", "type": "string"},
        {"name": "fixed", "type": {"type": "fixed", "name": "Three", "size": 3}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["NEW", "OLD"]}},
        {"name": "list", "type": {"type": "array", "items": ["null", "long", "Kind"]}},
        {"name": "map", "type": {"type": "map", "values": {"type": "array", "items": "double"}}},
        {"name": "next", "type": ["null", "Every"], "default": None},
        {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 40, "scale": 3}},
        {
            "name": "fixed_amount",
            "type": {"type": "fixed", "name": "F", "size": 6, "logicalType": "decimal", "precision": 10, "scale": 2},
        },
        {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "millis", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "micros", "type": {"type": "long", "logicalType": "time-micros"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "at_micros", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-millis"}},
        {"name": "local_micros", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
        {"name": "odd", "type": {"type": "int", "logicalType": "no-such-type"}},
    ],
}
USER = {"type": "record", "name": "User", "namespace": "com.acme", "fields": [
    {"name": "name", "type": "string"}, {"name": "home", "type": "Address"},
    {"name": "work", "type": "com.acme.Address"},
]}  # fmt: skip
ORDER_1 = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
ORDER_2 = {"type": "record", "name": "Order", "fields": [
    {"name": "id", "type": "long"}, {"name": "note", "type": "string", "default": "-"},
]}  # fmt: skip
MONEY_PROTO = 'syntax = "proto3";\npackage acme;\nmessage Money { string currency = 1; int64 units = 2; }\n'
ORDER_PROTO = """syntax = "proto3";
package acme;
import "money.proto";
import "google/protobuf/timestamp.proto";

message Envelope { string trace = 1; }
message PaidOrder {  // the second message, and one inside it
  int32 order_id = 1;
  Money total_price = 2;
  repeated string tags = 3;
  map<string, int64> counts = 4;
  oneof how { string card = 5; bytes token = 6; }
  State state = 7;
  google.protobuf.Timestamp paid_at = 8;
  double rate = 9;
  optional bool gift = 10;
  message Line { uint64 sku = 1; }
  repeated Line lines = 11;
  enum State { UNKNOWN = 0; PAID = 1; }
}
"""


def registered(subject: str, version: int, number: int, schema: str, **more: Any) -> tuple[bytes, bytes]:
    """Key and value of a schema's record."""
    key = {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}
    value = {"subject": subject, "version": version, "id": number, **more, "schema": schema, "deleted": False}
    return json.dumps(key).encode(), json.dumps(value | more).encode()


def md5(schema: str) -> str:
    """The checksum that newer registries note."""
    return base64.b64encode(hashlib.md5(schema.encode()).digest()).decode()


REGISTRY: list[tuple[bytes, bytes | None]] = [
    (b'{"keytype":"NOOP","magic":0}', None),
    registered("every-value", 1, 1, json.dumps(EVERY_TYPE), md5=md5(json.dumps(EVERY_TYPE))),
    registered("address", 1, 2, json.dumps(ADDRESS)),
    registered("users-value", 1, 3, json.dumps(USER), references=[
        {"name": "com.acme.Address", "subject": "address", "version": 1}]),
    registered("orders-value", 1, 4, json.dumps(ORDER_1)),
    registered("orders-value", 2, 5, json.dumps(ORDER_2)),
    registered("alias", 1, 4, json.dumps(ORDER_1)),
    registered("orders-key", 1, 6, '"long"'),
    registered("raw-value", 1, 7, '"bytes"'),
    registered("documents-value", 1, 8, '{"type":"object"}', schemaType="JSON"),
    registered("money", 1, 9, MONEY_PROTO, schemaType="PROTOBUF"),
    registered("paid-value", 1, 10, ORDER_PROTO, schemaType="PROTOBUF", references=[
        {"name": "money.proto", "subject": "money", "version": 1}]),
    registered("gone-value", 1, 11, '"string"'),
    (b'{"keytype":"DELETE_SUBJECT","subject":"gone-value","magic":0}', b'{"subject":"gone-value","version":1}'),
    registered("removed-value", 1, 12, '"string"'),
    (b'{"keytype":"SCHEMA","subject":"removed-value","version":1,"magic":1}', None),
    registered(":.tenant:orders-value", 1, 1, '"string"'),
    registered(":.tenant:tenants-value", 1, 20, '"string"'),
    (b'{"magic":1,"version":1,"subject":"karapace-value","keytype":"SCHEMA"}',
     json.dumps({"deleted": False, "id": 21, "schema": '"int"', "subject": "karapace-value", "version": 1}).encode()),
    (b'{"keytype":"CONFIG","subject":null,"magic":0}', b'{"compatibilityLevel":"NONE"}'),
    (b"no json", b"at all"),
]  # fmt: skip


def avro(schema: Any, datum: Any, *named: Any) -> bytes:
    """The datum by fastavro; `named` are schemas that it refers to."""
    names: dict[str, Any] = {}
    for one in named:
        fastavro.parse_schema(one, named_schemas=names)
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema, named_schemas=names), datum)
    return out.getvalue()


def prefix(number: int) -> bytes:
    """What stands before a payload in the wire format."""
    return b"\0" + number.to_bytes(4)


@functools.cache
def messages() -> dict[str, Any]:
    """Protobuf's classes of ORDER_PROTO, from descriptors that are made by hand."""
    kinds = descriptor_pb2.FieldDescriptorProto
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    money = descriptor_pb2.FileDescriptorProto(name="money.proto", package="acme", syntax="proto3")
    message = money.message_type.add(name="Money")
    message.field.add(name="currency", number=1, type=kinds.TYPE_STRING, label=1)
    message.field.add(name="units", number=2, type=kinds.TYPE_INT64, label=1)
    pool.Add(money)
    file = descriptor_pb2.FileDescriptorProto(name="order.proto", package="acme", syntax="proto3")
    file.dependency.extend(["money.proto", "google/protobuf/timestamp.proto"])
    file.message_type.add(name="Envelope").field.add(name="trace", number=1, type=kinds.TYPE_STRING, label=1)
    paid = file.message_type.add(name="PaidOrder")
    paid.field.add(name="order_id", number=1, type=kinds.TYPE_INT32, label=1)
    paid.field.add(name="total_price", number=2, type=kinds.TYPE_MESSAGE, type_name=".acme.Money", label=1)
    paid.field.add(name="tags", number=3, type=kinds.TYPE_STRING, label=3)
    entry = paid.nested_type.add(name="CountsEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=kinds.TYPE_STRING, label=1)
    entry.field.add(name="value", number=2, type=kinds.TYPE_INT64, label=1)
    paid.field.add(name="counts", number=4, type=kinds.TYPE_MESSAGE, type_name=".acme.PaidOrder.CountsEntry", label=3)
    paid.oneof_decl.add(name="how")
    paid.field.add(name="card", number=5, type=kinds.TYPE_STRING, label=1, oneof_index=0)
    paid.field.add(name="token", number=6, type=kinds.TYPE_BYTES, label=1, oneof_index=0)
    state = paid.enum_type.add(name="State")
    state.value.add(name="UNKNOWN", number=0)
    state.value.add(name="PAID", number=1)
    paid.field.add(name="state", number=7, type=kinds.TYPE_ENUM, type_name=".acme.PaidOrder.State", label=1)
    paid.field.add(name="paid_at", number=8, type=kinds.TYPE_MESSAGE, type_name=".google.protobuf.Timestamp", label=1)
    paid.field.add(name="rate", number=9, type=kinds.TYPE_DOUBLE, label=1)
    paid.oneof_decl.add(name="_gift")
    paid.field.add(name="gift", number=10, type=kinds.TYPE_BOOL, label=1, oneof_index=1, proto3_optional=True)
    paid.nested_type.add(name="Line").field.add(name="sku", number=1, type=kinds.TYPE_UINT64, label=1)
    paid.field.add(name="lines", number=11, type=kinds.TYPE_MESSAGE, type_name=".acme.PaidOrder.Line", label=3)
    pool.Add(file)
    return message_factory.GetMessageClassesForFiles(["order.proto"], pool)


@dataclass(frozen=True)
class Case:
    """A record, and the fields of its decoded line between `timestampType` and `headers`, in order."""

    topic: str
    value: bytes | None
    shown: dict[str, Any]
    key: bytes | None = None
    headers: list[tuple[str, bytes | None]] = field(default_factory=list)


def about(number: int, subject: str, version: int = 1, kind: str = "AVRO") -> dict[str, Any]:
    """What a line tells of a schema."""
    return {"id": number, "subject": subject, "version": version, "type": kind}


def _every() -> tuple[dict[str, Any], dict[str, Any]]:
    """A datum of EVERY_TYPE, and what it is as JSON."""
    zone = datetime.UTC
    id_ = uuid.UUID(int=7)
    moment = datetime.datetime(2024, 2, 29, 12, 30, 1, 250_000)
    datum = {
        "nothing": None, "flag": True, "small": -(2**31), "large": 2**63 - 1, "single": 0.1, "double": 1e-7,
        "raw": b"\0\xff\1", "text": 'é"\\\n\x85', "fixed": b"abc", "kind": "OLD", "list": [None, -5, "NEW"],
        "map": {"a": [1.0, float("nan"), float("-inf")], "": []}, "next": None,
        "amount": Decimal("-12345678901234567890.001"), "fixed_amount": Decimal("0.05"), "id": id_,
        "day": datetime.date(1969, 12, 31), "millis": datetime.time(23, 59, 59, 999_000),
        "micros": datetime.time(0, 0, 0, 1),
        "at": moment.replace(tzinfo=zone), "at_micros": moment.replace(tzinfo=zone),
        "local": moment, "local_micros": moment, "odd": 42,
    }  # fmt: skip
    shown = {
        "nothing": None, "flag": True, "small": -(2**31), "large": 2**63 - 1,
        "single": struct.unpack("f", struct.pack("f", 0.1))[0], "double": 1e-7, "raw": "AP8B", "text": 'é"\\\n\x85',
        "fixed": "YWJj", "kind": "OLD", "list": [None, -5, "NEW"], "map": {"a": [1.0, "NaN", "-Infinity"], "": []},
        "next": None, "amount": "-12345678901234567890.001", "fixed_amount": "0.05", "id": str(id_),
        "day": "1969-12-31", "millis": "23:59:59.999", "micros": "00:00:00.000001",
        "at": "2024-02-29T12:30:01.250Z", "at_micros": "2024-02-29T12:30:01.250000Z",
        "local": "2024-02-29T12:30:01.250", "local_micros": "2024-02-29T12:30:01.250000", "odd": 42,
    }  # fmt: skip
    return datum, shown


def _avro_cases() -> Iterator[Case]:
    datum, shown = _every()
    every = avro(EVERY_TYPE, datum)
    nested = avro(EVERY_TYPE, datum | {"next": datum})
    yield Case("every", prefix(1) + every, {"key": None, "value": shown, "valueSchema": about(1, "every-value")})
    yield Case(
        "every", prefix(1) + nested,
        {"key": None, "value": shown | {"next": shown}, "valueSchema": about(1, "every-value")},
    )  # fmt: skip
    guid = base64.b64decode(md5(json.dumps(EVERY_TYPE)))
    ways: list[tuple[bytes, list[tuple[str, bytes | None]]]] = [
        (b"\1" + guid + every, []),
        (every, [("__value_schema_id", b"\1" + guid)]),
        (every, [("__value_schema_id", prefix(99)), ("x", None), ("__value_schema_id", prefix(1))]),
    ]
    for value, headers in ways:
        yield Case("every", value, {"key": None, "value": shown, "valueSchema": about(1, "every-value")}, None, headers)
    home = {"city": "Ulm"}
    user = avro(USER, {"name": "Ann", "home": home, "work": home}, ADDRESS)
    shown = {"name": "Ann", "home": home, "work": home}
    yield Case("users", prefix(3) + user, {"key": None, "value": shown, "valueSchema": about(3, "users-value")})
    key, key_schema = prefix(6) + avro("long", 77), about(6, "orders-key")
    yield Case(
        "orders",
        prefix(4) + avro(ORDER_1, {"id": 1}),
        {"key": 77, "keySchema": key_schema, "value": {"id": 1}, "valueSchema": about(4, "orders-value")},
        key,
    )
    yield Case(
        "orders",
        prefix(5) + avro(ORDER_2, {"id": 2, "note": "n"}),
        {
            "key": 77,
            "keySchema": key_schema,
            "value": {"id": 2, "note": "n"},
            "valueSchema": about(5, "orders-value", 2),
        },
        key,
    )
    yield Case("raw", prefix(7) + b"\xfe\xff", {"key": None, "value": "/v8=", "valueSchema": about(7, "raw-value")})
    yield Case("raw", prefix(7), {"key": None, "value": "", "valueSchema": about(7, "raw-value")})
    for number, subject in ((11, "gone-value"), (12, "removed-value"), (20, ":.tenant:tenants-value")):
        topic = subject.rpartition(":")[2].removesuffix("-value")
        shown = {"key": None, "value": "hi", "valueSchema": about(number, subject)}
        yield Case(topic, prefix(number) + avro("string", "hi"), shown)
    yield Case(
        "orders",
        prefix(1) + avro("string", "ctx"),
        {"key": None, "value": "ctx", "valueSchema": about(1, ":.tenant:orders-value")},
    )
    yield Case(
        "karapace", prefix(21) + avro("int", -3), {"key": None, "value": -3, "valueSchema": about(21, "karapace-value")}
    )


def _protobuf_cases() -> Iterator[Case]:
    paid = messages()["acme.PaidOrder"](order_id=5, tags=["é\x80", ""], card="", state=1, rate=0.5, gift=False)
    paid.total_price.units = 2**62
    paid.counts["k"] = 0
    paid.paid_at.seconds = 1_700_000_000
    paid.lines.add(sku=2**63)
    paid.lines.add()
    shown = {
        "order_id": 5, "total_price": {"units": str(2**62)}, "tags": ["é\x80", ""], "counts": {"k": "0"}, "card": "",
        "state": "PAID", "paid_at": "2023-11-14T22:13:20Z", "rate": 0.5, "gift": False,
        "lines": [{"sku": str(2**63)}, {}],
    }  # fmt: skip
    schema = about(10, "paid-value", kind="PROTOBUF")
    data = paid.SerializeToString()
    yield Case("paid", prefix(10) + b"\2\2" + data, {"key": None, "value": shown, "valueSchema": schema})
    header: list[tuple[str, bytes | None]] = [("__value_schema_id", prefix(10) + b"\2\2")]
    yield Case("paid", data, {"key": None, "value": shown, "valueSchema": schema}, None, header)
    envelope = messages()["acme.Envelope"](trace="t").SerializeToString()
    yield Case("paid", prefix(10) + b"\0" + envelope, {"key": None, "value": {"trace": "t"}, "valueSchema": schema})
    line = messages()["acme.PaidOrder"].Line(sku=3).SerializeToString()
    yield Case("paid", prefix(10) + b"\4\2\0" + line, {"key": None, "value": {"sku": "3"}, "valueSchema": schema})
    yield Case("paid", prefix(10) + b"\0", {"key": None, "value": {}, "valueSchema": schema})


def _text(data: bytes) -> dict[str, Any]:
    """Bytes as `.jsonl` shows a value."""
    try:
        return {"value": data.decode()}
    except UnicodeDecodeError:
        return {"valueBase64": base64.b64encode(data).decode()}


def _other_cases() -> Iterator[Case]:
    schema = about(8, "documents-value", kind="JSON")
    yield Case("documents", prefix(8) + b'{"a":[1,2]}', {"key": None, "value": {"a": [1, 2]}, "valueSchema": schema})
    yield Case(
        "documents",
        b'{"big":123456789012345678901234567890,\n "a":1,"a":2}',
        {"key": "k", "value": {"big": 123456789012345678901234567890, "a": 2}},
        b'"k"',
    )
    yield Case("documents", None, {"key": None, "value": None})
    for data in (b"plain", b"", b"NaN", b"1\0", b"[1,]", b"\xff", b"\0\0\0\x30\x39chance", prefix(4)[:4], b'{"a":1}}'):
        yield Case("documents", data, {"key": None} | _text(data))
    for data, number, kind in (
        (prefix(8) + b"{", 8, "JSON"),
        (prefix(4), 4, "AVRO"),
        (prefix(4) + b"\2\2", 4, "AVRO"),
        (prefix(10) + b"\0\xff", 10, "PROTOBUF"),
        (prefix(10) + b"\x08\2", 10, "PROTOBUF"),
        (prefix(10) + b"\0\x78\1", 10, "PROTOBUF"),  # a field that the message does not have
    ):
        del kind
        yield Case("documents", data, {"key": None} | _text(data) | {"valueError": f"schema {number}"})
    unknown: list[tuple[str, bytes | None]] = [("__value_schema_id", prefix(4242))]
    yield Case("documents", b"\2\2", {"key": None, "value": "\2\2", "valueError": "schema 4242"}, None, unknown)
    keys: list[tuple[str, bytes | None]] = [("__key_schema_id", prefix(4242))]
    yield Case("documents", b"1", {"key": "\2", "keyError": "schema 4242", "value": 1}, b"\2", keys)


def cases() -> list[Case]:
    """All records of the topics, in order."""
    return [*_avro_cases(), *_protobuf_cases(), *_other_cases()]


def data() -> Path:
    """A data directory with all of it, after a clean stop; made once and kept."""
    sources = b"".join(
        (Path(__file__).parent / name).read_bytes() for name in ("registered.py", "broker.py", "writer.py")
    )
    place = cache.root() / "registered" / hashlib.sha256(sources).hexdigest()[:12]
    return cache.once(place, _make) / "data"


def _make(place: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="kafkafs-broker-") as home:
        with node.running(RELEASE, Path(home)) as broker:
            topics = {case.topic: Topic() for case in cases()}
            create(broker, topics | {"_schemas": Topic(settings={"cleanup.policy": "compact"})})
            writer = Writer(broker, "lz4")
            writer.batch("_schemas", [Record(value, key) for key, value in REGISTRY])
            for topic in topics:
                chosen = [case for case in cases() if case.topic == topic]
                writer.batch(topic, [Record(case.value, case.key, headers=case.headers) for case in chosen])
        copy(Path(home) / "data", place / "data")
