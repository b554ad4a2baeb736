"""Avro to JSON: every type against fastavro, which is another hand's reader, and payloads that would kill it."""

import base64
import io
import json
import math
import struct
import time
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.format.decoded import shown, value_of

_names = iter(range(1 << 30))


def encoded(schema: Any, datum: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), datum)
    return out.getvalue()


def _float(value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0])


INTS = st.integers(-(2**31), 2**31 - 1)
LONGS = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(width=32)
LEAVES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    ("null", st.none()), ("boolean", st.booleans()), ("int", INTS), ("long", LONGS), ("float", FLOATS),
    ("double", st.floats()), ("bytes", st.binary(max_size=40)), ("string", st.text(max_size=40)),
]  # fmt: skip


@st.composite
def schemas(draw: st.DrawFn, depth: int = 3) -> tuple[Any, st.SearchStrategy[Any]]:
    """A schema, and a strategy for its data."""
    kind = draw(
        st.sampled_from(["leaf", "leaf", "record", "array", "map", "union", "enum", "fixed"] if depth else ["leaf"])
    )
    if kind == "leaf":
        leaf: tuple[Any, st.SearchStrategy[Any]] = draw(st.sampled_from(LEAVES))
        return leaf
    name = f"N{next(_names)}"
    if kind == "enum":
        symbols = [f"S{n}" for n in range(draw(st.integers(1, 5)))]
        return {"type": "enum", "name": name, "symbols": symbols}, st.sampled_from(symbols)
    if kind == "fixed":
        size = draw(st.integers(0, 20))
        return {"type": "fixed", "name": name, "size": size}, st.binary(min_size=size, max_size=size)
    if kind == "record":
        fields = draw(st.lists(schemas(depth=depth - 1), max_size=4))
        described = [{"name": f"f{n}", "type": schema} for n, (schema, _) in enumerate(fields)]
        values = {f"f{n}": strategy for n, (_, strategy) in enumerate(fields)}
        return {"type": "record", "name": name, "fields": described}, st.fixed_dictionaries(values)
    inner, data = draw(schemas(depth=depth - 1))
    if kind == "array":
        return {"type": "array", "items": inner}, st.lists(data, max_size=4)
    if kind == "map":
        return {"type": "map", "values": inner}, st.dictionaries(st.text(max_size=5), data, max_size=4)
    if isinstance(inner, list) or inner == "null":
        return inner, data
    return ["null", inner], st.none() | data


def plain(schema: Any, datum: Any) -> Any:
    """A datum as JSON shows it: the contract, by a few lines of Python."""
    if isinstance(schema, list):
        return None if datum is None else plain(schema[1], datum)
    kind = schema if isinstance(schema, str) else schema["type"]
    if kind in ("bytes", "fixed"):
        return base64.b64encode(datum).decode()
    if kind in ("float", "double"):
        number = _float(datum) if kind == "float" else datum
        special = "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
        return number if math.isfinite(number) else special
    if kind == "record":
        return {field["name"]: plain(field["type"], datum[field["name"]]) for field in schema["fields"]}
    if kind == "array":
        return [plain(schema["items"], each) for each in datum]
    if kind == "map":
        return {key: plain(schema["values"], each) for key, each in datum.items()}
    return datum


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_schema_and_datum(data: st.DataObject) -> None:
    """What fastavro wrote is what is shown; cut anywhere, or with a byte more, it is a sentence."""
    schema, strategy = data.draw(schemas())
    datum = data.draw(strategy)
    payload = encoded(schema, datum)
    assert value_of("AVRO", schema, payload) == plain(schema, datum)
    if schema == "bytes":
        return  # of which any bytes are a value: test_avro_values.py
    for payload_cut in {payload[:-1], payload + b"\0"} - {payload}:
        (line,) = shown("AVRO", schema, payload_cut)
        assert "valueError" in line
        raw = line.get("value", "").encode() if "value" in line else base64.b64decode(line["valueBase64"])
        assert raw == b"\0\0\0\0\1" + payload_cut


LIST = {"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}
ENDLESS = {"type": "record", "name": "E", "fields": [{"name": "self", "type": "E"}]}


def doubling(levels: int) -> Any:
    """A record that holds itself twice, so many levels deep."""
    schema: Any = {"type": "record", "name": "D0", "fields": []}
    for level in range(1, levels + 1):
        fields = [{"name": "a", "type": schema}, {"name": "b", "type": f"D{level - 1}"}]
        schema = {"type": "record", "name": f"D{level}", "fields": fields}
    return schema


BOMBS: list[tuple[Any, bytes, str]] = [
    (LIST, b"\2" * 600_000, "nested deeper"),
    (ENDLESS, b"", "nested deeper"),
    ({"type": "array", "items": "null"}, encoded("long", 1 << 40), "too large a text"),
    ({"type": "array", "items": "null"}, encoded("long", -(1 << 40)) + encoded("long", 0), "too large a text"),
    ({"type": "array", "items": "int"}, encoded("long", 1 << 40), "more elements"),
    ({"type": "array", "items": "int"}, encoded("long", -(2**63)) + b"\0", "more elements"),
    (doubling(45), b"", "too large a text"),
    ("string", encoded("long", 2**63 - 1) + b"a", "a length"),
    ("string", encoded("long", -1), "a length"),
    ("string", b"\2\xff", "UTF-8"),
    ("long", b"\xff" * 11, "ends inside"),
    ("int", encoded("long", 1 << 31), "out of its type's range"),
    ("boolean", b"\2", "boolean"),
    (["null"], b"\2", "branch"),
    ({"type": "long", "logicalType": "time-micros"}, encoded("long", 86_400_000_000), "outside the day"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "payload", "sentence"), BOMBS)
def test_a_bomb_ends_in_a_sentence(schema: Any, payload: bytes, sentence: str) -> None:
    """The usual library dies of some of these, and never ends on others."""
    begun = time.monotonic()
    assert sentence in str(value_of("AVRO", schema, payload))
    assert time.monotonic() - begun < 10


def test_many_bombs_take_little_memory() -> None:
    lines = shown("AVRO", {"type": "array", "items": "null"}, *[encoded("long", 1 << 40)] * 50)
    assert len(lines) == 50


@pytest.mark.parametrize(
    "schema",
    [
        "{", "[]]", "3", '"no.such"', '{"type":"record","name":"R"}', '{"type":"enum","name":"E","symbols":3}',
        '{"type":"fixed","name":"F","size":-1}', '{"type":"array"}', "[" * 5000, '{"type":' * 200 + '"int"' + "}" * 200,
        '{"type":"record","fields":[]}', '["null",' * 300 + '"int"' + "]" * 300, '"' + "x" * (1 << 20) + '"',
    ],
)  # fmt: skip
def test_a_schema_that_is_none_is_a_sentence(schema: str) -> None:
    assert "schema" in str(value_of("AVRO", schema, b"\2"))


def test_deep_data_within_the_limit_are_shown() -> None:
    value = value_of("AVRO", LIST, b"\2" * 400 + b"\0")
    assert json.dumps(value).count("next") == 401


@settings(max_examples=500, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_is_written_as_python_does(number: float) -> None:
    (line,) = shown("AVRO", "double", struct.pack("<d", number))
    assert repr(line["value"]) == repr(number)
