"""Older data as the newest schema has them: pairs of schemas, by chance, against fastavro's own resolution."""

import io
import math
import struct
from typing import Any, NamedTuple

import fastavro
from hypothesis import event, given
from hypothesis import strategies as st

from tests.format.schemas.avro_drawn import encoded, record, schemas
from tests.tables.test_registered import FIRST, registry, same, typed

WIDER = {"int": ["long", "float", "double"], "long": ["float", "double"], "float": ["double"], "string": ["bytes"],
         "bytes": ["string"]}  # fmt: skip
DEFAULTS: list[tuple[Any, Any]] = [
    ("int", 5), ("double", 0.5), ("string", "new"), (["null", "long"], None), ({"type": "array", "items": "int"}, [1]),
    ({"type": "map", "values": "string"}, {"k": "v"}), (record(("x", "boolean"), name="Added"), {"x": True}),
]  # fmt: skip


class Newer(NamedTuple):
    """A schema for what another wrote; `fits` where every datum can be read, by Avro's rules."""

    schema: Any
    fits: bool = True


@st.composite
def newer(draw: st.DrawFn, schema: Any) -> Newer:
    """A schema that may have followed, by compatible changes and now and then by another."""
    if isinstance(schema, list):
        inner = draw(newer(schema[1]))
        if draw(st.booleans()) or isinstance(inner.schema, list) or inner.schema == "null":
            return Newer(inner.schema if isinstance(inner.schema, list) else [*schema[:1], inner.schema], inner.fits)
        return Newer(inner.schema, False)
    change = draw(st.sampled_from(["inside", "inside", "widen", "nullable", "other"]))
    if change == "other" and draw(st.integers(0, 4)) == 0:
        return Newer("boolean", schema == "boolean")
    kind = schema if isinstance(schema, str) else schema["type"]
    if change == "widen" and kind in WIDER:
        chosen = draw(st.sampled_from(WIDER[kind]))
        return Newer(chosen, chosen != "string")  # bytes need not be UTF-8
    if change == "nullable" and kind != "null":
        inner = draw(newer(schema))
        return inner if isinstance(inner.schema, list) else Newer(["null", inner.schema], inner.fits)
    if kind in ("array", "map"):
        name = "items" if kind == "array" else "values"
        inner = draw(newer(schema[name]))
        return Newer({"type": kind, name: inner.schema}, inner.fits)
    if kind in ("record", "enum", "fixed"):
        return draw(named(schema))
    return Newer(schema)


@st.composite
def named(draw: st.DrawFn, schema: Any) -> Newer:
    """A record, an enum or a fixed that followed another."""
    made, fits = dict(schema), True
    if draw(st.integers(0, 5)) == 0:
        made["name"] = f"{schema['name']}x"
        if draw(st.booleans()):
            made["aliases"] = [schema["name"]]
        else:
            fits = False
    if schema["type"] == "fixed":
        more = draw(st.sampled_from([0, 0, 0, 1]))
        return Newer(made | {"size": schema["size"] + more}, fits and not more)
    if schema["type"] == "enum":
        kept = draw(st.lists(st.sampled_from(schema["symbols"]), unique=True, max_size=5))
        made["symbols"] = [*kept, "NEW"]
        if draw(st.booleans()):
            made["default"] = "NEW"
        return Newer(made, fits and ("default" in made or {*kept} == {*schema["symbols"]}))
    fields = []
    for one in schema["fields"]:
        inner = draw(newer(one["type"]))
        changed = {"name": one["name"], "type": inner.schema}
        if draw(st.integers(0, 4)) == 0:
            changed |= {"name": f"{one['name']}x", "aliases": [one["name"]]}
        if draw(st.integers(0, 4)):
            fields.append(changed)
            fits = fits and inner.fits
    if draw(st.booleans()):
        kind, default = draw(st.sampled_from(DEFAULTS))
        if kind != DEFAULTS[-1][0]:
            fields.append({"name": "added", "type": kind, "default": default})
    return Newer(made | {"fields": draw(st.permutations(fields))}, fits)


def as_column(schema: Any, datum: Any) -> Any:
    """What fastavro read by a schema, as its column has it: there a default may have another type's number."""
    if isinstance(schema, list):
        return None if datum is None else as_column(next(each for each in schema if each != "null"), datum)
    kind = schema if isinstance(schema, str) else schema["type"]
    match kind:
        case "record":
            fields = {one["name"]: as_column(one["type"], datum[one["name"]]) for one in schema["fields"]}
            return fields or "{}"
        case "array":
            return [as_column(schema["items"], each) for each in datum]
        case "map":
            return {key: as_column(schema["values"], each) for key, each in datum.items()}
        case "float" | "double":
            layout = "<f" if kind == "float" else "<d"
            try:
                return struct.unpack(layout, struct.pack(layout, datum))[0]
            except OverflowError:
                return math.copysign(math.inf, datum)
    return datum


def resolved(older: Any, follower: Any, payload: bytes) -> Any:
    """What fastavro reads; the error, whichever it raises, where it cannot."""
    try:
        return fastavro.schemaless_reader(
            io.BytesIO(payload), fastavro.parse_schema(older), fastavro.parse_schema(follower)
        )
    except Exception as error:
        return error


@given(st.data())
def test_older_data_are_what_fastavro_resolves_them_to(data: st.DataObject) -> None:
    """A topic has one table, and years of data: each value is what Avro prescribes, or keeps its bytes."""
    older, strategy = data.draw(schemas())
    follower, fits = data.draw(newer(older))
    if "bytes" in (older, follower):
        return  # alone they have no length
    payload = encoded(older, data.draw(strategy))
    expected = resolved(older, follower, payload)
    is_read = not isinstance(expected, Exception)
    assert is_read or not fits, repr(expected)
    (row,) = typed(registry(older, follower), FIRST + payload)
    event(f"read {is_read}, fits {fits}, column {row['valueBytes'] is None}")
    if row["valueBytes"] is None:
        assert row["valueError"] is None
        assert is_read, (older, follower, row)
        assert same(row["value"], as_column(follower, expected)), (row, expected)
    else:
        assert (row["value"], row["valueBytes"]) == (None, FIRST + payload)
        assert not fits, (older, follower, row["valueError"])
