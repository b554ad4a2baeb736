"""`export --value registry`: columns against the objects that payloads were made of, without Spark and with it."""

import datetime
import json
import math
import struct
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.cluster.registry import RegisteredSchema, Registry, parse_schema_record
from kafkafs.errors import UsageError
from kafkafs.spark.export.export_job import export
from kafkafs.spark.export.export_plan import Request
from kafkafs.spark.export.output import output
from kafkafs.spark.export.plan_store import PlanStore
from kafkafs.spark.export.settling import settle
from kafkafs.tables import arrow
from kafkafs.tables.arrow import BatchMaker
from kafkafs.tables.choice import Choice
from kafkafs.tables.local import LocalEngine
from kafkafs.tables.offsets import EARLIEST, LATEST, AllAt
from kafkafs.tables.typed.json_values import kind_of_values
from kafkafs.tables.typed.kinds import named_payloads
from kafkafs.tables.typed.reader_schema import ReaderSchema, reader_schemas_of
from kafkafs.tables.typed.registered import RegisteredColumn
from kafkafs.tables.typed.typed_columns import Columns, column_type
from tests.format.decoded import records_of
from tests.format.schemas.avro_drawn import encoded, record, schemas
from tests.kafka import registered
from tests.kafka.dataset import Dataset

FIRST = b"\0\0\0\0\1"
ZONE = datetime.UTC


def registry(*texts: Any, kind: str = "AVRO") -> Registry:
    """Versions 1, 2, ... of the topic's subject, with ids like them."""
    found = []
    for number, text in enumerate(texts, 1):
        value = {"subject": "t-value", "version": number, "id": number, "schemaType": kind,
                 "schema": text if isinstance(text, str) else json.dumps(text)}  # fmt: skip
        found.append(parse_schema_record(value, value, number))
    return Registry(found)


def typed(
    known: Registry, *values: bytes | None, reader: ReaderSchema | None = None, topic: str = "t"
) -> list[dict[str, Any]]:
    """`value`, `valueBytes` and `valueError` of these values."""
    rows: list[dict[str, Any]] = table_of(known, *values, reader=reader, topic=topic).to_pylist(
        maps_as_pydicts="strict"
    )
    return rows


def table_of(known: Registry, *values: bytes | None, reader: ReaderSchema | None = None, topic: str = "t") -> pa.Table:
    """The same as a table."""
    pieces = [records_of(*values)]
    reader = reader or next(reader_schemas_of(known, topic, "value", ()), ReaderSchema())
    column = RegisteredColumn("value", topic, reader, known, column_type(reader.shape()))
    columns = Columns(BatchMaker(topic, 0, headers=False), arrow.schema(False), {"value": column})
    made = pa.Table.from_batches(columns.batches(pieces), columns.schema)
    made.validate(full=True)
    assert made.column("offset").to_pylist() == list(range(len(values)))
    return made.select(["value", "valueBytes", "valueError"])


def values_of(known: Registry, *values: bytes | None) -> list[Any]:
    """The values, of which all fit."""
    rows = typed(known, *values)
    assert [row["valueBytes"] for row in rows] == [None] * len(rows), rows
    assert [row["valueError"] for row in rows] == [None] * len(rows)
    return [row["value"] for row in rows]


def as_column(schema: Any, datum: Any) -> Any:
    """A datum as its column has it."""
    if isinstance(schema, list):
        return None if datum is None else as_column(schema[1], datum)
    kind = schema if isinstance(schema, str) else schema["type"]
    if kind == "record":
        if not schema["fields"]:
            return "{}"
        return {field["name"]: as_column(field["type"], datum[field["name"]]) for field in schema["fields"]}
    if kind == "array":
        return [as_column(schema["items"], each) for each in datum]
    if kind == "map":
        return {key: as_column(schema["values"], each) for key, each in datum.items()}
    if kind in ("float", "double"):
        layout = "<f" if kind == "float" else "<d"
        return struct.unpack(layout, struct.pack(layout, datum))[0]
    return datum


def same(one: Any, other: Any) -> bool:
    """Equal, where NaN equals NaN and 0 is not -0."""
    if isinstance(one, float) and isinstance(other, float):
        return (one == other and math.copysign(1, one) == math.copysign(1, other)) or (one != one and other != other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other) and type(one) is type(other)


@given(st.data())
def test_columns_are_the_objects_of_any_schema(data: st.DataObject) -> None:
    """A recovered topic is analysed by its columns: each has to be what the producer meant."""
    schema, strategy = data.draw(schemas())
    data_ = data.draw(st.lists(strategy, min_size=1, max_size=5))
    made = values_of(registry(schema), *(FIRST + encoded(schema, each) for each in data_))
    expected = [as_column(schema, each) for each in data_]
    assert all(map(same, made, expected)), (made, expected)


def logical(kind: str, meaning: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": meaning, **more}


MOMENT = datetime.datetime(2024, 2, 29, 12, 30, 1, 250_000)
LOGICAL: list[tuple[Any, Any, Any]] = [
    (logical("bytes", "decimal", precision=12, scale=3), Decimal("-1234.500"), Decimal("-1234.500")),
    (logical("fixed", "decimal", name="F", size=16, precision=38, scale=0), Decimal(10**38 - 1), Decimal(10**38 - 1)),
    (logical("bytes", "decimal", precision=45, scale=1), Decimal("1.5"), "1.5"),
    (logical("string", "uuid"), uuid.UUID(int=7), str(uuid.UUID(int=7))),
    (logical("int", "date"), datetime.date(1969, 12, 31), datetime.date(1969, 12, 31)),
    (logical("int", "time-millis"), datetime.time(23, 59, 59, 999_000), "23:59:59.999"),
    (logical("long", "time-micros"), datetime.time(0, 0, 0, 1), "00:00:00.000001"),
    (logical("long", "timestamp-millis"), MOMENT.replace(tzinfo=ZONE), MOMENT.replace(tzinfo=ZONE)),
    (logical("long", "timestamp-micros"), MOMENT.replace(tzinfo=ZONE), MOMENT.replace(tzinfo=ZONE)),
    (logical("long", "local-timestamp-millis"), MOMENT, MOMENT),
    (logical("long", "local-timestamp-micros"), MOMENT, MOMENT),
    (logical("long", "timestamp-nanos"), 1_500_000_000, "1970-01-01T00:00:01.500000000Z"),
    (logical("int", "no-such-type"), 42, 42),
]


@pytest.mark.parametrize(("schema", "datum", "expected"), LOGICAL)
def test_a_logical_type_is_a_column_of_its_own_type(schema: Any, datum: Any, expected: Any) -> None:
    whole = record(("a", schema), ("b", ["null", schema if schema["type"] != "fixed" else "F"]))
    payloads = [encoded(whole, {"a": datum, "b": other}) for other in (None, datum)]
    made = values_of(registry(whole), *(FIRST + payload for payload in payloads))
    assert made == [{"a": expected, "b": None}, {"a": expected, "b": expected}]
    assert type(made[0]["a"]) is type(expected)


@pytest.mark.parametrize("before", [b"", b"\4"], ids=["Java", "Python"])
def test_bytes_that_are_all_of_a_value_may_lack_their_length(before: bytes) -> None:
    """Clients disagree about that; no payload may become another number in a table than on a mount."""
    decimal = logical("bytes", "decimal", precision=12, scale=3)
    assert values_of(registry(decimal), FIRST + before + b"\xfb\x1e") == [Decimal("-1.250")]
    assert values_of(registry("bytes"), FIRST + before + b"\xfb\x1e") == [b"\xfb\x1e"]


def test_a_union_of_several_types_has_a_member_for_each() -> None:
    """As Spark's own Avro source has it: the value stays of the type that it was."""
    schema = record(("u", ["null", "string", "long", {"type": "array", "items": "boolean"}]))
    data = [None, "x", -5, [True]]
    made = values_of(registry(schema), *(FIRST + encoded(schema, {"u": each}) for each in data))
    members = [None, *({"member0": None, "member1": None, "member2": None} | each for each in (
        {"member0": "x"}, {"member1": -5}, {"member2": [True]}))]  # fmt: skip
    assert made == [{"u": each} for each in members]


NODE = record(("id", "int"), ("next", ["null", "R"]), ("children", {"type": "array", "items": "R"}))


def test_what_holds_itself_stays_bytes_where_it_does() -> None:
    """Columns end somewhere; a record that does not go there is in them whole."""
    leaf: dict[str, Any] = {"id": 1, "next": None, "children": []}
    payloads = [FIRST + encoded(NODE, each) for each in (leaf, {"id": 2, "next": leaf, "children": [leaf]})]
    first, second = typed(registry(NODE), *payloads)
    assert first["value"] == {"id": 1, "next": None, "children": []}
    assert (second["value"], second["valueBytes"]) == (None, payloads[1])
    assert "no column can hold" in second["valueError"]


EVOLVED: list[tuple[Any, Any, Any, Any]] = [
    ("int", "long", 7, 7), ("int", "double", 7, 7.0), ("long", "float", 7, 7.0), ("float", "double", 0.5, 0.5),
    ("string", "bytes", "é", "é".encode()), ("bytes", "string", "é".encode(), "é"),
    ("int", ["null", "string", "long"], 7, {"member0": None, "member1": 7}),
    (["null", "int"], "long", 7, 7), ("long", ["null", "long"], 7, 7),
    ({"type": "enum", "name": "E", "symbols": ["A", "B"]},
     {"type": "enum", "name": "E", "symbols": ["B", "C"], "default": "C"}, "A", "C"),
    ({"type": "map", "values": "int"}, {"type": "map", "values": "double"}, {"k": 1}, {"k": 1.0}),
    (logical("bytes", "decimal", precision=4, scale=2), logical("bytes", "decimal", precision=4, scale=2),
     Decimal("1.25"), Decimal("1.25")),
]  # fmt: skip


@pytest.mark.parametrize(("writer", "reader", "datum", "expected"), EVOLVED)
def test_older_data_are_read_as_avro_prescribes(writer: Any, reader: Any, datum: Any, expected: Any) -> None:
    """A topic has one reader schema, whatever its schema was when a record came."""
    old, new = record(("a", writer), ("gone", "string")), record(("a", reader))
    made = values_of(registry(old, new), FIRST + encoded(old, {"a": datum, "gone": "x"}))
    assert made == [{"a": expected}]


def test_fields_are_added_renamed_and_reordered() -> None:
    old = record(("a", "int"), ("b", "string"), ("deep", NODE | {"name": "Node", "fields": [
        {"name": "self", "type": ["null", "Node"]}]}))  # fmt: skip
    new = {"type": "record", "name": "R", "fields": [
        {"name": "z", "type": "string", "default": "new"},
        {"name": "renamed", "aliases": ["b"], "type": "string"},
        {"name": "a", "type": "long"},
        {"name": "raw", "type": "bytes", "default": "\u00ff"},
        {"name": "list", "type": {"type": "array", "items": "double"}, "default": [1, 0.5]},
        {"name": "map", "type": {"type": "map", "values": "int"}, "default": {"k": 1}},
        {"name": "none", "type": ["null", "int"], "default": None},
        {"name": "inner", "type": record(("x", "boolean"), name="I"), "default": {"x": True}},
        {"name": "one_of", "type": ["null", "int", "string"], "default": "x"},
        {"name": "price", "type": logical("bytes", "decimal", precision=4, scale=2), "default": "\u0001\u0002"},
    ]}  # fmt: skip
    payload = encoded(old, {"a": 1, "b": "x", "deep": {"self": {"self": None}}})
    (made,) = values_of(registry(old, new), FIRST + payload)
    assert made == {
        "z": "new", "renamed": "x", "a": 1, "raw": b"\xff", "list": [1.0, 0.5], "map": {"k": 1}, "none": None,
        "inner": {"x": True}, "one_of": {"member0": None, "member1": "x"}, "price": Decimal("2.58"),
    }  # fmt: skip


UNFIT = [
    ("string", "int", "x"), ("double", "long", 1.5), (["null", "string"], "string", None),
    (logical("long", "timestamp-millis"), logical("long", "timestamp-micros"), 5),
    (record(("x", "int"), name="I"), record(("y", "int"), name="I"), {"x": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("writer", "reader", "datum"), UNFIT)
def test_what_does_not_fit_keeps_its_bytes(writer: Any, reader: Any, datum: Any) -> None:
    """And says why: nothing is lost or changed in silence."""
    old, new = record(("a", writer)), record(("a", reader))
    payload = FIRST + encoded(old, {"a": datum})
    (row,) = typed(registry(old, new), payload)
    assert (row["value"], row["valueBytes"]) == (None, payload)
    assert "schema 1" in row["valueError"]


def test_other_values_keep_their_bytes() -> None:
    known = registry(record(("a", logical("bytes", "decimal", precision=3, scale=1))))
    fitting = FIRST + encoded(record(("a", "bytes")), {"a": b"\1"})
    odd = [b"", b"plain", b"\0\0\0\0\x63abc", FIRST, FIRST + b"\2\1\0", FIRST + encoded("bytes", b"\x7f\xff")]
    rows = typed(known, None, fitting, *odd, fitting)
    assert [row["value"] for row in rows] == [None, {"a": Decimal("0.1")}, *[None] * 6, {"a": Decimal("0.1")}]
    assert [row["valueBytes"] for row in rows] == [None, None, *odd, None]
    assert [row["valueError"] is None for row in rows] == [True, True, *[False] * 6, True]
    assert "columns cannot hold it" in rows[7]["valueError"]


def test_large_values_come_in_parts() -> None:
    """Memory stays bounded, and the order of rows."""
    schema = record(("a", "string"), ("n", "int"))
    long = [FIRST + encoded(schema, {"a": "x" * size, "n": size}) for size in (5, 900_000, 1, 3_000_000, 0, 700_000)]
    made = values_of(registry(schema), *long)
    assert [(len(each["a"]), each["n"]) for each in made] == [(each["n"], each["n"]) for each in made]
    assert [each["n"] for each in made] == [5, 900_000, 1, 3_000_000, 0, 700_000]


def test_a_schema_that_is_too_much_is_no_table() -> None:
    """One that doubles itself level by level would have 2^45 columns."""
    schema: Any = record(("a", "int"), name="D0")
    for level in range(1, 46):
        schema = record(("a", schema), ("b", f"D{level - 1}"), name=f"D{level}")
    (row,) = typed(registry(schema), FIRST + b"\0")
    assert "columns" in row["valueError"]


DOCUMENTS = [{"a": 1, "b": {"c": [1.5, None]}, "member0": "x"}, {"a": 2, "b": None}]


def test_json_has_the_type_that_a_pass_found() -> None:
    known = registry('{"type":"object"}', kind="JSON")
    payloads = [json.dumps(each).encode() for each in DOCUMENTS]
    reader = ReaderSchema(
        **next(reader_schemas_of(known, "t", "value", ())).words()
        | {"kind": kind_of_values(payloads), "references": ()}
    )
    rows = typed(known, *(FIRST + each for each in payloads), FIRST + b'{"a":"text"}', FIRST + b"{", reader=reader)
    assert [row["value"] for row in rows[:2]] == [
        {"a": 1, "b": {"c": [1.5, None]}, "member0": "x"}, {"a": 2, "b": None, "member0": None},
    ]  # fmt: skip
    assert [row["valueBytes"] for row in rows] == [None, None, FIRST + b'{"a":"text"}', FIRST + b"{"]
    assert "its type differs" in rows[2]["valueError"]


def test_a_plan_keeps_a_table() -> None:
    reader = next(reader_schemas_of(registry(NODE), "t", "value", ()))
    assert ReaderSchema.of_words(json.loads(json.dumps(reader.words()))) == reader


def test_protobuf_is_read_by_the_newest_schema() -> None:
    """Fields have the types of the schema, and are null only where Protobuf knows that they are not there."""
    known = Registry(schema for schema in registered_schemas() if schema.subject in ("money", "paid-value"))
    kinds = registered.messages()
    paid = kinds["acme.PaidOrder"](order_id=5, tags=["é"], token=b"\xff", state=1, rate=-0.0, gift=False)
    paid.total_price.units = -(2**62)
    paid.counts["k"] = 0
    paid.paid_at.seconds = 1_700_000_000
    paid.lines.add(sku=2**64 - 1)
    values = [
        registered.prefix(10) + b"\2\2" + paid.SerializeToString(),
        registered.prefix(10) + b"\2\2",
        registered.prefix(10) + b"\0" + kinds["acme.Envelope"](trace="t").SerializeToString(),
        registered.prefix(10) + b"\2\2\x98\6\1",
    ]
    reader = next(
        reader_schemas_of(known, "paid", "value", named_payloads(records_of(*values), known, "paid", "value"))
    )
    first, empty, other, unknown = typed(known, *values, reader=reader, topic="paid")
    assert first["value"] == {
        "order_id": 5, "total_price": {"currency": "", "units": -(2**62)}, "tags": ["é"], "counts": {"k": 0},
        "card": None, "token": b"\xff", "state": "PAID", "rate": -0.0,
        "paid_at": datetime.datetime(2023, 11, 14, 22, 13, 20, tzinfo=ZONE),
        "gift": False, "lines": [{"sku": 2**64 - 1}],
    }  # fmt: skip
    assert math.copysign(1, first["value"]["rate"]) == -1
    assert empty["value"] == {
        "order_id": 0, "total_price": None, "tags": [], "counts": {}, "card": None, "token": None,
        "state": "UNKNOWN", "paid_at": None, "rate": 0.0, "gift": None, "lines": [],
    }  # fmt: skip
    assert (other["value"], other["valueBytes"]) == (None, values[2])
    assert "acme.Envelope" in other["valueError"]
    assert (unknown["value"], unknown["valueBytes"]) == (None, values[3])
    assert "does not name" in unknown["valueError"]


def registered_schemas() -> list[RegisteredSchema]:
    """The schemas of the topic that a real broker wrote."""
    pairs = [(json.loads(key), json.loads(value)) for key, value in registered.REGISTRY if value and b"SCHEMA" in key]
    return [parse_schema_record(key, value, number) for number, (key, value) in enumerate(pairs) if "schema" in value]


EXPECTED: dict[str, list[Any]] = {
    "orders": [{"id": 1, "note": "-"}, {"id": 2, "note": "n"}, None],  # the last is of another type
    "users": [{"name": "Ann", "home": {"city": "Ulm"}, "work": {"city": "Ulm"}}],
    "raw": [b"\xfe\xff", b""],
    "gone": ["hi"], "removed": ["hi"], "tenants": ["hi"], "karapace": [-3],
}  # fmt: skip


def test_an_export_is_the_objects_that_were_written(tmp_path: Path) -> None:
    """From the disks of a dead cluster to a table that Spark and others read."""
    every, _ = registered._every()
    topics = tuple(sorted({case.topic for case in registered.cases()}))
    request = Request((registered.data(),), Choice(topics=topics), AllAt(EARLIEST), AllAt(LATEST), value="registry")
    out = tmp_path / "out"
    place = output(str(out))
    done = export(LocalEngine(2), PlanStore(place, request), settle(place, request))
    assert done.records == len(registered.cases())

    def rows(topic: str) -> list[Any]:
        # one file, for one partition
        table = pq.ParquetFile(next((out / f"topic={topic}/partition=0").glob("*.parquet"))).read()
        found: list[Any] = table.select(["value", "valueBytes"]).to_pylist(maps_as_pydicts="strict")
        values = [case.value for case in registered.cases() if case.topic == topic]
        for row, value in zip(found, values, strict=True):
            assert row["valueBytes"] in (None, value)
            assert row["value"] is None or row["valueBytes"] is None
        return found

    for topic, expected in EXPECTED.items():
        assert [row["value"] for row in rows(topic)] == expected, topic
    first, nested, *others = rows("every")
    assert nested["value"] is None, "it holds itself"
    assert all(same(row["value"], first["value"]) for row in others)
    shown = {
        "single": struct.unpack("f", struct.pack("f", 0.1))[0], "map": {"a": [1.0, math.nan, -math.inf], "": []},
        "list": [{"member0": None, "member1": None}, {"member0": -5, "member1": None},
                 {"member0": None, "member1": "NEW"}],
        "amount": "-12345678901234567890.001", "id": str(every["id"]), "millis": "23:59:59.999",
        "micros": "00:00:00.000001",
    }  # fmt: skip
    shown["list"][0] = None
    for name, content in every.items():
        assert same(first["value"][name], shown.get(name, content)), name
    assert [row["value"] for row in rows("documents")][:1] == [{"a": [1, 2]}]
    read = ds.dataset(out / "topic=every", partitioning="hive").to_table(columns=["value"])
    assert pc.sum(pc.equal(pc.struct_field(read["value"], "kind"), "OLD")).as_py() == len(others) + 1
    assert export(LocalEngine(2), PlanStore(place, request), settle(place, request)).written == 0


def test_without_schemas_an_export_says_so(tmp_path: Path) -> None:
    data = Dataset("4.3.1", "stopped").path
    request = Request((data,), Choice(topics=("partitions",)), AllAt(EARLIEST), AllAt(LATEST), value="registry")
    out = output(str(tmp_path / "out"))
    with pytest.raises(UsageError, match="_schemas-0"):
        export(LocalEngine(2), PlanStore(out, request), settle(out, request))
