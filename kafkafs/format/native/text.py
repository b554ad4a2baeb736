"""Bytes as the content of a JSON string: UTF-8 text with its escapes, or base64; integers as decimal digits.

Text is taken 16 bytes at a time. Plain bytes are copied. `"` and `\\` get their backslash by one shuffle of 8 bytes.
Only control characters and bytes beyond ASCII are looked at one by one. Escapes are those of Python's json.dumps with
ensure_ascii=False, and U+007F to U+009F besides, which a terminal would obey. Output may be written up to 32 bytes
behind its end.
"""

from kafkafs.format.native.primitives import *

_ASCII_ZEROS = 0x3030303030303030
_FOURS, _PAIRS = 0x0000007F0000007F, 0x000F000F000F000F
_LAST = 1 << 56
_TEN_TO_8 = 10**8


@inlined
def _eight_digits(value: Int) -> Int:
    """The decimal digits of a number below 10**8, one a byte, the highest in the lowest byte.

    Halved three times: fours of digits side by side, then pairs, then single ones. A quotient by 100 or 10 is a
    product with its reciprocal, exact in this range.
    """
    high = divide(value, 10000)
    fours = high | (value - high * 10000) << 32
    hundreds = shift_right(fours * 10486, 20) & _FOURS
    pairs = hundreds | (fours - hundreds * 100) << 16
    tens = shift_right(pairs * 103, 10) & _PAIRS
    return tens | (pairs - tens * 10) << 8


@inlined
def _put_leading(out: Span, to: Int, value: Int) -> Int:
    """A number below 10**8 without zeros in front."""
    digits = _eight_digits(value)
    skipped = trailing_zeros(digits | _LAST) >> 3  # whole bytes; the last digit always stays
    store_64(out, to, shift_right(digits + _ASCII_ZEROS, skipped * 8))
    return to + 8 - skipped


@inlined
def _put_eight(out: Span, to: Int, value: Int) -> Int:
    store_64(out, to, _eight_digits(value) + _ASCII_ZEROS)
    return to + 8


@inlined
def put_number(out: Span, to: Int, value: Int) -> Int:
    """Writes an int64 in decimal: the place behind it. Up to 7 bytes behind that are overwritten."""
    if value < 0:
        store_8(out, to, 45)
        to += 1
        value = -value  # the smallest one stays as it is, and is right as an unsigned number
    if value >= 0 and value < _TEN_TO_8:
        return _put_leading(out, to, value)
    high = divide(value, _TEN_TO_8)
    low = value - high * _TEN_TO_8
    if high < _TEN_TO_8:
        to = _put_leading(out, to, high)
    else:
        top = divide(high, _TEN_TO_8)
        to = _put_leading(out, to, top)
        to = _put_eight(out, to, high - top * _TEN_TO_8)
    return _put_eight(out, to, low)


def _control_escapes() -> bytes:
    """For 0x00 to 0x9F: the escape in six bytes, then its length in the eighth."""
    short = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r"}
    escapes = bytearray()
    for code in range(0xA0):
        escape = short.get(code, f"\\u{code:04x}").encode()
        escapes += escape.ljust(7, b"\0") + bytes([len(escape)])
    return bytes(escapes)


def _escape_patterns() -> bytes:
    """For each set of 8 bytes to be escaped: which of bytes 0 to 7, or a backslash (8), stands at each place."""
    patterns = bytearray()
    for chosen in range(256):
        row = [place for i in range(8) for place in ([8, i] if chosen >> i & 1 else [i])]
        patterns += bytes(row + [0] * (16 - len(row)))
    return bytes(patterns)


def _base64_pairs() -> bytes:
    """The two characters of each 12 bits."""
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return b"".join(bytes([high, low]) for high in alphabet for low in alphabet)


_CONTROL_ESCAPES, _ESCAPE_PATTERNS, _PAIRS_64 = _control_escapes(), _escape_patterns(), _base64_pairs()


@inlined
def put_control(out: Span, to: Int, code: Int) -> Int:
    """The escape of a code below 0xA0."""
    store_64(out, to, load_i64(_CONTROL_ESCAPES, code * 8))
    return to + load_u8(_CONTROL_ESCAPES, code * 8 + 7)


@inlined
def character(data: Span, at: Int, size: Int) -> Int:
    """How many bytes the character beyond ASCII at `at` has, of `size` that are left; 0 where Python would object."""
    first = load_u8(data, at)
    length: Int = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if first < 0xC2 or first > 0xF4 or length > size:
        return 0
    second = load_u8(data, at + 1)
    lowest = 0xA0 if first == 0xE0 else 0x90 if first == 0xF0 else 0x80
    highest = 0x9F if first == 0xED else 0x8F if first == 0xF4 else 0xBF
    if second < lowest or second > highest:
        return 0
    for more in range(2, length):
        if load_u8(data, at + more) & 0xC0 != 0x80:
            return 0
    return length


@inlined
def put_character(out: Span, to: Int, data: Span, at: Int, length: Int) -> Int:
    """Copies a character of 2 to 4 bytes."""
    for index in range(length):
        store_8(out, to + index, load_u8(data, at + index))
    return to + length


@inlined
def _put_shown(out: Span, to: Int, data: Span, at: Int, length: Int) -> Int:
    """Copies a character of 2 to 4 bytes, but escapes U+0080 to U+009F."""
    if load_u8(data, at) == 0xC2 and load_u8(data, at + 1) < 0xA0:
        return put_control(out, to, load_u8(data, at + 1))
    return put_character(out, to, data, at, length)


@native
def _put_slowly(out: Span, to: Int, data: Span, at: Int, size: Int) -> Int:
    """`put_text`, byte by byte, for what is too near the end of the buffer to be taken 16 bytes at a time."""
    end = at + size
    while at < end:
        code = load_u8(data, at)
        length: Int = 1
        if code >= 0x80:
            length = character(data, at, end - at)
            if length == 0:
                return -1
            to = _put_shown(out, to, data, at, length)
        elif code < 0x20 or code == 0x7F:
            to = put_control(out, to, code)
        else:
            if code == 0x22 or code == 0x5C:
                store_8(out, to, 0x5C)
                to += 1
            store_8(out, to, code)
            to += 1
        at += length
    return to


@inlined
def _put_plain(out: Span, to: Int, data: Span, at: Int, count: Int, chosen: Int) -> Int:
    """`count` <= 16 bytes of plain ASCII at `at`, a backslash before those of the mask `chosen`."""
    if chosen == 0:
        copy_16(out, to, data, at)
        return to + count
    low = chosen & 255
    escape_8(out, to, data, at, low, _ESCAPE_PATTERNS)
    escape_8(out, to + 8 + population(low), data, at + 8, chosen >> 8, _ESCAPE_PATTERNS)
    return to + count + population(chosen)


@native
def put_text(out: Span, to: Int, data: Span, at: Int, size: Int) -> Int:
    """Writes `size` bytes at `at` as the content of a JSON string: the place behind it; -1 where they are not UTF-8."""
    while size > 0:
        if size >= 16 and specials(data, at) == 0:  # apart, so that no step waits for the one before to know its place
            to = _put_plain(out, to, data, at, 16, quoted(data, at))
            at += 16
            size -= 16
            continue
        if data.nbytes - at < 16:
            return _put_slowly(out, to, data, at, size)
        count: Int = min(size, 16)
        within: Int = (1 << count) - 1
        special = specials(data, at) & within
        if special:
            count = trailing_zeros(special)
            within = (1 << count) - 1
        to = _put_plain(out, to, data, at, count, quoted(data, at) & within)
        at += count
        size -= count
        while special and size > 0:  # a stretch of controls or of another script
            code = load_u8(data, at)
            length: Int = 1
            if code >= 0x80:
                length = character(data, at, size)
                if length == 0:
                    return -1
                to = _put_shown(out, to, data, at, length)
            elif code < 0x20 or code == 0x7F:
                to = put_control(out, to, code)
            else:
                break
            at += length
            size -= length
    return to


@native
def put_base64(out: Span, to: Int, data: Span, at: Int, size: Int) -> Int:
    """Writes `size` bytes at `at` in base64 (RFC 4648, padded): the place behind it."""
    while size >= 3:
        bits = load_u8(data, at) << 16 | load_u8(data, at + 1) << 8 | load_u8(data, at + 2)
        store_16(out, to, load_i16(_PAIRS_64, (bits >> 12) * 2))
        store_16(out, to + 2, load_i16(_PAIRS_64, (bits & 4095) * 2))
        at += 3
        size -= 3
        to += 4
    if size == 0:
        return to
    rest = load_u8(data, at) << 16
    if size == 2:
        rest |= load_u8(data, at + 1) << 8
    store_16(out, to, load_i16(_PAIRS_64, (rest >> 12) * 2))
    store_16(out, to + 2, load_i16(_PAIRS_64, (rest & 4095) * 2))
    store_8(out, to + 3, 61)
    if size == 1:
        store_8(out, to + 2, 61)
    return to + 4


@inlined
def put_field(out: Span, to: Int, data: Span, at: Int, size: Int) -> Int:
    """The rest of a field whose name has been begun (`"key`): `":"text"`, `Base64":"..."` or, of size -1, `":null`."""
    if size < 0:
        return put(out, to, b'":null')
    behind = put_text(out, put(out, to, b'":"'), data, at, size)
    if behind < 0:
        behind = put_base64(out, put(out, to, b'Base64":"'), data, at, size)
    store_8(out, behind, 34)
    return behind + 1
