"""What a pattern surely has in it: a needle that a match lacks would lose records in silence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.errors import UsageError
from kafkafs.search.pattern import Pattern


def needle(text: str, **how: bool) -> bytes | None:
    found = Pattern(text, **how).needle
    return None if found is None else bytes(found._text)


@pytest.mark.parametrize(("text", "wanted"), [
    ("abc", b"abc"), ("a|b", None), ("ab?c", b"a"), ("(abc)+x", b"abc"), ("(abc)*x", b"x"), ("x.*hello", b"hello"),
    ("", None),
    ("[ab]cd", b"cd"), ("é+", "é".encode()), ("(?i)lograph", b"lograph"), ("(?i)kiss", None), ("(?=abc)", None),
    ("a{3}", b"a"),
    ("(?i:abc)", None), ("\\.jsonl", b".jsonl"),
])  # fmt: skip
def test_the_longest_string_that_stands_in_every_match(text, wanted):
    assert needle(text) == wanted


_TEXT = st.text(st.characters(codec="utf-8"), max_size=20)


@given(_TEXT, _TEXT, _TEXT)
def test_a_fixed_string_is_found_where_it_stands(text, before, behind):
    """Whatever it is made of."""
    pattern = Pattern(text, fixed=True)
    assert pattern.matches((before + text + behind).encode())
    assert pattern.matches(before.encode()) == (text in before)


@pytest.mark.parametrize("text", ["(", "[", "*", "(?P<", "a{99999999999999999999}"])
def test_what_is_no_expression_is_a_sentence(text):
    with pytest.raises(UsageError):
        Pattern(text)
    assert Pattern(text, fixed=True).matches(text.encode())


def test_text_where_it_is_utf_8_else_bytes():
    assert Pattern("^.$").matches("é".encode())
    assert not Pattern("^.$").matches(b"\xc3\xff")
    assert Pattern("^..$").matches(b"\xc3\xff")
    assert Pattern("é").matches("é".encode() + b"\xff")
    assert Pattern("K", ignore_case=True).matches("\u212a".encode())
