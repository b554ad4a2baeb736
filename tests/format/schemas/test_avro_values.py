"""Avro to JSON: unions of any branches, logical types, names and types that hold themselves, against fastavro's writer.

A `Case` draws a datum in two forms: as fastavro writes it, and as a line shows it.
"""

import base64
import datetime
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.format.decoded import value_of
from tests.format.schemas.avro_drawn import encoded

ZONE = datetime.UTC
EPOCH = datetime.datetime(1970, 1, 1)
Pair = tuple[Any, Any]


class Case(NamedTuple):
    """A schema, its data, and the name that fastavro tells a union's branch by."""

    schema: Any
    pairs: st.SearchStrategy[Pair]
    branch: str


def leaf(schema: Any, pairs: st.SearchStrategy[Pair], branch: str) -> Case:
    """A union's branch: the value for fastavro begins with its name."""
    return Case(schema, pairs.map(lambda pair: ((branch, pair[0]), pair[1])), branch)


def logical(kind: str, meaning: str, pairs: st.SearchStrategy[Pair], **more: Any) -> Case:
    return leaf({"type": kind, "logicalType": meaning, **more}, pairs, more.get("name", kind))


def shown_as(data: st.SearchStrategy[Any], show: Callable[[Any], Any]) -> st.SearchStrategy[Pair]:
    return data.map(lambda datum: (datum, show(datum)))


def moment(unit: str, zone: datetime.tzinfo | None) -> st.SearchStrategy[Pair]:
    step = 1000 if unit == "milliseconds" else 1
    times = st.datetimes().map(lambda drawn: drawn.replace(microsecond=drawn.microsecond // step * step, tzinfo=zone))
    return shown_as(times, lambda drawn: drawn.replace(tzinfo=None).isoformat(timespec=unit) + ("Z" if zone else ""))


def day_time(unit: str) -> st.SearchStrategy[Pair]:
    step = 1000 if unit == "milliseconds" else 1
    times = st.times().map(lambda drawn: drawn.replace(microsecond=drawn.microsecond // step * step))
    return shown_as(times, lambda drawn: drawn.isoformat(timespec=unit))


def nanoseconds(end: str) -> st.SearchStrategy[Pair]:
    def show(drawn: int) -> str:
        seconds, rest = divmod(drawn, 10**9)
        return (EPOCH + datetime.timedelta(seconds=seconds)).isoformat() + f".{rest:09d}{end}"

    return shown_as(st.integers(-(2**63), 2**63 - 1), show)


def decimals(digits: int, scale: int) -> st.SearchStrategy[Pair]:
    numbers = st.integers(-(10**digits) + 1, 10**digits - 1).map(lambda number: Decimal(f"{number}e-{scale}"))
    return shown_as(numbers, lambda number: f"{number:f}")


def big_decimal(number: int, scale: int) -> bytes:
    raw = number.to_bytes((number.bit_length() + 8) // 8, signed=True)
    return encoded("bytes", raw) + encoded("int", scale)


BIG = st.tuples(st.integers(), st.integers(0, 40)).map(
    lambda drawn: (big_decimal(*drawn), f"{Decimal(f'{drawn[0]}e-{drawn[1]}'):f}")
)
DURATIONS = st.tuples(*[st.integers(0, 2**32 - 1)] * 3).map(
    lambda drawn: (struct.pack("<3I", *drawn), f"P{drawn[0]}M{drawn[1]}DT{drawn[2] // 1000}.{drawn[2] % 1000:03d}S")
)
NULL: st.SearchStrategy[Pair] = st.just((None, None))
LEAVES = [
    leaf("boolean", shown_as(st.booleans(), lambda drawn: drawn), "boolean"),
    leaf("string", shown_as(st.text(), lambda drawn: drawn), "string"),
    leaf("long", shown_as(st.integers(-(2**63), 2**63 - 1), lambda drawn: drawn), "long"),
    logical("int", "date", shown_as(st.dates(), lambda drawn: drawn.isoformat())),
    logical("int", "time-millis", day_time("milliseconds")),
    logical("long", "time-micros", day_time("microseconds")),
    logical("long", "timestamp-millis", moment("milliseconds", ZONE)),
    logical("long", "timestamp-micros", moment("microseconds", ZONE)),
    logical("long", "timestamp-nanos", nanoseconds("Z")),
    logical("long", "local-timestamp-millis", moment("milliseconds", None)),
    logical("long", "local-timestamp-micros", moment("microseconds", None)),
    logical("long", "local-timestamp-nanos", nanoseconds("")),
    logical("string", "uuid", shown_as(st.uuids(), str)),
    logical("bytes", "decimal", decimals(30, 7), precision=30, scale=7),
    logical("bytes", "decimal", decimals(3, 0), precision=3),
    logical("bytes", "big-decimal", BIG),
    logical("fixed", "decimal", decimals(18, 18), name="n.Fixed", size=8, precision=18, scale=18),
    logical("fixed", "uuid", st.uuids().map(lambda drawn: (drawn.bytes, str(drawn))), name="Id", size=16),
    logical("fixed", "duration", DURATIONS, name="Span", size=12),
]


SEVERAL = st.lists(st.sampled_from(LEAVES), min_size=1, max_size=5)


@st.composite
def unions(draw: st.DrawFn) -> Case:
    """Branches of several types, of each type or name one."""
    branches = {case.branch: case for case in draw(SEVERAL)}
    schema = [case.schema for case in branches.values()]
    null_at = draw(st.integers(0, len(schema)))
    pairs = NULL | st.one_of([case.pairs for case in branches.values()])
    return Case([*schema[:null_at], "null", *schema[null_at:]], pairs, "")


@given(st.data())
def test_a_union_is_its_branch_alone(data: st.DataObject) -> None:
    """The schema decides which branch it was; the value is what the producer meant."""
    union = data.draw(unions())
    schema = {"type": "record", "name": "R", "fields": [
        {"name": "one", "type": union.schema},
        {"name": "many", "type": {"type": "array", "items": named_only(union.schema)}},
    ]}  # fmt: skip
    one, *many = data.draw(st.lists(union.pairs, min_size=1, max_size=4))
    payload = encoded(schema, {"one": one[0], "many": [pair[0] for pair in many]})
    assert value_of("AVRO", schema, payload) == {"one": one[1], "many": [pair[1] for pair in many]}


def named_only(union: list[Any]) -> list[Any]:
    """The same, with names for what has been defined."""
    return [branch["name"] if isinstance(branch, dict) and "name" in branch else branch for branch in union]


NONE = [
    {"type": "bytes", "logicalType": "decimal", "precision": 1, "scale": 2},
    {"type": "bytes", "logicalType": "decimal", "precision": 0},
    {"type": "bytes", "logicalType": "decimal"},
    {"type": "bytes", "logicalType": "uuid"},
    {"type": "fixed", "name": "F", "size": 1, "logicalType": "decimal", "precision": 3},
    {"type": "fixed", "name": "F", "size": 0, "logicalType": "decimal", "precision": 1},
    {"type": "fixed", "name": "F", "size": 1, "logicalType": "uuid"},
    {"type": "fixed", "name": "F", "size": 1, "logicalType": "duration"},
    {"type": "fixed", "name": "F", "size": 1, "logicalType": ["date"]},
]


@pytest.mark.parametrize("schema", NONE)
def test_a_logical_type_that_is_none_is_ignored(schema: dict[str, Any]) -> None:
    """Avro prescribes it; a reader that refuses such a schema loses the topic."""
    plain = {name: part for name, part in schema.items() if name in ("type", "name", "size")}
    content = b"\1" * schema.get("size", 1)
    shown = base64.b64encode(content).decode()
    assert value_of("AVRO", ["null", schema], encoded(["null", plain], content)) == shown


DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 3}
ALONE: list[tuple[Any, bytes, str]] = [
    ("bytes", b"\xfb\x1e", "+x4="),
    ({"type": {"type": "bytes"}}, b"", ""),
    (DECIMAL, b"\xfb\x1e", "-1.250"),
    ({"type": DECIMAL}, bytes(range(255, 245, -1)), "-18591708106338011.146"),
    (DECIMAL, b"\x05", "0.005"),
    ({"type": "bytes", "logicalType": "big-decimal"}, big_decimal(-1250, 3), "-1.250"),
    ({"type": "bytes", "logicalType": "no-such-type"}, b"\0\xff", "AP8="),
]
"""Top-level schemas that are bytes, content, and what it says."""


@pytest.mark.parametrize(("schema", "content", "text"), ALONE)
def test_bytes_alone_have_a_length_or_none(schema: Any, content: bytes, text: str) -> None:
    """Python's serializer, as Avro's own encoders, writes a length in front; Java's for byte arrays writes none."""
    assert value_of("AVRO", schema, encoded("bytes", content)) == text
    assert value_of("AVRO", schema, content) == text


@pytest.mark.parametrize("payload", [b"\x06\xfb\x1e", b"\x02\xfb\x1e", b"\x80", b"\xff\x80", b"\x01\x05"])
def test_what_is_no_length_of_all_that_follows_belongs_to_the_bytes(payload: bytes) -> None:
    """Only a length that is exactly what is left is one: no byte is passed over."""
    number = Decimal(int.from_bytes(payload, signed=True)).scaleb(-3)
    assert value_of("AVRO", "bytes", payload) == base64.b64encode(payload).decode()
    assert value_of("AVRO", DECIMAL, payload) == f"{number:f}"


TREE = {"type": "record", "name": "Tree", "namespace": "a.b", "fields": [
    {"name": "id", "type": {"type": "fixed", "name": "Id", "namespace": "", "size": 2}},
    {"name": "left", "type": ["null", "Tree"]}, {"name": "more", "type": {"type": "array", "items": "a.b.Tree"}},
    {"name": "by", "type": {"type": "map", "values": [
        "Tree", {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}]}},
    {"name": "kind", "type": ["a.b.Kind", "null"]},
]}  # fmt: skip


def trees() -> st.SearchStrategy[Pair]:
    kinds = st.sampled_from(["A", "B"])

    def grown(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
        branches = inner | kinds.map(lambda kind: (kind, kind))
        parts = st.tuples(
            NULL | inner, st.lists(inner, max_size=2),
            st.dictionaries(st.text(max_size=3), branches, max_size=2), st.none() | kinds,
        )  # fmt: skip
        return parts.map(
            lambda drawn: (
                {"id": b"ab", "left": drawn[0][0], "more": [pair[0] for pair in drawn[1]],
                 "by": {key: pair[0] for key, pair in drawn[2].items()}, "kind": drawn[3]},
                {"id": "YWI=", "left": drawn[0][1], "more": [pair[1] for pair in drawn[1]],
                 "by": {key: pair[1] for key, pair in drawn[2].items()}, "kind": drawn[3]},
            )
        )  # fmt: skip

    leaf: dict[str, Any] = {"id": b"\0\xff", "left": None, "more": [], "by": {}, "kind": None}
    return st.recursive(st.just((leaf, leaf | {"id": "AP8="})), grown, max_leaves=8)


@given(trees())
def test_a_type_may_hold_itself(pair: Pair) -> None:
    """Trees and lists are what recursive types are for; namespaces tell names apart."""
    assert value_of("AVRO", TREE, encoded(TREE, pair[0])) == pair[1]
