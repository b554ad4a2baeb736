"""Avro schemas as programs: every type against fastavro, which is another hand's, and schemas that are none."""

import base64
import json
import math
import struct
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format.native.layout import CODE_WORDS
from kafkafs.format.schemas.avro_program import compile_avro
from kafkafs.format.schemas.reference import Reference
from tests.format.decoded import shown, value_of
from tests.format.schemas.avro_drawn import doubling, encoded, schemas


def _float(value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0])


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


def test_a_program_is_no_longer_than_its_schema() -> None:
    """A record that holds itself twice, level by level, has 2^45 fields, and 45 routines."""
    sizes = [compile_avro(json.dumps(doubling(levels))).code.size // CODE_WORDS for levels in (10, 20, 40)]
    assert sizes[2] - sizes[1] == 2 * (sizes[1] - sizes[0])
    assert sizes[2] < 40 * 10


def test_what_others_define_is_known_by_its_name() -> None:
    """References come as texts of their own, in any order of use."""
    money = {"type": "record", "name": "Money", "namespace": "a.b", "fields": [{"name": "units", "type": "long"}]}
    order = {"type": "record", "name": "Order", "namespace": "a.b", "fields": [
        {"name": "one", "type": "Money"}, {"name": "more", "type": {"type": "array", "items": "a.b.Money"}},
    ]}  # fmt: skip
    datum = {"one": {"units": 5}, "more": [{"units": -1}]}
    whole = order | {"fields": [{"name": "one", "type": money}, *order["fields"][1:]]}
    references = [Reference("money.avsc", json.dumps(money))]
    assert value_of("AVRO", order, encoded(whole, datum), references) == datum
    assert "does not define" in str(value_of("AVRO", order, encoded(whole, datum)))


def test_an_enum_that_is_used_often_is_looked_at_once() -> None:
    """Regression: a schema of 830 KB kept a reader for twenty seconds."""
    symbols = [f"s{number}" for number in range(30_000)]
    first = {"name": "e", "type": {"type": "enum", "name": "E", "symbols": symbols}}
    fields = [first, *({"name": f"f{number}", "type": "E"} for number in range(20_000))]
    begun = time.thread_time()
    made = compile_avro(json.dumps({"type": "record", "name": "R", "fields": fields}))
    assert time.thread_time() - begun < 5
    assert len(made.code) == len(fields) + 1
