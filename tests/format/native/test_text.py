"""Bytes as the content of a JSON string, compiled and uncompiled, against Python's own json, codecs and base64."""

import base64
import json
import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format import kernels
from kafkafs.format.native import json_lines, text

REACH = 32
"""Bytes behind its end that a kernel may write."""


class Source(NamedTuple):
    """The kernels of one build."""

    text_piece: Callable[..., int]
    base64_piece: Callable[..., int]
    is_text: Callable[..., bool]


SOURCES = {
    "compiled": Source(kernels.text_piece, kernels.base64_piece, kernels.is_text),
    "uncompiled": Source(json_lines.text_piece, json_lines.base64_piece, json_lines.is_text),
}
SEAMS = st.sampled_from(
    [*map(chr, range(0x20)), *'"\\ab \x7f\x80\x9f\xa0\u00e9\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff']
)
TEXTS = st.text(max_size=50) | st.text(SEAMS, max_size=50) | st.text(st.sampled_from('abcdefgh"\\'), max_size=90)
NEARLY = st.sampled_from([
    b"\xc0\x80", b"\xc1\xbf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe0\x9f\xbf", b"\xf0\x8f\xbf\xbf",
    b"\xf5", b"\xff", b"\x80", b"\xc2", b"\xe2\x82", b"\xf0\x9f\x98", b"\xf0\x9f\x98\x80", b"\xc2\x9f", b"\xef\xbf\xbf",
])  # fmt: skip
BYTES = st.binary(max_size=60) | st.builds(
    lambda front, middle, rest: b"x" * front + middle + rest, st.integers(0, 34), NEARLY, st.binary(max_size=20)
)
AROUND = st.tuples(st.binary(max_size=20), st.binary(max_size=20))
"""What stands in the buffer in front of the bytes, and behind them: they are taken sixteen at a time."""


def as_json(content: str) -> str:
    """The contract: json.dumps, and no control character of Latin-1 either."""
    return re.sub("[\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", json.dumps(content, ensure_ascii=False)[1:-1])


def made(kernel: Callable[..., int], around: tuple[bytes, bytes], content: bytes, room: int) -> bytes:
    """What a kernel writes of bytes in the midst of others; nothing beyond its reach behind that is touched."""
    out = np.full(room + 64 + REACH, 0xEE, np.uint8)
    size = kernel(around[0] + content + around[1], len(around[0]), len(content), out)
    assert (out[size + REACH :] == 0xEE).all()
    return out[:size].tobytes()


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
@given(content=TEXTS, around=AROUND)
def test_text_is_what_pythons_json_writes(source: Source, content: str, around: tuple[bytes, bytes]) -> None:
    """Wherever it stands: near the end of a buffer, between others' bytes, across steps of sixteen."""
    data = content.encode()
    assert made(source.text_piece, around, data, 6 * len(data)).decode() == as_json(content)


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
@given(content=BYTES, around=AROUND)
def test_text_is_what_python_can_decode(source: Source, content: bytes, around: tuple[bytes, bytes]) -> None:
    """Half a character at the end is none, whatever follows in the buffer."""
    try:
        content.decode()
    except UnicodeDecodeError:
        is_utf_8 = False
    else:
        is_utf_8 = True
    assert source.is_text(around[0] + content + around[1], len(around[0]), len(content)) == is_utf_8
    out = memoryview(bytearray(6 * len(content) + 64))
    behind = text.put_text(out, 0, memoryview(around[0] + content + around[1]), len(around[0]), len(content))
    assert (behind >= 0) == is_utf_8


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
@given(content=st.binary(max_size=100), around=AROUND)
def test_base64_is_pythons(source: Source, content: bytes, around: tuple[bytes, bytes]) -> None:
    assert made(source.base64_piece, around, content, 2 * len(content)) == base64.b64encode(content)


NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.builds(
    lambda digits, more: 10**digits + more, st.integers(0, 18), st.integers(-1, 1)
)


@given(NUMBERS)
def test_any_number_is_written_in_decimal(number: int) -> None:
    """Eight digits at a time; the smallest has no positive of its own."""
    out = memoryview(bytearray(64))
    assert bytes(out[: text.put_number(out, 0, number)]) == str(number).encode()


@pytest.mark.parametrize(
    ("content", "field"),
    [(None, b'"key":null'), (b"", b'"key":""'), (b'"', b'"key":"\\""'), (b"\xff", b'"keyBase64":"/w=="')],
)
def test_a_field_says_which_of_the_three_it_is(content: bytes | None, field: bytes) -> None:
    out = memoryview(bytearray(64 + 32))
    out[:4] = b'"key'
    size = -1 if content is None else len(content)
    assert bytes(out[: text.put_field(out, 4, memoryview(content or b""), 0, size)]) == field
