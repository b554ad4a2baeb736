"""Avro for columns: the shape of a schema, and data of another one as JSON of that shape, by the kernel, without Spark.

Columns of pairs of schemas by chance: `tests/spark/test_evolution.py`.
"""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.errors import CorruptData
from kafkafs.format.decoding import DecodedLines
from kafkafs.format.native.layout import WAY_AVRO
from kafkafs.format.schemas.avro_typed import ColumnSchema
from kafkafs.format.schemas.decoders import Decoder
from kafkafs.format.schemas.shape import Shape, double_bits, float_bits
from tests.format.decoded import records_of, table_of
from tests.format.schemas.avro_drawn import doubling, encoded, record, schemas

PREFIX = b"\0\0\0\0\1"
MISFIT = object()


def columns(schema: Any) -> ColumnSchema:
    return ColumnSchema(schema if isinstance(schema, str) else json.dumps(schema))


def read(reader: Any, writer: Any, payload: bytes) -> Any:
    """What data of the one schema are by the other: the JSON of its shape, or MISFIT."""
    program = columns(reader).program(json.dumps(writer))
    lines = DecodedLines("t", 0, table_of(Decoder(WAY_AVRO, program)))
    ((_, text),) = lines.fields(records_of(PREFIX + payload))
    assert text is not None
    return MISFIT if text == PREFIX + payload else json.loads(text)["value"]


def of_shape(schema: Any, datum: Any) -> Any:
    """A datum as JSON of its schema's shape: the contract, by a few lines of Python."""
    if isinstance(schema, list):
        return None if datum is None else of_shape(schema[1], datum)
    kind = schema if isinstance(schema, str) else schema["type"]
    match kind:
        case "bytes" | "fixed":
            return base64.b64encode(datum).decode()
        case "double" | "float":
            return (double_bits if kind == "double" else float_bits)(datum)
        case "record":
            return {field["name"]: of_shape(field["type"], datum[field["name"]]) for field in schema["fields"]}
        case "array":
            return [of_shape(schema["items"], each) for each in datum]
        case "map":
            return [{"key": key, "value": of_shape(schema["values"], each)} for key, each in datum.items()]
    return datum


@given(st.data())
def test_data_of_the_columns_own_schema_are_all_there(data: st.DataObject) -> None:
    """Not a bit of a number, not the order of a map is lost on the way to a column."""
    schema, strategy = data.draw(schemas())
    datum = data.draw(strategy)
    payload = encoded(schema, datum)
    made = read(schema, schema, payload)
    if schema == "bytes":
        payload, datum = encoded("bytes", payload), payload
        made = read(schema, schema, payload)
    assert made == of_shape(schema, datum)


LIST = record(("n", "int"), ("next", ["null", "L"]), name="L")
SHAPES: list[tuple[Any, Shape]] = [
    ("int", Shape("int")), ({"type": "long", "logicalType": "timestamp-micros"}, Shape("timestamp-micros")),
    ({"type": "long", "logicalType": "local-timestamp-millis"}, Shape("local-timestamp-millis")),
    ({"type": "long", "logicalType": "timestamp-nanos"}, Shape("string")),
    ({"type": "int", "logicalType": "date"}, Shape("date")),
    ({"type": "int", "logicalType": "time-millis"}, Shape("string")),
    ({"type": "int", "logicalType": "time-micros"}, Shape("int")), ({"type": "int", "logicalType": [1]}, Shape("int")),
    ({"type": "long", "logicalType": "time-millis"}, Shape("long")),
    ({"type": "long", "logicalType": "date"}, Shape("long")),
    ({"type": "int", "logicalType": "timestamp-nanos"}, Shape("int")),
    ({"type": "long", "logicalType": "my-timestamp-millis"}, Shape("long")),
    ({"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 3}, Shape("decimal", (), 38, 3)),
    ({"type": "bytes", "logicalType": "decimal", "precision": 39}, Shape("string")),
    ({"type": "bytes", "logicalType": "decimal", "precision": 0}, Shape("bytes")),
    ({"type": "bytes", "logicalType": "big-decimal"}, Shape("string")),
    ({"type": "fixed", "name": "F", "size": 16, "logicalType": "uuid"}, Shape("string")),
    ({"type": "fixed", "name": "F", "size": 12, "logicalType": "duration"}, Shape("string")),
    ({"type": "fixed", "name": "F", "size": 3}, Shape("bytes")),
    ({"type": "enum", "name": "E", "symbols": ["A"]}, Shape("string")),
    (["null", "int"], Shape("int")), (["null"], Shape("null")), (["int", "null", "string"],
     Shape("union", (("member0", Shape("int")), ("member1", Shape("string"))))),
    ({"type": "map", "values": ["null", "double"]}, Shape("map", (("item", Shape("double")),))),
    ({"type": {"type": "array", "items": {"type": "int"}}}, Shape("array", (("item", Shape("int")),))),
    (LIST, Shape("record", (("n", Shape("int")), ("next", Shape("null"))))),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "shape"), SHAPES)
def test_a_schema_has_a_shape(schema: Any, shape: Shape) -> None:
    assert columns(schema).shape == shape


EITHER = ["null", "int", {"type": "array", "items": "int"}, {"type": "long", "logicalType": "timestamp-millis"}]
RESOLVED: list[tuple[Any, Any, Any, Any]] = [
    ("int", "long", 7, 7), ("int", "float", 7, float_bits(7)), ("long", "double", 2**53 + 1, double_bits(2.0**53)),
    ("float", "double", 0.1, double_bits(0.10000000149011612)), ("string", "bytes", "é", "w6k="),
    (record(("f", "bytes")), record(("f", "string")), {"f": b"x"}, {"f": "x"}),
    ("long", {"type": "long", "logicalType": "timestamp-micros"}, 7, 7),
    ({"type": "int", "logicalType": "time-micros"}, {"type": "int", "logicalType": "time-micros"}, -7, -7),
    ({"type": "int", "logicalType": "time-millis"}, {"type": "long", "logicalType": "time-micros"}, 7, "00:00:00.007"),
    ("int", EITHER, 7, {"member0": 7}), ({"type": "array", "items": "int"}, EITHER, [7], {"member1": [7]}),
    ({"type": "long", "logicalType": "timestamp-millis"}, EITHER, 7, {"member2": 7}),
    (["null", "string"], ["null", "string"], None, None), (["null", "int"], "int", 7, 7),
    ("null", ["null", "int"], None, None),
    ({"type": "enum", "name": "a.E", "symbols": ["X", "Y"]},
     {"type": "enum", "name": "E", "symbols": ["Y"], "default": "Y"}, "X", "Y"),
    (record(("f", "int"), ("gone", LIST)), record(("f", "int")), {"f": 1, "gone": {"n": 1, "next": None}}, {"f": 1}),
    (record(("f", "int")), record(("f", "int"), ("new", ["null", "int"], None), ("g", "double", 1)), {"f": 1},
     {"f": 1, "new": None, "g": double_bits(1.0)}),
    (record(("f", "int")), record(("g", "int")) | {"fields": [{"name": "g", "aliases": ["x", "f"], "type": "int"}]},
     {"f": 1}, {"g": 1}),
    (record(("f", "int"), name="Old"), record(("f", "int"), name="New") | {"aliases": ["z.Old"]}, {"f": 1}, {"f": 1}),
    (LIST, LIST, {"n": 1, "next": None}, {"n": 1, "next": None}),
    ("long", "float", 2**60 + 2**36 + 1, float_bits(2.0**60 + 2.0**37)),
    ("long", "float", -(2**60) - 2**36 - 1, float_bits(-(2.0**60) - 2.0**37)),
    ("long", "float", 2**60 + 2**36, float_bits(2.0**60)),
    (record(("old", "int"), ("f", "int")),
     record() | {"fields": [{"name": "f", "aliases": ["old"], "type": "int"}]}, {"old": 1, "f": 2}, {"f": 2}),
    ([record(("f", "int"), name="a.X"), record(("f", "int"), name="b.X")],
     [record(("f", "int"), name="a.X"), record(("f", "int"), name="b.X")], ("b.X", {"f": 5}), {"member1": {"f": 5}}),
]  # fmt: skip


@pytest.mark.parametrize(("writer", "reader", "datum", "expected"), RESOLVED)
def test_data_are_read_as_avro_prescribes(writer: Any, reader: Any, datum: Any, expected: Any) -> None:
    """Avro 1.12, "Schema Resolution"; what only the writer has stands under names that no column has."""
    made = read(reader, writer, encoded(writer, datum))
    if isinstance(made, dict) and isinstance(expected, dict):
        made = {name: value for name, value in made.items() if not name.startswith("-")}
    assert made == expected


REFUSED: list[tuple[Any, Any, str]] = [
    ("string", "int", "no int"), ("long", "int", "no int"), ("null", "int", "no int"),
    ("null", ["int"], "null is not a value"),
    ("string", ["null", "int"], "has no string"), (["string", "boolean"], "int", "no branch of a union"),
    ({"type": "long", "logicalType": "timestamp-millis"}, {"type": "long", "logicalType": "timestamp-micros"},
     "unit of time"),
    ({"type": "long", "logicalType": "time-micros"}, {"type": "long", "logicalType": "timestamp-nanos"},
     "logical type"),
    ({"type": "long", "logicalType": "local-timestamp-nanos"}, {"type": "long", "logicalType": "timestamp-nanos"},
     "logical type"),
    ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 1},
     {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, "bytes alone"),
    (record(("f", "bytes")), record(("f", {"type": "bytes", "logicalType": "decimal", "precision": 4})),
     "logical type"),
    ({"type": "fixed", "name": "F", "size": 2}, {"type": "fixed", "name": "F", "size": 3}, "another fixed"),
    (record(("f", "int")), record(("g", "int")), "field 'g' without a default"),
    (record(name="A"), record(name="B"), "another name"),
    (record(("f", "int")), record(("g", "int", "x"), ("f", "int")), "default is of another type"),
    ("bytes", "string", "bytes alone"),
    ({"type": "enum", "name": "E"}, {"type": "enum", "name": "E"}, "without symbols"),
]  # fmt: skip


@pytest.mark.parametrize(("writer", "reader", "sentence"), REFUSED)
def test_what_does_not_go_together_is_a_sentence(writer: Any, reader: Any, sentence: str) -> None:
    """Its data then keep their bytes; a guess would be another number in a table."""
    with pytest.raises(CorruptData, match=sentence):
        columns(reader).program(json.dumps(writer))


def test_of_a_union_only_the_branch_that_does_not_fit_is_refused() -> None:
    """Most records of a topic may be of the other one."""
    writer, reader = ["string", "int"], ["null", "long"]
    assert read(reader, writer, encoded(writer, 7)) == 7
    assert read(reader, writer, encoded(writer, "x")) is MISFIT


def test_what_holds_itself_is_refused_where_it_does() -> None:
    deep = {"n": 1, "next": {"n": 2, "next": None}}
    assert read(LIST, LIST, encoded(LIST, deep)) is MISFIT


TOO_MUCH: list[tuple[Any, str]] = [
    (doubling(45), "more than 5000 columns"), ("[" * 300 + '"int"' + "]" * 300, "nested"), ("no.such", "is not JSON"),
    ('"no.such"', "does not define"), ({"type": 5}, "a type that Avro does not have"),
    ({"type": "array"}, "a type that Avro does not have"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "sentence"), TOO_MUCH)
def test_a_schema_that_columns_cannot_follow_is_a_sentence(schema: Any, sentence: str) -> None:
    with pytest.raises(CorruptData, match=sentence):
        columns(schema)


def test_a_pair_that_would_become_too_long_a_program_is_a_sentence() -> None:
    """Two unions of unions have as many pairs as there are products of their branches."""
    wide = record(*((f"f{number}", "int") for number in range(200)))
    with pytest.raises(CorruptData, match="too large for columns"):
        columns(wide).program(json.dumps(wide), most=100)


def test_an_enum_of_many_fields_has_its_symbols_once() -> None:
    """Regression: each field had a table of its own, and a schema of a megabyte took two gigabytes."""
    enum = {"type": "enum", "name": "E", "symbols": [f"s{number}" for number in range(5_000)]}
    schema = record(("e", enum), *((f"f{number}", "E") for number in range(500)))
    assert len(columns(schema).program(json.dumps(schema)).pool) < 2 * len(json.dumps(schema))


def test_a_union_of_too_many_types_is_a_sentence() -> None:
    """Each branch is held against each: Avro knows fifteen types, and names."""
    many: list[Any] = [{"type": "fixed", "name": f"F{number}", "size": 1} for number in range(1001)]
    with pytest.raises(CorruptData, match="union of more than 1000"):
        columns(record(("f", many)))
    with pytest.raises(CorruptData, match="union of more than 1000"):
        columns(record(("f", many[:2]))).program(json.dumps(record(("f", many))))
    assert read(record(("f", many[:2])), record(("f", many[:1000])), b"\2a") == {"f": {"member1": "YQ=="}}
