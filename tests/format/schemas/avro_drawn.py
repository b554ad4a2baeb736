"""Avro schemas by chance with data of theirs, and how another hand, fastavro, writes those."""

import io
from typing import Any

import fastavro
from hypothesis import strategies as st

_names = iter(range(1 << 30))


def encoded(schema: Any, datum: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), datum)
    return out.getvalue()


INTS = st.integers(-(2**31), 2**31 - 1)
LONGS = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(width=32)
LEAVES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    ("null", st.none()), ("boolean", st.booleans()), ("int", INTS), ("long", LONGS), ("float", FLOATS),
    ("double", st.floats()), ("bytes", st.binary(max_size=40)), ("string", st.text(max_size=40)),
]  # fmt: skip
ONE_LEAF = st.sampled_from(LEAVES)
KINDS = st.sampled_from(["leaf", "leaf", "record", "array", "map", "union", "enum", "fixed"])


@st.composite
def schemas(draw: st.DrawFn, depth: int = 3) -> tuple[Any, st.SearchStrategy[Any]]:
    """A schema, and a strategy for its data."""
    kind = draw(KINDS) if depth else "leaf"
    if kind == "leaf":
        leaf: tuple[Any, st.SearchStrategy[Any]] = draw(ONE_LEAF)
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


def doubling(levels: int) -> Any:
    """A record that holds itself twice, so many levels deep."""
    schema: Any = {"type": "record", "name": "D0", "fields": []}
    for level in range(1, levels + 1):
        fields = [{"name": "a", "type": schema}, {"name": "b", "type": f"D{level - 1}"}]
        schema = {"type": "record", "name": f"D{level}", "fields": fields}
    return schema


LIST = {"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}
ENDLESS = {"type": "record", "name": "E", "fields": [{"name": "self", "type": "E"}]}


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
"""Schemas and payloads that kill another reader, or keep it for ever, and what is said of each."""


def record(*fields: tuple[Any, ...], name: str = "R") -> dict[str, Any]:
    """A record of fields (name, type) or (name, type, default)."""
    parts = ("name", "type", "default")
    return {"type": "record", "name": name, "fields": [dict(zip(parts, each, strict=False)) for each in fields]}
