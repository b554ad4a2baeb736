"""Check that bytes are one JSON text (RFC 8259 in UTF-8), and copy such a text into a line.

A scan without recursion: the brackets that are open are on a stack of JSON_DEPTH bytes. In a text that is copied into a
line, white space becomes spaces. Control characters that a terminal obeys are escaped as everywhere.
"""

from kafkafs.format.native.layout import *
from kafkafs.format.native.primitives import *
from kafkafs.format.native.text import character, put_control

JSON_VALUE, JSON_FIRST, JSON_NAME, JSON_BEHIND = range(4)  # the next token; JSON_FIRST: anything behind a bracket
JSON_OBJECT, JSON_ARRAY, JSON_CLOSED = 0x7B, 0x5B, 2  # opening brackets, and how far the closing ones are behind them
STRING_TO_CLEAN, STRING_ESCAPES, STRING_SURROGATES = 1, 2, 4
_TRUE, _FALSE, _NULL = b"true", b"false", b"null"


@inlined
def _is_digit(code: Int) -> Int:
    return 1 if 48 <= code <= 57 else 0


@native
def _hex_digits(data: Span, at: Int, end: Int) -> Int:
    """1 where four hexadecimal digits stand at `at`, else 0."""
    if end - at < 4:
        return 0
    for index in range(4):
        code = load_u8(data, at + index)
        if not (48 <= code <= 57 or 97 <= code | 32 <= 102):
            return 0
    return 1


@native
def json_string(data: Span, at: Int, end: Int) -> tuple[Int, Int]:
    """(place behind the string whose first quote is at `at` - 1, bits STRING_... of it); -1 if it is no string."""
    found: Int = 0
    while at < end:
        while end - at >= 16 and specials(data, at) == 0 and quoted(data, at) == 0:
            at += 16
        if at >= end:
            return -1, 0
        code = load_u8(data, at)
        if code == 0x22:
            return at + 1, found
        if code < 0x20:
            return -1, 0
        if code >= 0x80:
            length = character(data, at, end - at)
            if length == 0:
                return -1, 0
            if code == 0xC2 and load_u8(data, at + 1) < 0xA0:
                found |= STRING_TO_CLEAN
            at += length
        elif code == 0x5C:
            if end - at < 2:
                return -1, 0
            found |= STRING_ESCAPES
            escape = load_u8(data, at + 1)
            if escape == 0x75:
                if _hex_digits(data, at + 2, end) == 0:
                    return -1, 0
                if load_u8(data, at + 2) | 32 == 0x64 and load_u8(data, at + 3) >= 0x38:
                    found |= STRING_SURROGATES
                at += 6
            elif escape in (0x22, 0x5C, 0x2F, 0x62, 0x66, 0x6E, 0x72, 0x74):
                at += 2
            else:
                return -1, 0
        else:
            if code == 0x7F:
                found |= STRING_TO_CLEAN
            at += 1
    return -1, 0


@inlined
def _digits(data: Span, at: Int, end: Int) -> Int:
    while at < end and _is_digit(load_u8(data, at)):
        at += 1
    return at


@native
def json_number(data: Span, at: Int, end: Int) -> Int:
    """The place behind the number at `at`; -1 where there is none."""
    if load_u8(data, at) == 0x2D:
        at += 1
    if at >= end or not _is_digit(load_u8(data, at)):
        return -1
    at = at + 1 if load_u8(data, at) == 0x30 else _digits(data, at, end)
    if at < end and load_u8(data, at) == 0x2E:
        behind = _digits(data, at + 1, end)
        if behind == at + 1:
            return -1
        at = behind
    if at < end and load_u8(data, at) | 32 == 0x65:
        at += 1
        if at < end and (load_u8(data, at) == 0x2B or load_u8(data, at) == 0x2D):
            at += 1
        behind = _digits(data, at, end)
        if behind == at:
            return -1
        at = behind
    return at


@inlined
def _one_word(data: Span, at: Int, end: Int, word: Span, size: Int) -> Int:
    return at + size if end - at >= size and same_bytes(data, at, word, 0, size) else -1


@native
def json_word(data: Span, at: Int, end: Int) -> Int:
    """The place behind `true`, `false` or `null`; -1 where none of them stands there."""
    first = load_u8(data, at)
    if first == 0x74:
        return _one_word(data, at, end, _TRUE, 4)
    return _one_word(data, at, end, _NULL, 4) if first == 0x6E else _one_word(data, at, end, _FALSE, 5)


@inlined
def past_space(data: Span, at: Int, end: Int) -> tuple[Int, Int]:
    """(place behind white space, whether any of it is no space)."""
    unlike: Int = 0
    while at < end and load_u8(data, at) in (0x20, 0x09, 0x0A, 0x0D):
        if load_u8(data, at) != 0x20:
            unlike = 1
        at += 1
    return at, unlike


@native
def check_json(data: Span, at: Int, size: Int, stack: Span) -> Int:
    """JSON_AS_IS or JSON_TO_CLEAN for `size` bytes that are one JSON text, else JSON_NONE.

    `stack` has JSON_DEPTH bytes; what is nested deeper is none.
    """
    end = at + size
    depth: Int = 0
    state: Int = JSON_VALUE
    verdict: Int = JSON_AS_IS
    while True:
        at, unclean = past_space(data, at, end)
        if unclean:
            verdict = JSON_TO_CLEAN
        if at >= end:
            return verdict if state == JSON_BEHIND and depth == 0 else JSON_NONE
        code = load_u8(data, at)
        bracket = load_u8(stack, depth - 1) if depth > 0 else 0
        found: Int = 0
        if depth > 0 and code == bracket + JSON_CLOSED and state in (JSON_BEHIND, JSON_FIRST):
            depth -= 1
            state = JSON_BEHIND
            at += 1
        elif state == JSON_BEHIND:
            if depth == 0 or code != 0x2C:
                return JSON_NONE
            state = JSON_NAME if bracket == JSON_OBJECT else JSON_VALUE
            at += 1
        elif bracket == JSON_OBJECT and state != JSON_VALUE:
            if code != 0x22:
                return JSON_NONE
            at, found = json_string(data, at + 1, end)
            if at < 0:
                return JSON_NONE
            at, unclean = past_space(data, at, end)
            if unclean or found & STRING_TO_CLEAN:
                verdict = JSON_TO_CLEAN
            if at >= end or load_u8(data, at) != 0x3A:
                return JSON_NONE
            state = JSON_VALUE
            at += 1
        elif code in (JSON_OBJECT, JSON_ARRAY):
            if depth == JSON_DEPTH:
                return JSON_NONE
            store_8(stack, depth, code)
            depth += 1
            state = JSON_FIRST
            at += 1
        else:
            if code == 0x22:
                at, found = json_string(data, at + 1, end)
            elif code == 0x2D or _is_digit(code):
                at = json_number(data, at, end)
            else:
                at = json_word(data, at, end)
            if at < 0:
                return JSON_NONE
            if found & STRING_TO_CLEAN:
                verdict = JSON_TO_CLEAN
            state = JSON_BEHIND


@native
def put_clean_json(out: Span, to: Int, data: Span, at: Int, size: Int) -> Int:
    """A JSON text on one line: the place behind it. Up to six times its size, and 32 bytes more are written."""
    end = at + size
    while at < end:
        if end - at >= 16 and specials(data, at) == 0:
            copy_16(out, to, data, at)
            at += 16
            to += 16
            continue
        code = load_u8(data, at)
        if code == 0x7F:
            to = put_control(out, to, code)
        elif code == 0xC2 and load_u8(data, at + 1) < 0xA0:
            at += 1
            to = put_control(out, to, load_u8(data, at))
        else:
            store_8(out, to, 32 if code < 32 else code)  # white space: in strings of JSON there is none
            to += 1
        at += 1
    return to
