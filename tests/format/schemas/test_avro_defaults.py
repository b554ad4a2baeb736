"""A field's default, where older data lack the field: what data of its type become, by the kernel."""

import json
from typing import Any

import pytest

from kafkafs.errors import CorruptData
from kafkafs.format.schemas.shape import double_bits, float_bits
from tests.format.schemas.avro_drawn import record
from tests.format.schemas.test_avro_typed import columns, read

POINT = record(("x", "int", 7), ("y", ["null", "int"], None), name="P")
ADDED: list[tuple[Any, Any, Any]] = [
    (POINT, {}, {"x": 7, "y": None}),
    ({"type": "array", "items": POINT}, [{"y": None}, {"x": 1}], [{"x": 7, "y": None}, {"x": 1, "y": None}]),
    ({"type": "map", "values": ["int", "string"]}, {"é": "x"}, [{"key": "é", "value": {"member1": "x"}}]),
    ({"type": "int", "logicalType": "time-millis"}, 1, "00:00:00.001"),
    ({"type": "long", "logicalType": "time-micros"}, 1, "00:00:00.000001"),
    ({"type": "long", "logicalType": "timestamp-nanos"}, -1, "1969-12-31T23:59:59.999999999Z"),
    ({"type": "long", "logicalType": "timestamp-millis"}, -1, -1), ({"type": "int", "logicalType": "date"}, 5, 5),
    ({"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}, "\u00ff" * 16,
     "ffffffff-ffff-ffff-ffff-ffffffffffff"),
    ({"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"}, "\u0001", "P1M0DT0.000S"),
    ({"type": "fixed", "name": "F", "size": 2}, "abc", "YWI="), ("bytes", "\u00ff", "/w=="), ("string", "", ""),
    ({"type": "bytes", "logicalType": "decimal", "precision": 50, "scale": 2}, "\u0001", "0.01"),
    ({"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}, "\u00ff", "-0.01"),
    ({"type": "bytes", "logicalType": "big-decimal"}, "\u0002\u0005\u0002", "0.5"),
    ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B", "B"), ("boolean", True, True),
    ("long", -(2**63), -(2**63)), ("double", 1, double_bits(1.0)), ("float", 0.1, float_bits(0.1)),
    ([{"type": "enum", "name": "E", "symbols": ["A"]}, "string"], "B", {"member1": "B"}),
    ({"type": "array", "items": "string"}, ["x" * 9999] * 9, ["x" * 9999] * 9),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "default", "expected"), ADDED)
def test_older_data_have_a_fields_default_as_newer_have_its_value(schema: Any, default: Any, expected: Any) -> None:
    """A record's default need not name all of its fields; of a column that is text it is the same text."""
    assert read(record(("f", schema, default)), record(), b"") == {"f": expected}


COLUMN, NUMBER = "does not fit its column", "is not a number of its type"
TYPE, FIELDS = "is of another type than the field", "is a record without all its fields"


@pytest.mark.parametrize(
    ("schema", "default", "sentence"),
    [
        ({"type": "int", "logicalType": "time-millis"}, 86_400_000, COLUMN), ("long", 2**63, NUMBER),
        ("int", 2**31, COLUMN), (record(("x", "int")), {}, FIELDS),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "B", TYPE), ("null", 5, TYPE),
        (["null", "int"], "x", "has a type that its union lacks"),
        (record(("r", ["null", "R"]), name="R"), {"r": {"r": None}}, COLUMN),
        ({"type": "array", "items": "int"}, ["x"], TYPE), ({"type": "map", "values": "int"}, [], TYPE),
        ("int", True, TYPE), ("double", 10**400, NUMBER),
    ],
)  # fmt: skip
def test_a_default_that_is_none_of_its_type_is_a_sentence(schema: Any, default: Any, sentence: str) -> None:
    with pytest.raises(CorruptData, match=f"a field's default {sentence}$"):
        columns(record(("f", schema, default), name="T")).program(json.dumps(record(name="T")))
