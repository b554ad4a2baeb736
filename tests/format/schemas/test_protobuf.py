"""Protobuf to JSON: texts of random schemas against Google's library, what texts may hold, and bombs."""

import base64
import json
import time
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.descriptor_pb2 import FieldDescriptorProto
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format.schemas.protobuf_files import read_file
from kafkafs.format.schemas.reference import Reference
from tests.format.decoded import shown, value_of
from tests.promises import at_most

INTS, LONGS = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "double": st.floats(), "float": st.floats(width=32), "int64": LONGS, "uint64": st.integers(0, 2**64 - 1),
    "int32": INTS, "fixed64": st.integers(0, 2**64 - 1), "fixed32": st.integers(0, 2**32 - 1), "bool": st.booleans(),
    "string": st.text(max_size=9), "bytes": st.binary(max_size=9), "uint32": st.integers(0, 2**32 - 1),
    "sfixed32": INTS, "sfixed64": LONGS, "sint32": INTS, "sint64": LONGS,
}  # fmt: skip
KEYS = sorted(set(SCALARS) - {"double", "float", "bytes"})


@st.composite
def messages(draw: st.DrawFn, depth: int = 2) -> tuple[descriptor_pb2.DescriptorProto, str, st.SearchStrategy[Any]]:
    """A message as a descriptor, as text, and a strategy for its content as canonical JSON's objects would give it."""
    message, text, content = descriptor_pb2.DescriptorProto(name=f"M{depth}"), [], {}
    inner = draw(messages(depth=depth - 1)) if depth else None
    if inner is not None:
        message.nested_type.append(inner[0])
        text.append(inner[1])
    for number in range(1, draw(st.integers(1, 4)) + 1):
        kind = draw(st.sampled_from([*SCALARS, "message"] if inner is not None else list(SCALARS)))
        label = draw(st.sampled_from(["", "repeated ", "optional ", "map"]))
        field = message.field.add(name=f"f_{number}", number=number, label=3 if label == "repeated " else 1)
        written = inner[0].name if inner is not None and kind == "message" else kind
        data = inner[2] if inner is not None and kind == "message" else SCALARS[kind]
        target = field
        if label == "map":
            key = draw(st.sampled_from(KEYS))
            entry = message.nested_type.add(name=f"F{number}Entry")
            entry.options.map_entry = True
            entry.field.add(name="key", number=1, label=1, type=_type(key))
            target = entry.field.add(name="value", number=2, label=1)
            field.label, field.type, field.type_name = FieldDescriptorProto.LABEL_REPEATED, _type("message"), entry.name
            text.append(f"map<{key}, {written}> f_{number} = {number};")
            data = st.dictionaries(SCALARS[key], data, max_size=3)
        else:
            text.append(f"{label}{written} f_{number} = {number};")
        if kind == "message":
            target.type, target.type_name = FieldDescriptorProto.TYPE_MESSAGE, written
        else:
            target.type = _type(kind)
        if label == "repeated ":
            data = st.lists(data, max_size=3)
        if label == "optional ":
            field.proto3_optional, field.oneof_index = True, len(message.oneof_decl)
            message.oneof_decl.add(name=f"_f_{number}")
        content[f"f_{number}"] = data
    strategy = st.fixed_dictionaries({}, optional=content)
    return message, f"message {message.name} {{ {' '.join(text)} }}", strategy


def _type(name: str) -> Any:
    return FieldDescriptorProto.Type.Value(f"TYPE_{name.upper()}")


def _fill(message: Any, content: dict[str, Any]) -> None:
    """Sets the fields of a message to plain objects."""
    for name, value in content.items():
        field, target = message.DESCRIPTOR.fields_by_name[name], getattr(message, name)
        if isinstance(value, dict) and field.message_type.GetOptions().map_entry:
            for key, each in value.items():
                if isinstance(each, dict):
                    target[key].SetInParent()
                    _fill(target[key], each)
                else:
                    target[key] = each
        elif isinstance(value, dict):
            target.SetInParent()
            _fill(target, value)
        elif isinstance(value, list):
            for each in value:
                if isinstance(each, dict):
                    _fill(target.add(), each)
                else:
                    target.append(each)
        else:
            setattr(message, name, value)


@given(st.data())
def test_any_text_and_message(data: st.DataObject) -> None:
    """What Google's library wrote by a descriptor is what is shown by the text."""
    message, text, content = data.draw(messages())
    file = descriptor_pb2.FileDescriptorProto(name="t.proto", package="a.b", syntax="proto3", message_type=[message])
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    made = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"a.b.{message.name}"))()
    _fill(made, data.draw(content))
    expected = json_format.MessageToDict(made, preserving_proto_field_name=True)
    payload = b"\0" + made.SerializeToString()
    schema = f'syntax = "proto3"; package a.b; {text}'
    assert value_of("PROTOBUF", schema, payload) == expected
    (line,) = shown("PROTOBUF", base64.b64encode(file.SerializeToString()).decode(), payload)
    assert line["value"] == expected, "the same schema as Python's clients register it"


HEAD = 'syntax = "proto3"; '
TEXTS: list[tuple[str, bytes, Any]] = [
    ("message A { required int32 x = 1; extensions 100 to max; reserved 5, 6 to 8; }"
     " extend A { optional int32 e = 100; }",
     b"\x08\1", {"x": 1}),
    ('syntax = "proto2"; message A { optional group Inner = 1 { optional int32 y = 2; } }', b"\x0b\x10\5\x0c",
     {"inner": {"y": 5}}),
    (HEAD + 'import "confluent/meta.proto"; message A { option (confluent.message_meta) = { doc: "x", params: [{key:'
     ' "a", value: "b"}] }; int32 x = 1 [(confluent.field_meta).doc = "q", json_name = "y"]; }', b"\x08\1", {"x": 1}),
    (HEAD + 'import "confluent/type/decimal.proto"; message A { confluent.type.Decimal d = 1; }',
     b"\x0a\5\x0a\1\5\x18\4", {"d": {"value": "BQ==", "scale": 4}}),
    (HEAD + 'import "google/type/datetime.proto"; message A { google.type.DateTime at = 1; }',
     b"\x0a\x07\x08\xe8\x0f\x42\2\x08\5", {"at": {"year": 2024, "utc_offset": "5s"}}),
    (HEAD + "message A { int32 x = 0x1; E e = 010; } enum E { Z = 0; N = -1; H = 0x10; }", b"\x08\1\x40\x10",
     {"x": 1, "e": "H"}),
    (HEAD + "package p; message A { B.C c = 1; .p.D d = 2; message B { message C { int32 x = 1; } } } message D {}",
     b"\x0a\2\x08\1\x12\0", {"c": {"x": 1}, "d": {}}),
    (HEAD + "enum E { Z = 0; } message A { E e = 1; } service S { rpc F (A) returns (A); }", b"\x08\7", {"e": 7}),
    ('edition = "2023"; message A { int32 x = 1; }', b"\x08\0", {"x": 0}),
    (HEAD + 'import "google/protobuf/struct.proto"; message A { google.protobuf.Value v = 1; }',
     b"\x0a\x0b\x11\0\0\0\0\0\0\xf8\x3f", "payload"),
    ("message A { required int32 x = 1; optional B b = 2; message B { required int32 y = 1; } }", b"\x08\1\x12\0",
     "missing required fields"),
    ("message A { required int32 x = 1; }", b"", "missing required fields"),
    (HEAD + "message A { optional int32 x = 1; int32 _x = 2; oneof X_x { int32 y = 3; } }", b"\x08\0\x10\1",
     {"x": 0, "_x": 1}),
    ("message A { optional int32 foo_bar = 1; optional int32 fooBar = 2; }", b"\x08\1\x10\2",
     {"foo_bar": 1, "fooBar": 2}),
    (HEAD + "message A { int32 a_b = 1; int32 aB = 2 [json_name = 'other']; }", b"\x08\1\x10\2", {"a_b": 1, "aB": 2}),
    (HEAD + "message A { int32 message = 1; string option = 2; bool enum = 3; string to = 4; }", b"\x08\1",
     {"message": 1}),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_what_a_text_may_hold(number: int) -> None:
    text, payload, expected = TEXTS[number]
    found = value_of("PROTOBUF", text, b"\0" + payload)
    assert found == expected or (isinstance(expected, str) and expected in found)


WRITTEN_ENTRIES = (
    'syntax = "proto3"; package p; message A { repeated .p.A.MEntry m = 1; .p.A.B b = 2;'
    " message MEntry { option map_entry = true; string key = 1; int32 value = 2; } message B { int32 x = 1; } }"
)
MAP = 'syntax = "proto3"; package p; message A { map<string, int32> m = 1; B b = 2; message B { int32 x = 1; } }'


def test_entries_of_a_map_are_one_and_count_where_they_stand_in_the_text() -> None:
    """A registry makes text of the descriptor that a client has: entries are written out, and clients count them."""
    entries = b"\x0a\5\x0a\1k\x10\1"
    assert value_of("PROTOBUF", WRITTEN_ENTRIES, b"\0" + entries) == {"m": {"k": 1}}
    assert value_of("PROTOBUF", WRITTEN_ENTRIES, b"\4\0\2\x08\5") == {"x": 5}
    assert "does not have" in value_of("PROTOBUF", WRITTEN_ENTRIES, b"\4\0\0\x0a\1k")
    assert value_of("PROTOBUF", MAP, b"\0" + entries) == {"m": {"k": 1}}
    assert value_of("PROTOBUF", MAP, b"\4\0\0\x08\5") == {"x": 5}
    assert "does not have" in value_of("PROTOBUF", MAP, b"\4\0\2\x08\5")
    described = descriptor_pb2.FileDescriptorProto(name="t.proto", package="p", syntax="proto3")
    described.message_type.append(read_file("t.proto", WRITTEN_ENTRIES).message_type[0])
    for field in described.message_type[0].field:
        field.type = FieldDescriptorProto.TYPE_MESSAGE
    text = base64.b64encode(described.SerializeToString()).decode()
    assert value_of("PROTOBUF", text, b"\0" + entries) == {"m": {"k": 1}}
    assert value_of("PROTOBUF", text, b"\4\0\2\x08\5") == {"x": 5}


def described(*fields: dict[str, Any], label: int = 3, publicly: int = 0) -> str:
    """A schema in base64 that has a map with these for fields of its entries."""
    file = descriptor_pb2.FileDescriptorProto(name="x", syntax="proto3")
    file.public_dependency.extend(range(publicly))
    message = file.message_type.add(name="A")
    message.field.add(name="m", number=1, label=label, type=11, type_name=".A.MEntry")
    entry = message.nested_type.add(name="MEntry")
    entry.options.map_entry = True
    for field in fields:
        entry.field.add(**field)
    return base64.b64encode(file.SerializeToString()).decode()


KEY, VALUE = {"name": "key", "number": 1, "label": 1, "type": 9}, {"name": "value", "number": 2, "label": 1, "type": 5}
HOSTILE = [
    described(KEY | {"number": 5}, VALUE | {"number": 6}), described(KEY | {"name": "k"}, VALUE | {"name": "v"}),
    described(), described(KEY), described(KEY, VALUE, VALUE | {"name": "z", "number": 3}), described(VALUE, KEY),
    described(KEY | {"label": 3}, VALUE), described(KEY, VALUE, label=1), described(KEY | {"type": 1}, VALUE),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_a_map_that_is_none_is_a_sentence(number: int) -> None:
    """Regression: the library takes such descriptors, and a payload of theirs ended the process."""
    for payload in (b"\x0a\5\x0a\1q\x10\1", b"\x0a\5\x2a\1q\x30\1"):
        assert "schema 1" in value_of("PROTOBUF", HOSTILE[number], b"\0" + payload)


def test_an_import_that_is_not_there_cannot_be_public() -> None:
    """Regression: an index beyond the list ended the range."""
    assert value_of("PROTOBUF", described(KEY, VALUE, publicly=3), b"\0\x0a\5\x0a\1q\x10\1") == {"m": {"q": 1}}


@pytest.mark.parametrize("name", ["schema.proto", "main.proto", "a/schema.proto"])
def test_a_reference_may_have_any_name(name: str) -> None:
    """Regression: one that was called as the text that refers to it is called here refused the schema."""
    other = Reference(name, HEAD + "package c; message C { int32 y = 1; }")
    schema = HEAD + f'import "{name}"; message A {{ c.C c = 1; }}'
    assert value_of("PROTOBUF", schema, b"\0\x0a\2\x08\1", [other]) == {"c": {"y": 1}}


def test_references_come_by_their_names() -> None:
    """Of several files with the same package; one imports a file that the registry provides."""
    money = (
        'syntax = "proto3"; package m; import "google/type/money.proto"; message Price { google.type.Money is = 1; }'
    )
    order = HEAD + 'package m; import "x/price.proto"; message Order { Price price = 1; repeated m.Price more = 2; }'
    found = value_of("PROTOBUF", order, b"\0\x0a\4\x0a\2\x10\5", [Reference("x/price.proto", money)])
    assert found == {"price": {"is": {"units": "5"}}}


BOMBS = {
    "messages in each other": HEAD + "message A {" * 10_000,
    "an option's braces": HEAD + "option (a) = " + "{ a: " * 15_000,
    "spaces": HEAD + "message A { int32 x =" + " " * 120_000 + "}",
    "digits": HEAD + "message A { int32 x = 0x" + "f" * 100_000 + "; }",
    "an open comment": HEAD + "/*" * 60_000,
    "too long": HEAD + " " * (1 << 20),
    "base64 of nothing": "A" * 10_000,
    "a circle of imports": HEAD + 'import "schema.proto"; message A { B b = 1; }',
    "no message": HEAD,
    "twice": HEAD + "message A {} message A {}",
    "nul": HEAD + "message A\0 {}",
    "surrogate": HEAD + "message A { string x = 1 [default = '\ud800']; } message \ud800 {}",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bad_text_is_a_sentence(name: str) -> None:
    """In bounded time: whoever may write to the registry's topic must not keep the daemon busy."""
    begun = time.monotonic()
    (line,) = shown("PROTOBUF", BOMBS[name], b"\0\x08\1")
    assert "valueError" in line
    assert time.monotonic() - begun < at_most(5)


SELF = HEAD + "message A { A a = 1; map<string, A> m = 2; repeated A l = 3; repeated bool b = 4; }"


@pytest.mark.parametrize(
    "payload",
    [
        b"\x0a\xff\xff\xff\xff\x0f", b"\x0a\x7f", b"\x08\1", b"\xff" * 100, b"\x0b" * 100_000, b"\x22\xff\xff\xff\x7f",
        b"\x0c", b"\x22\3\1\1", b"\0",
    ],
)  # fmt: skip
def test_a_bad_payload_is_a_sentence(payload: bytes) -> None:
    (line,) = shown("PROTOBUF", SELF, b"\0" + payload)
    assert "valueError" in line


def test_deep_payloads_end() -> None:
    deep = b""
    for _ in range(2000):
        size = len(deep)
        deep = b"\x0a" + bytes([size & 127 | 128, size >> 7 & 127 | 128, size >> 14]) + deep
    (line,) = shown("PROTOBUF", SELF, b"\0" + deep)
    assert "valueError" in line


@pytest.mark.parametrize("indexes", [b"\2\4", b"\1", b"\xff" * 9, b"", b"\2\1", b"\4\0\0", b"\xfe\xff\xff\xff\x0f"])
def test_message_indexes_that_lead_nowhere_are_a_sentence(indexes: bytes) -> None:
    (line,) = shown("PROTOBUF", SELF, indexes)
    assert "valueError" in line
    assert json.dumps(line)
    assert "it begins with no valid message indexes" in line["valueError"] or "does not have" in line["valueError"]


def test_message_indexes_are_numbers_as_kafka_reads_them() -> None:
    """Of five bytes 32 bits count (ByteUtils.readVarint): what lies above them is dropped, and is no other message."""
    (line,) = shown("PROTOBUF", SELF, b"\x82\x80\x80\x80\x10\x00\x22\1\1")
    assert line.get("valueError") is None
    assert line["value"] == {"b": [True]}
