"""The entries of Protobuf's maps, wherever in a message they are, come in the order of their keys."""

import json
from typing import Any

import pytest

from kafkafs.errors import CorruptData
from kafkafs.format.schemas.protobuf import ProtobufSchema
from tests.format.schemas.test_protobuf import HEAD

ORDERED = HEAD + (
    'import "google/protobuf/struct.proto"; import "google/protobuf/any.proto";'
    " message A { map<string, int32> s = 1; map<int64, A> i = 2; map<bool, int32> b = 3; repeated A l = 4; A a = 5;"
    " google.protobuf.Struct f = 6; google.protobuf.Any y = 7; }"
)


def test_the_entries_of_a_map_come_in_the_order_of_their_keys() -> None:
    """The library's order is another one in each process: a file would have other bytes in each mount."""
    schema = ProtobufSchema(ORDERED, ())
    message: Any = schema.named("A")()
    names = ["q", "w", "e", "r", "t", "y", "u", "i", "o", "p"]
    for each in (message, message.l.add(), message.a, message.i[10], message.i[-2]):
        for name in names:
            each.s[name] = 1
        for number in (100, 20, 3, -5):
            each.i[number].b[True] = 1
            each.i[number].b[False] = 1
        each.f.update({name: [dict.fromkeys(names)] for name in names})
        each.y.Pack(each.f)
    outer: Any = schema.named("A")()
    outer.y.Pack(message)
    text = schema.json(b"\0" + message.SerializeToString(), None)
    again = json.loads(text)
    for part in (again, again["l"][0], again["a"], again["i"]["10"]):
        assert list(part["s"]) == sorted(names)
        assert list(map(int, part["i"])) == sorted(map(int, part["i"]))
        assert list(part["i"]["-5"]["b"]) == ["false", "true"]
        assert list(part["f"]) == list(part["f"]["q"][0]) == list(part["y"]["value"]) == sorted(names)
    inside = json.loads(schema.json(b"\0" + outer.SerializeToString(), None))["y"]
    assert json.dumps({name: part for name, part in inside.items() if name != "@type"}) == json.dumps(again)


CIRCLE = (
    'syntax = "proto2"; message A { optional B b = 1; } message B { optional A a = 1; optional C c = 2; }'
    " message C { extensions 5; map<string, int32> m = 1; } extend C { repeated C e = 5; }"
)


def test_maps_are_found_behind_types_that_hold_each_other_and_in_extensions() -> None:
    schema = ProtobufSchema(CIRCLE, ())
    message: Any = schema.named("A")()
    for _ in range(2):
        inner = message.b.a.b.c.Extensions[schema.pool.FindExtensionByName("e")].add()
        for name in "qwertyuiop":
            inner.m[name] = message.b.c.m[name] = 1
    again = json.loads(schema.json(b"\0" + message.SerializeToString(), None))
    found = [again["b"]["c"]["m"], *(each["m"] for each in again["b"]["a"]["b"]["c"]["[e]"])]
    assert ["".join(each) for each in found] == ["eiopqrtuwy"] * 3


@pytest.mark.parametrize("through", ["y", "a.y", "l.y"])
def test_any_in_any_ends(through: str) -> None:
    """Regression: each holds a copy of all that is inside, and a payload of two megabytes took eight hundred."""
    schema = ProtobufSchema(ORDERED, ())

    def nested(levels: int, size: int) -> bytes:
        inner: Any = schema.named("A")(s={"x" * size: 1})
        for _ in range(levels):
            outer: Any = schema.named("A")()
            place = outer.a if through == "a.y" else outer.l.add() if through == "l.y" else outer
            place.y.Pack(inner)
            inner = outer
        return b"\0" + bytes(inner.SerializeToString())

    assert json.loads(schema.json(nested(10, 100_000), None))
    assert json.loads(schema.json(nested(30, 100), None)), "a small one takes little"
    with pytest.raises(CorruptData, match="in each other"):
        schema.json(nested(11, 100_000), None)
