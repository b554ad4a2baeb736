"""`.proto` text: what is made of it before it is parsed changes only what the parser does not know; then its parts."""

import time

import pytest
from google.protobuf.json_format import MessageToDict

from kafkafs.errors import CorruptData
from kafkafs.format.schemas.protobuf_files import TEXT_BYTES, keep_imports, plain_text, read_file
from tests.format.decoded import value_of
from tests.promises import at_most

KEPT = [
    'message A { string s = 1 [default = "// no /* comment */ reserved 5; = 0x10;"]; }',
    "message A { string s = 1 [default = 'it\\'s // one']; }",
    "message A { int32 reserved = 1; int32 export = 2; local.export x = 3; reserved y = 4; }",
    'import "option.proto";',
    "message A { int32 x = 10; bytes b = 2 [default = '\\0']; }",
]


@pytest.mark.parametrize("text", KEPT)
def test_what_the_parser_knows_stays(text: str) -> None:
    assert plain_text(text) == text


CHANGED = [
    ("int32 x = 0x1F [a = -010, b = 007]; // c", "int32 x = 31 [a = -8, b = 7];  "),
    ("N = - 5; M = -\n0x10; group G = 0x1 {", "N = -5; M = -16; group G = 1 {"),
    ("x [/* a */ b = C]", "x [  b = C]"),
    ("{ reserved foo, bar; reserved 1 to 5;\n reserved 'a'; int32 x = 1; }", "{;;; int32 x = 1; }"),
    ("export message A { local enum E { Z = 0; } }", "message A { enum E { Z = 0; } }"),
    ('import option "x.proto";', 'import "x.proto";'),
    ("a /* never closed", "a  "),
]


@pytest.mark.parametrize(("text", "plain"), CHANGED)
def test_what_it_does_not_know_is_written_otherwise(text: str, plain: str) -> None:
    assert plain_text(text) == plain


EDITION = """edition = "2024";
import option "no/such/options.proto";
option features = { field_presence: IMPLICIT, enum_type: CLOSED };
export message A {
  reserved foo, bar;
  int32 x = 1 [/* first */ (a.b) = { c: [1, 2] }];
  E e = 2 [features = { field_presence: EXPLICIT }];
}
local enum E { reserved gone; ONE = 1; TWO = 2; }
"""


def test_a_schema_of_a_later_edition_is_read() -> None:
    """Regression: each of these words made the whole topic base64."""
    assert value_of("PROTOBUF", EDITION, b"\0\x08\0\x10\2") == {"e": "TWO"}
    assert "does not name" in value_of("PROTOBUF", EDITION, b"\0\x10\7")


BOMBS = [
    "/*" * 60_000, "/" * 120_000, '"\\' * 60_000, "'\\\"" * 40_000, "; " * 60_000, "{" + "\n" * 120_000,
    "= - " * 30_000, "reserved " * 13_000, ";reserved" * 13_000, "export " * 17_000, "import " * 17_000,
    "=" + " " * 120_000,
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(BOMBS)))
def test_a_bomb_takes_no_time(number: int) -> None:
    """Texts are strangers': what is tried at each place must not run to the end from each."""
    begun = time.monotonic()
    plain_text(BOMBS[number])
    assert time.monotonic() - begun < at_most(5)


SHAPES = [
    ('syntax = "proto2"; package p; import public "x.proto"; import "x.proto"; import "y.proto"; message A {}',
     {"dependency": ["x.proto", "y.proto"], "publicDependency": [0], "messageType": [{"name": "A"}]}),
    ('syntax = "proto2"; message A { enum E { option allow_alias = true; X = 0; Y = 0; } extensions 4 to 9, 0x10, 100'
     " to max; extend A { optional group G = 4 { optional int32 y = 1; } repeated int32 z = 5 [packed = true]; } }",
     {"messageType": [{
         "name": "A",
         "nestedType": [{"name": "G", "field": [{"name": "y", "number": 1, "label": 1, "type": 5}]}],
         "enumType": [{"name": "E", "value": [{"name": "X", "number": 0}, {"name": "Y", "number": 0}],
                       "options": {"allowAlias": True}}],
         "extensionRange": [{"start": 4, "end": 10}, {"start": 16, "end": 17}, {"start": 100, "end": 1 << 29}],
         "extension": [{"name": "g", "extendee": "A", "number": 4, "label": 1, "type": 10, "typeName": "G"},
                       {"name": "z", "extendee": "A", "number": 5, "label": 3, "type": 5,
                        "options": {"packed": True}}],
     }]}),
    ('syntax = "proto2"; message A { option message_set_wire_format = true; oneof o { group G = 1 {} string s = 2; } }',
     {"messageType": [{
         "name": "A", "nestedType": [{"name": "G"}], "options": {"messageSetWireFormat": True},
         "oneofDecl": [{"name": "o"}],
         "field": [{"name": "g", "number": 1, "label": 1, "type": 10, "typeName": "G", "oneofIndex": 0},
                   {"name": "s", "number": 2, "label": 1, "type": 9, "oneofIndex": 0}],
     }]}),
    ('edition = "2023"; message A { option features.field_presence = IMPLICIT; option features.unknown = 1; }'
     " enum E { option features = { enum_type: CLOSED }; X = 0; }",
     {"edition": 1000, "messageType": [{"name": "A", "options": {"features": {"fieldPresence": 2}}}],
      "enumType": [{"name": "E", "value": [{"name": "X", "number": 0}], "options": {"features": {"enumType": 2}}}]}),
]  # fmt: skip
"""Texts, and what a descriptor of each has to hold, as JSON with numbers for the names of enums."""


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_each_part_of_a_text_is_in_its_descriptor(number: int) -> None:
    text, expected = SHAPES[number]
    found = MessageToDict(read_file("t.proto", text), use_integers_for_enums=True)
    assert {name: part for name, part in found.items() if name not in {"name", "syntax", "package"}} == expected


def test_an_import_that_nobody_provides_is_dropped_and_the_others_keep_their_place() -> None:
    file = read_file("t.proto", 'import "a.proto"; import public "b.proto"; import public "c.proto";')
    keep_imports(file, {"c.proto"})
    assert (list(file.dependency), list(file.public_dependency)) == (["c.proto"], [0])


@pytest.mark.parametrize("text", ["x" * (TEXT_BYTES + 1), "Zm9v", "message A {", "message A { int32 x = y; }",
                                  "message A { " * 3000])  # fmt: skip
def test_what_is_no_text_of_a_schema_is_a_sentence(text: str) -> None:
    with pytest.raises(CorruptData, match=r"^the schema "):
        read_file("t.proto", text)
