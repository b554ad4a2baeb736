"""Named types of Avro schemas: full names, namespaces and uses, against those that fastavro finds."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.errors import CorruptData
from kafkafs.format.schemas.avro_names import (
    SCHEMA_BYTES,
    SCHEMA_DEPTH,
    AvroNames,
    full_name,
    parse_schema,
    record_fields,
)

SPACES = st.sampled_from(["", "a", "a.b", None])


class Drawn:
    """A schema in the making: which names are taken, and in which namespace a definition stands."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self._draw = draw
        self._count = 0
        self.defined: list[str] = []
        self.used: list[str] = []

    def type(self, space: str, depth: int) -> Any:
        known = [full for full in self.defined if "." in full or not space]  # else only Java's reader finds it
        kinds = ["int", "record", "enum", "fixed", "array", "map", "union"] if depth else ["int"]
        kind = self._draw(st.sampled_from([*kinds, *(["name"] * bool(known))]))
        match kind:
            case "int":
                return "int"
            case "name":
                full = self._draw(st.sampled_from(known))
                own, _, name = full.rpartition(".")
                self.used.append(full)
                return name if own == space and self._draw(st.booleans()) else full
            case "array" | "map":
                return {"type": kind, "items" if kind == "array" else "values": self.type(space, depth - 1)}
            case "union":
                return ["null", {"type": "array", "items": self.type(space, depth - 1)}]
        return self._named(kind, space, depth)

    def _named(self, kind: str, space: str, depth: int) -> Any:
        self._count += 1
        name, own = f"N{self._count}", self._draw(SPACES)
        made: dict[str, Any] = {"type": kind, "name": name}
        inner = space if own is None else own
        if own and self._draw(st.booleans()):
            made["name"] = f"{own}.{name}"
        elif own is not None:
            made["namespace"] = own
        full = f"{inner}.{name}" if inner else name
        self.used.append(full)
        self.defined.append(full)
        if kind == "enum":
            return made | {"symbols": ["A"]}
        if kind == "fixed":
            return made | {"size": 2}
        fields = [self.type(inner, depth - 1) for _ in range(self._draw(st.integers(0, 3)))]
        return made | {"fields": [{"name": f"f{at}", "type": each} for at, each in enumerate(fields)]}


@given(st.data())
def test_names_are_those_that_another_hand_finds(data: st.DataObject) -> None:
    """A name that is resolved in the wrong namespace decodes a record by its neighbour's schema."""
    drawn = Drawn(data.draw)
    schema = drawn.type("", 4)
    found: dict[str, Any] = {}
    fastavro.parse_schema(schema, found)
    parsed, names = parse_schema(json.dumps(schema))
    assert parsed == schema
    assert set(names.types) == set(found) == set(drawn.defined)
    assert {name: each.uses for name, each in names.types.items()} == {
        name: drawn.used.count(name) for name in drawn.defined
    }
    assert all(each.kind == found[name]["type"] for name, each in names.types.items())


@pytest.mark.parametrize(
    ("definition", "space", "expected"),
    [
        ({"name": "N"}, "", ("N", "")), ({"name": "N"}, "a", ("a.N", "a")), ({"name": "b.N"}, "a", ("b.N", "b")),
        ({"name": "N", "namespace": "b"}, "a", ("b.N", "b")), ({"name": "c.N", "namespace": "b"}, "a", ("c.N", "c")),
        ({"name": "N", "namespace": ""}, "a", ("N", "")), ({"name": "N", "namespace": 5}, "a", ("a.N", "a")),
    ],
)  # fmt: skip
def test_a_full_name_and_what_is_open_inside(definition: Any, space: str, expected: tuple[str, str]) -> None:
    assert full_name(definition, space) == expected


def test_a_type_may_be_wrapped_in_another_object() -> None:
    """As generators write it; the names inside are in the namespace that is open around it."""
    inner = {"type": "record", "name": "R", "namespace": "a", "fields": [
        {"name": "f", "type": {"type": {"type": "enum", "name": "E", "symbols": []}}}, {"name": "g", "type": "E"},
    ]}  # fmt: skip
    _, names = parse_schema(json.dumps({"type": {"type": inner}}))
    assert {name: one.uses for name, one in names.types.items()} == {"a.R": 1, "a.E": 2}


def test_a_short_name_means_its_neighbour_before_what_has_no_namespace() -> None:
    names = AvroNames()
    for definition in ({"name": "N"}, {"name": "a.N"}):
        names.collect({"type": "fixed", "size": 1, **definition})
    for name, space, found in (
        ("N", "a", "a.N"),
        ("N", "b", "N"),
        ("N", "", "N"),
        ("a.N", "b", "a.N"),
        ("M", "a", None),
    ):
        assert (one := names.find(name, space)) is None or one.name == found
        assert (one is None) == (found is None)


@pytest.mark.parametrize("text", ["string", " string ", '"string"'])
def test_old_clients_registered_the_bare_word(text: str) -> None:
    assert parse_schema(text)[0] == "string"


NONE: list[tuple[str, str]] = [
    ("{", "is not JSON"), ("nope", "is not JSON"), ("[" * 100_000, "is not JSON"),
    ('{"type":"record","fields":[]}', "without a name"), ('{"type":"enum","name":""}', "without a name"),
    ('{"type":"record","name":"R"}', "without fields"),
    ('{"type":"record","name":"R","fields":[5]}', "a field without"),
    ('{"type":"record","name":"R","fields":[{"name":"a"}]}', "a field without"),
    ('{"type":"array","items":' * (SCHEMA_DEPTH + 1) + '"int"' + "}" * (SCHEMA_DEPTH + 1), "nested deeper"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "sentence"), NONE)
def test_what_is_no_schema_is_a_sentence(text: str, sentence: str) -> None:
    """Its text comes from a stranger: nothing but CorruptData may come of it."""
    with pytest.raises(CorruptData, match=sentence):
        parse_schema(text)


def test_a_schema_and_its_references_are_bounded_together() -> None:
    long = '"long"'.ljust(SCHEMA_BYTES - len('"int"'))
    assert parse_schema('"int"', [long])[0] == "int"
    with pytest.raises(CorruptData, match=f"more than {SCHEMA_BYTES} characters"):
        parse_schema('"int"', [long, '"string"'])


WORDS = st.sampled_from(["type", "name", "fields", "items", "values", "x"])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.sampled_from(["record", "enum"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner),
)


@given(ANYTHING)
def test_any_json_is_names_or_a_sentence(schema: Any) -> None:
    with suppress(CorruptData):
        parse_schema(json.dumps(schema))


def test_fields_come_in_their_order() -> None:
    fields = [{"name": name, "type": "int"} for name in "zab"]
    assert record_fields({"fields": fields}) == fields
