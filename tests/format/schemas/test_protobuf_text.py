"""What is made of `.proto` text before it is parsed: only what the parser does not know is changed."""

import time

import pytest

from kafkafs.format.schemas.protobuf_files import plain_text
from tests.format.decoded import value_of

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
    assert time.monotonic() - begun < 5
