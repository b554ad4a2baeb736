"""Which records a selection takes: fields, names of headers, and the opposite of it all."""

import re
import warnings
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.errors import UsageError
from kafkafs.format.batch import walk
from kafkafs.format.records import Records, decode
from kafkafs.log.batch_runs import BatchRun
from kafkafs.search.selection import FieldMaker, Pattern, Selection
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record

RECORDS = [
    Record(0, 1, 0, b"key", b"value"),
    Record(1, 1, 0, None, b"key"),
    Record(2, 1, 0, b"\xffkey", None),
    Record(3, 1, 0, b"", b""),
]


DATA = v2_batch(RECORDS)
ROWS = walk(DATA, 0).rows


def taken(selection: Selection, maker: FieldMaker | None = None) -> list[int]:
    (piece,) = decode(DATA, 0, ROWS, 1 << 20)
    assert isinstance(piece, Records)
    return [int(offset) for offset in selection.of(piece, maker).rows["offset"]]


def test_only_the_fields_asked_for_count():
    key = Pattern("key", fixed=True)
    assert taken(Selection(key)) == [0, 1, 2]
    assert taken(Selection(key, value=False)) == [0, 2]
    assert taken(Selection(key, key=False)) == [1]
    assert taken(Selection(key, inverted=True)) == [3]
    assert taken(Selection(Pattern("^key$"))) == [0, 1]
    assert taken(Selection(Pattern(""))) == [0, 1, 2, 3]


class Shouting:
    """Decodes every field to its upper case."""

    def fields(self, records: Records) -> Iterator[tuple[bytes | None, bytes | None]]:
        for number in range(len(records)):
            key, value = (
                None if each is None else bytes(each).upper() for each in (records.key(number), records.value(number))
            )
            yield key, value


def test_decoded_fields_are_what_their_schema_says():
    """Nothing of the raw bytes counts, not even as a needle."""
    shouted = Selection(Pattern("KEY", fixed=True), decoded=True)
    assert shouted.batches(BatchRun(b"", 0, ROWS)) is ROWS
    assert taken(shouted, Shouting()) == [0, 1, 2]
    assert taken(Selection(Pattern("key"), decoded=True), Shouting()) == []
    assert taken(Selection(Pattern("KEY"), value=False, decoded=True, inverted=True), Shouting()) == [1, 3]


def needle(text: str, **how: bool) -> bytes | None:
    found = Pattern(text, **how).needle
    return None if found is None else bytes(found._text)


@pytest.mark.parametrize(("text", "wanted"), [
    ("abc", b"abc"), ("a|b", None), ("ab?c", b"a"), ("(abc)+x", b"abc"), ("(abc)*x", b"x"), ("x.*hello", b"hello"),
    ("", None),
    ("[ab]cd", b"cd"), ("é+", "é".encode()), ("(?i)lograph", b"lograph"), ("(?i)kiss", None), ("(?=abc)", None),
    ("a{3}", b"a"),
    ("(?i:abc)", None), ("\\.jsonl", b".jsonl"), ("\\xe9", None), ("\\xe9bc", b"bc"),
])  # fmt: skip
def test_the_longest_string_that_stands_in_every_match(text, wanted):
    assert needle(text) == wanted


_ATOM = st.sampled_from(["a", "b", "A", "0", "\u00e9", "\\xe9", "\\x41", "\\u0041", "[ab]", ".", "\\d", "k", "(?i:b)"])
_EXPRESSION = st.recursive(_ATOM, lambda inner: st.one_of(
    st.lists(inner, min_size=1, max_size=3).map("".join),
    st.tuples(inner, st.sampled_from(["?", "*", "+", "{2}", "{2,}", "{0,1}"])).map(lambda two: f"(?:{two[0]}){two[1]}"),
    st.tuples(inner, inner).map("|".join).map("({})".format),
    inner.map("({})".format), inner.map("(?={})".format), inner.map("(?!{})".format),
), max_leaves=6)  # fmt: skip
_BYTES = [b"a", b"b", b"A", b"0", b"\xc3\xa9", b"\xe9", b"k", b"K", b"\n"]
_FIELD = st.lists(st.sampled_from(_BYTES), max_size=8).map(b"".join)


@given(_EXPRESSION, _FIELD, st.booleans())
def test_what_has_no_needle_in_it_does_not_match(text, field, ignore_case):
    """Records are decided by the needle alone, where nothing else matches: `0{2,}` is more than its zero."""
    pattern = Pattern(text, ignore_case=ignore_case)
    sought = needle(text, ignore_case=ignore_case)
    if sought is not None:
        holds = sought in (field.lower() if ignore_case or pattern._text.flags & re.IGNORECASE else field)
        assert holds or not pattern.matches(field)
        assert not pattern.is_needle or holds == pattern.matches(field)


def test_a_byte_is_not_found_inside_the_letters_of_text():
    """A fixed string of bytes that are no UTF-8 is decided as any expression is: 0xE9 begins many a letter."""
    byte = Pattern("\udce9", fixed=True)
    data = v2_batch([Record(0, 1, 0, None, "\u9999".encode()), Record(1, 1, 0, None, b"\xe9")])
    (piece,) = decode(data, 0, walk(data, 0).rows, 1 << 20)
    assert isinstance(piece, Records)
    assert Selection(byte).of(piece).rows["offset"].tolist() == [1]
    assert Selection(byte, inverted=True).of(piece).rows["offset"].tolist() == [0]


@pytest.mark.parametrize("text", ["0{2,}", "(ab)[0-9]", "(?:ab){2}x", "a+(bc)"])
def test_an_expression_is_more_than_its_needle(text):
    assert not Pattern(text).is_needle
    assert Pattern("abc").is_needle


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


def test_an_expression_that_python_warns_of_is_taken_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Pattern("^[[]").matches(b"[1, 2]")


def test_text_where_it_is_utf_8_else_bytes():
    assert Pattern("^.$").matches("é".encode())
    assert not Pattern("^.$").matches(b"\xc3\xff")
    assert Pattern("^..$").matches(b"\xc3\xff")
    assert Pattern("é").matches("é".encode() + b"\xff")
    assert Pattern("K", ignore_case=True).matches("\u212a".encode())


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("ignore_case", [False, True])
def test_a_whole_word_has_no_letter_digit_or_underscore_beside_it(fixed, ignore_case):
    """Against a look at each place of a text, as grep -w has it."""
    for text in ("order", "o.der", "(?i)order|x", "a b", "-"):
        pattern = Pattern(text, fixed, ignore_case, word=True)
        plain = re.compile(re.escape(text) if fixed else text, re.IGNORECASE if ignore_case else 0)
        for before in ("", "a", "_", " ", "-", "é", "7"):
            for behind in ("", "z", "_", ".", "ü"):
                for middle in ("order", "ORDER", "x", "a b", "-", text):
                    field = f"{before}{middle}{behind}"
                    wanted = any(
                        not re.match(r"\w", field[found.start() - 1 : found.start()] if found.start() else "")
                        and not re.match(r"\w", field[found.end() :])
                        for found in (plain.match(field, at) for at in range(len(field)))
                        if found
                    )
                    assert pattern.matches(field.encode()) is wanted, (text, field)
    assert not Pattern("order", fixed, word=True).is_needle
