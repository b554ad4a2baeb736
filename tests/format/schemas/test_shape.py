"""What columns a schema's data have: bits of numbers, and defaults as the same JSON that data become."""

import base64
import json
import math
import struct
from decimal import Context, Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.errors import CorruptData
from kafkafs.format.schemas.shape import Shape, default_text, double_bits, float_bits

INT, LONG, STRING, BYTES, NULL = (Shape(kind) for kind in ("int", "long", "string", "bytes", "null"))
DOUBLE, FLOAT, BOOLEAN = Shape("double"), Shape("float"), Shape("boolean")


@given(st.floats() | st.floats(width=32))
def test_the_bits_of_a_number_are_all_of_it(number: float) -> None:
    """NaN's payload, the sign of zero: a JSON reader that rounds would lose them."""
    assert struct.pack("<q", double_bits(number)) == struct.pack("<d", number)
    if not math.isfinite(number) or abs(number) < 3e38:
        assert struct.pack("<i", float_bits(number)) == struct.pack("<f", number)


def array(inner: Shape) -> Shape:
    return Shape("array", (("item", inner),))


def pairs(inner: Shape) -> Shape:
    return Shape("map", (("item", inner),))


POINT = Shape("record", (("x", INT), ("y", DOUBLE)))
EITHER = Shape("union", (("member0", INT), ("member1", STRING), ("member2", array(INT))))
PRICE = Shape("decimal", (), 10, 2)

DEFAULTS: list[tuple[Shape, Any, Any]] = [
    (INT, 5, 5), (LONG, -(2**63), -(2**63)), (Shape("date"), 19_000, 19_000),
    (Shape("timestamp-millis"), 1_700_000_000_000, 1_700_000_000_000), (BOOLEAN, True, True), (STRING, 'a"\n', 'a"\n'),
    (DOUBLE, 0.5, double_bits(0.5)), (DOUBLE, 1, double_bits(1.0)), (FLOAT, 0.5, float_bits(0.5)),
    (BYTES, "\u00ff\u0000", "/wA="), (PRICE, "\u0001\u0002", "2.58"), (PRICE, "\u00ff", "-0.01"), (PRICE, "", "0.00"),
    (array(DOUBLE), [1, 0.5], [double_bits(1.0), double_bits(0.5)]), (array(INT), [], []),
    (pairs(INT), {"k": 1, "\x7f": 2}, [{"key": "k", "value": 1}, {"key": "\x7f", "value": 2}]),
    (POINT, {"x": 1, "y": 2}, {"x": 1, "y": double_bits(2.0)}), (POINT, {"x": 1}, {"x": 1, "y": None}),
    (EITHER, 5, {"member0": 5}), (EITHER, "x", {"member1": "x"}), (EITHER, [1], {"member2": [1]}),
    (NULL, None, None), (EITHER, None, None), (array(array(INT)), [[1], []], [[1], []]),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "default", "expected"), DEFAULTS)
def test_a_default_is_the_json_that_data_become(shape: Shape, default: Any, expected: Any) -> None:
    """Older data have it where newer ones have a field: both stand in one column."""
    assert json.loads(default_text(shape, default)) == expected


REFUSED: list[Any] = [
    (INT, "5"), (INT, True), (INT, 0.5), (BOOLEAN, 1), (STRING, 5), (BYTES, 5), (PRICE, 5), (array(INT), {}),
    (array(INT), ["x"]), (pairs(INT), []), (POINT, []), (POINT, {"x": "no"}), (EITHER, 0.5), (DOUBLE, "0.5"),
    (FLOAT, 1e39), (DOUBLE, True), (NULL, 5),
    pytest.param(DOUBLE, 10**400, id="too large"), pytest.param(FLOAT, -(10**400), id="too small"),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "default"), REFUSED)
def test_a_default_of_another_type_is_a_sentence(shape: Shape, default: Any) -> None:
    """Avro's own tools let such schemas pass; what they would mean nobody knows."""
    with pytest.raises(CorruptData, match="a field's default is"):
        default_text(shape, default)


@given(st.binary(max_size=20))
def test_bytes_and_decimals_are_characters_in_a_schema(content: bytes) -> None:
    """One of Latin-1 for each byte."""
    text = content.decode("latin-1")
    assert base64.b64decode(json.loads(default_text(BYTES, text))) == content
    shown = Decimal(json.loads(default_text(Shape("decimal", (), 38, 5), text)))
    assert shown.scaleb(5, Context(prec=100)) == int.from_bytes(content, signed=True)
