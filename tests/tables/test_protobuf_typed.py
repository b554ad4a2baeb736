"""Protobuf's older data in the columns of the newest schema: read where no value changes, else kept as bytes."""

import json
from itertools import permutations
from typing import Any

import pytest

from tests.tables.test_registered import FIRST, registry, typed

P2, P3 = 'syntax = "proto2"; ', 'syntax = "proto3"; '


def columns(older: str, newer: str, payload: bytes) -> dict[str, Any]:
    """What a payload of the older schema becomes, which the newest has to read."""
    (row,) = typed(registry(older, newer, kind="PROTOBUF"), FIRST + b"\0" + payload)
    assert row["valueBytes"] in (None, FIRST + b"\0" + payload)
    assert (row["valueBytes"] is None) == (row["valueError"] is None)
    return row


READ: list[tuple[str, str, bytes, Any]] = [
    ("int32 x = 1; string gone = 2;", "int32 x = 1; string more = 3;", b"\x08\1\x12\1q", {"x": 1, "more": ""}),
    ("int32 x = 1; B b = 2; message B { int32 y = 1; int32 z = 2; }",
     "int64 renamed = 1; B b = 2; message B { int32 y = 1; }",
     b"\x08" + b"\xff" * 9 + b"\1\x12\4\x08\1\x10\2", {"renamed": -1, "b": {"y": 1}}),
    ("uint32 x = 1; bool y = 2;", "uint64 x = 1; int32 y = 2;", b"\x08\xff\xff\xff\xff\x0f\x10\1",
     {"x": 2**32 - 1, "y": 1}),
    ("int32 x = 1; string s = 2;", "repeated int32 x = 1; bytes s = 2;", b"\x08\1\x12\2\xc3\xa9",
     {"x": [1], "s": "é".encode()}),
    ("map<string, B> m = 1; message B { int32 x = 1; string gone = 2; }",
     "map<string, B> m = 1; message B { int32 x = 1; }",
     b"\x0a\x0a\x0a\1k\x12\5\x08\1\x12\1q", {"m": {"k": {"x": 1}}}),
    ("E e = 1; enum E { Z = 0; A1 = 1; }", "E e = 1; enum E { Z = 0; }", b"\x08\1", {"e": "1"}),
    ("E e = 1; enum E { option allow_alias = true; Z = 0; A1 = 1; A2 = 1; }",
     "E e = 1; enum E { option allow_alias = true; Z = 0; A1 = 1; A2 = 1; }", b"\x08\1", {"e": "A1"}),
    ("int32 x = 1;", "oneof o { int32 x = 1; string s = 2; }", b"\x08\1", {"x": 1, "s": None}),
    ("A a = 1; int32 x = 2;", "A a = 1; int64 x = 2;", b"\x10\1", None),
]  # fmt: skip


@pytest.mark.parametrize(("older", "newer", "payload", "expected"), READ)
def test_older_data_are_read_by_the_newest_schema(older: str, newer: str, payload: bytes, expected: Any) -> None:
    """Regression: one field that was taken away turned all older data to bytes."""
    row = columns(f"{P3} message A {{ {older} }}", f"{P3} message A {{ {newer} }}", payload)
    if expected is None:
        assert row["value"]["x"] == 1, "a message that holds itself"
    else:
        assert row["value"] == expected


KEPT = [
    (P2, "extensions 5; extend A { optional int32 e = 5; }", "extensions 5; extend A { optional int32 e = 5; }",
     b"\x28\1"),
    (P3, "int64 x = 1;", "int32 x = 1;", b"\x08\x80\x80\x80\x80\x10"),
    (P3, "int32 x = 1;", "sint32 x = 1;", b"\x08\1"),
    (P3, "int32 x = 1;", "uint32 x = 1;", b"\x08\1"),
    (P3, "repeated int32 x = 1;", "int32 x = 1;", b"\x0a\2\1\2"),
    (P3, "string x = 1;", "int32 x = 1;", b"\x0a\1q"),
    (P3, "string x = 1;", "A x = 1;", b"\x0a\0"),
    (P3, "bytes x = 1;", "string x = 1;", b"\x0a\1\xff"),
    (P2, "optional bytes x = 1;", "optional string x = 1;", b"\x0a\1\xff"),
    (P3, "int32 x = 1; string s = 2;", "oneof o { int32 x = 1; string s = 2; }", b"\x08\1\x12\1q"),
    (P2, "repeated E e = 1; enum E { Z = 0; B = 1; }", "repeated E e = 1; enum E { Z = 0; }", b"\x08\0\x08\1"),
    (P2, "repeated I i = 1; message I { repeated E e = 1; } enum E { Z = 0; B = 1; }",
     "repeated I i = 1; message I { repeated E e = 1; } enum E { Z = 0; }", b"\x0a\2\x08\1"),
    (P3, "map<string, int64> m = 1;", "map<string, int32> m = 1;", b"\x0a\0"),
    (P3, "map<string, int32> m = 1;", "repeated M m = 1; message M { string key = 1; int32 value = 2; }", b"\x0a\0"),
    (P3, "int32 x = 1;", "int32 x = 1;", b"\x08\1\x10\2"),
]  # fmt: skip


GOOGLES = ["Timestamp", "Duration", "Any"]
IMPORTS = "".join(
    f'import "google/protobuf/{name}.proto"; ' for name in ("timestamp", "duration", "any", "struct", "field_mask")
)
PLACES = [
    "%s x = 1;",
    "repeated %s x = 1;",
    "map<string, %s> x = 1;",
    "B x = 1; message B { %s y = 1; }",
    "oneof o { %s x = 1; }",
]


@pytest.mark.parametrize("place", PLACES)
def test_no_message_of_googles_is_read_as_another(place: str) -> None:
    """Regression: a Duration of three seconds became the Timestamp three seconds after 1970."""
    kinds = [f"google.protobuf.{name}" for name in GOOGLES] + ["Own"]
    own = "message Own { int64 seconds = 1; int32 nanos = 2; }"
    for older, newer in permutations(kinds, 2):
        texts = [f"{P3} {IMPORTS} message A {{ {place % kind} }} {own}" for kind in (older, newer)]
        row = columns(texts[0], texts[1], b"\x0a\2\x08\3")
        assert row["value"] is None, (older, newer, row)
        assert "the table's schema has another type for field" in row["valueError"]


@pytest.mark.parametrize(("syntax", "older", "newer", "payload"), KEPT)
def test_what_would_change_keeps_its_bytes(syntax: str, older: str, newer: str, payload: bytes) -> None:
    """Protobuf reads such data and tells nobody that they are others now."""
    row = columns(f"{syntax} message A {{ {older} }}", f"{syntax} message A {{ {newer} }} // newer", payload)
    assert row["value"] is None
    assert row["valueError"]


def test_the_entries_of_a_map_come_in_the_order_of_their_keys() -> None:
    """The library's order is another one in each process: a task that is run again would write another file."""
    schema = P3 + (
        'import "google/protobuf/struct.proto"; message A { map<string, int32> m = 1; google.protobuf.Struct s = 2; }'
    )
    entries = b"".join(b"\x0a\3\x0a\1" + bytes([name]) for name in b"qwertyuiop")
    parts = b"".join(b"\x0a\5\x0a\1" + bytes([name]) + b"\x12\0" for name in b"qwertyuiop")
    value = columns(schema, schema, b"" + entries + b"\x12" + bytes([len(parts)]) + parts)["value"]
    assert "".join(value["m"]) == "eiopqrtuwy"
    assert "".join(json.loads(value["s"])) == "eiopqrtuwy"
