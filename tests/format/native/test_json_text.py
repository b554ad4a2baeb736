"""Which bytes are one JSON text, by the uncompiled source, against Python's own reader."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format.native import json_text, layout

WORDS = ["null", "true", "nul", "0", "-1.5e+3", "01", "1."]
PARTS = [*WORDS, '"a"', '"\\u12aF"', '"\\x"', "[", "]", "{", "}", ",", ":", " ", "\t"]


def verdict(text: bytes) -> int:
    """What the kernel says of it: layout.JSON_..."""
    return json_text.check_json(memoryview(text), 0, len(text), memoryview(bytearray(layout.JSON_DEPTH)))


@pytest.mark.parametrize("text", [b"null", b"true", b"false", b"[null]", b"nul", b"falsy", b"t"])
def test_words_of_json_are_read_uncompiled(text):
    """A constant of a kernel is bytes there, which know no size of their own."""
    assert (verdict(text) == layout.JSON_AS_IS) == (text in (b"null", b"true", b"false", b"[null]"))


@given(st.lists(st.sampled_from(PARTS), max_size=9).map("".join))
def test_what_python_reads_as_json_is_json(text):
    try:
        json.loads(text)
    except ValueError:
        assert verdict(text.encode()) == layout.JSON_NONE
    else:
        assert verdict(text.encode()) != layout.JSON_NONE
