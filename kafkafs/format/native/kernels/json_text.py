"""Whether bytes are one JSON text (RFC 8259 in UTF-8), and such a text as part of a line.

A scan without recursion: what stands open is a byte each on a stack of JSON_DEPTH. Of a text that stands in a line
as it is, only line feeds become spaces, and the control characters that a terminal obeys are escaped as everywhere.
"""

from kafkafs.format.native.kernels.machine import called, copy_16, inlined, load_u8, store_8
from kafkafs.format.native.kernels.text import character, put_control, quoted, specials
from kafkafs.format.native.layout import JSON_AS_IS, JSON_DEPTH, JSON_NONE, JSON_TO_CLEAN

_VALUE, _FIRST_ELEMENT, _KEY, _FIRST_KEY, _BEHIND = range(5)
_OBJECT, _ARRAY = 1, 2


@inlined
def _is_digit(code: int) -> bool:
    return 48 <= code <= 57


@inlined
def _hex_digits(at: int, end: int) -> int:
    """1 where four hexadecimal digits stand at `at`, else 0."""
    if end - at < 4:
        return 0
    for index in range(4):
        code = load_u8(at + index)
        lower = code | 32
        if not (48 <= code <= 57 or 97 <= lower <= 102):
            return 0
    return 1


@called
def _string(at: int, end: int, limit: int) -> tuple[int, int]:
    """(address behind the string whose first quote is at `at` - 1, whether it needs cleaning); 0 where it is none."""
    found = 0
    while at < end:
        while end - at >= 16 and limit - at >= 16 and specials(at) == 0 and quoted(at) == 0:
            at += 16
        if at >= end:
            return 0, 0
        code = load_u8(at)
        if code == 0x22:
            return at + 1, found
        if code < 0x20:
            return 0, 0
        if code >= 0x80:
            length = character(at, end - at)
            if length == 0:
                return 0, 0
            if code == 0xC2 and load_u8(at + 1) < 0xA0:
                found = 1
            at += length
        elif code == 0x5C:
            if end - at < 2:
                return 0, 0
            escape = load_u8(at + 1)
            if escape == 0x75:
                if _hex_digits(at + 2, end) == 0:
                    return 0, 0
                at += 6
            elif escape in (0x22, 0x5C, 0x2F, 0x62, 0x66, 0x6E, 0x72, 0x74):
                at += 2
            else:
                return 0, 0
        else:
            if code == 0x7F:
                found = 1
            at += 1
    return 0, 0


@inlined
def _digits(at: int, end: int) -> int:
    while at < end and _is_digit(load_u8(at)):
        at += 1
    return at


@called
def _number(at: int, end: int) -> int:
    """The address behind the number at `at`; 0 where there is none."""
    if load_u8(at) == 0x2D:
        at += 1
    if at >= end or not _is_digit(load_u8(at)):
        return 0
    at = at + 1 if load_u8(at) == 0x30 else _digits(at, end)
    if at < end and load_u8(at) == 0x2E:
        behind = _digits(at + 1, end)
        if behind == at + 1:
            return 0
        at = behind
    if at < end and load_u8(at) | 32 == 0x65:
        at += 1
        if at < end and (load_u8(at) == 0x2B or load_u8(at) == 0x2D):
            at += 1
        behind = _digits(at, end)
        if behind == at:
            return 0
        at = behind
    return at


@called
def _word(at: int, end: int) -> int:
    """The address behind `true`, `false` or `null`; 0 where none of them stands there."""
    left, first = end - at, load_u8(at)
    if left >= 4 and first == 0x74 and load_u8(at + 1) == 0x72 and load_u8(at + 2) == 0x75 and load_u8(at + 3) == 0x65:
        return at + 4
    if left >= 4 and first == 0x6E and load_u8(at + 1) == 0x75 and load_u8(at + 2) == 0x6C and load_u8(at + 3) == 0x6C:
        return at + 4
    if left >= 5 and first == 0x66 and load_u8(at + 1) == 0x61 and load_u8(at + 2) == 0x6C and load_u8(at + 3) == 0x73:
        return at + 5 if load_u8(at + 4) == 0x65 else 0
    return 0


@called
def check_json(at: int, size: int, limit: int, stack: int) -> int:
    """JSON_AS_IS or JSON_TO_CLEAN for `size` bytes that are one JSON text, else JSON_NONE.

    `limit` is where readable memory ends, `stack` has JSON_DEPTH bytes; what is nested deeper is none.
    """
    end, depth, state, verdict = at + size, 0, _VALUE, JSON_AS_IS
    while True:
        while at < end and load_u8(at) in (0x20, 0x09, 0x0A, 0x0D):
            if load_u8(at) != 0x20:
                verdict = JSON_TO_CLEAN
            at += 1
        if at >= end:
            return verdict if state == _BEHIND and depth == 0 else JSON_NONE
        code = load_u8(at)
        if state == _BEHIND:
            if depth == 0:
                return JSON_NONE
            kind = load_u8(stack + depth - 1)
            if code == 0x2C:
                state = _KEY if kind == _OBJECT else _VALUE
            elif (code == 0x7D and kind == _OBJECT) or (code == 0x5D and kind == _ARRAY):
                depth -= 1
            else:
                return JSON_NONE
            at += 1
        elif state in (_KEY, _FIRST_KEY):
            if code == 0x7D and state == _FIRST_KEY:
                depth, state = depth - 1, _BEHIND
                at += 1
                continue
            if code != 0x22:
                return JSON_NONE
            at, unclean = _string(at + 1, end, limit)
            if at == 0:
                return JSON_NONE
            while at < end and load_u8(at) in (0x20, 0x09, 0x0A, 0x0D):
                if load_u8(at) != 0x20:
                    verdict = JSON_TO_CLEAN
                at += 1
            if at >= end or load_u8(at) != 0x3A:
                return JSON_NONE
            at, state = at + 1, _VALUE
            if unclean:
                verdict = JSON_TO_CLEAN
        elif code == 0x7B or code == 0x5B:
            if depth == JSON_DEPTH:
                return JSON_NONE
            store_8(stack + depth, _OBJECT if code == 0x7B else _ARRAY)
            state = _FIRST_KEY if code == 0x7B else _FIRST_ELEMENT
            depth += 1
            at += 1
        elif code == 0x5D and state == _FIRST_ELEMENT:
            depth, state = depth - 1, _BEHIND
            at += 1
        else:
            unclean = 0
            if code == 0x22:
                at, unclean = _string(at + 1, end, limit)
            elif code == 0x2D or _is_digit(code):
                at = _number(at, end)
            else:
                at = _word(at, end)
            if at == 0:
                return JSON_NONE
            if unclean:
                verdict = JSON_TO_CLEAN
            state = _BEHIND


@called
def put_clean_json(to: int, at: int, size: int, limit: int) -> int:
    """A JSON text on one line: the address behind it. Up to six times its size, and 32 bytes more are written."""
    end = at + size
    while at < end:
        if end - at >= 16 and limit - at >= 16 and specials(at) == 0:
            copy_16(to, at)
            at += 16
            to += 16
            continue
        code = load_u8(at)
        if code == 0x7F:
            to = put_control(to, code)
        elif code == 0xC2 and load_u8(at + 1) < 0xA0:
            at += 1
            to = put_control(to, load_u8(at))
        else:
            store_8(to, 32 if code < 32 else code)  # white space: in strings of JSON there is none
            to += 1
        at += 1
    return to
