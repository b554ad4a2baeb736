"""Bytes as the content of a JSON string: UTF-8 text with its escapes, or base64.

Text is taken 16 bytes at a time. What is plain is copied; `"` and `\\` get their backslash by one shuffle of 8 bytes;
only control characters and what is not ASCII are looked at one by one. Escapes are those of Python's json.dumps with
ensure_ascii=False, and U+007F to U+009F besides, which a terminal would obey. Output may be written up to 32 bytes
behind its end.
"""

from typing import Any

from llvmlite import ir

from kafkafs.format.native.kernels.machine import (
    called,
    constant,
    copy_16,
    escape_8,
    inlined,
    load_i16,
    load_i64,
    load_u8,
    mask_of,
    population,
    put,
    splat,
    store_8,
    store_16,
    store_64,
    trailing_zeros,
)


def _is_special(builder: Any, value: Any) -> Any:
    """Control characters, and all that is not ASCII: 0x7F to 0x9F and 0xA0 up wrap to what is above 0x5E."""
    return builder.icmp_unsigned(">", builder.sub(value, splat(0x20)), ir.Constant(value.type, [0x5E] * 16))


def _is_quoted(builder: Any, value: Any) -> Any:
    quote, backslash = splat(ord('"')), splat(ord("\\"))
    return builder.or_(builder.icmp_unsigned("==", value, quote), builder.icmp_unsigned("==", value, backslash))


specials, quoted = mask_of(_is_special), mask_of(_is_quoted)
_SHORT = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r"}


def _control_escapes() -> bytes:
    """For 0x00 to 0x9F: the escape in six bytes, then its length in the eighth."""
    table = bytearray()
    for code in range(0xA0):
        escape = _SHORT.get(code, f"\\u{code:04x}").encode()
        table += escape.ljust(7, b"\0") + bytes([len(escape)])
    return bytes(table)


_escapes = constant("control_escapes", _control_escapes())


@inlined
def put_control(to: int, code: int) -> int:
    """The escape of a code below 0xA0."""
    escape = _escapes() + code * 8
    store_64(to, load_i64(escape))
    return to + load_u8(escape + 7)


@inlined
def character(at: int, size: int) -> int:
    """How many bytes the character beyond ASCII at `at` has, of `size` that are left; 0 where Python would object."""
    first = load_u8(at)
    length = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if first < 0xC2 or first > 0xF4 or length > size:
        return 0
    second = load_u8(at + 1)
    lowest = 0xA0 if first == 0xE0 else 0x90 if first == 0xF0 else 0x80
    highest = 0x9F if first == 0xED else 0x8F if first == 0xF4 else 0xBF
    if second < lowest or second > highest:
        return 0
    for more in range(2, length):
        if load_u8(at + more) & 0xC0 != 0x80:
            return 0
    return length


@inlined
def _put_character(to: int, at: int, length: int) -> int:
    """Copies a character of 2 to 4 bytes, or escapes U+0080 to U+009F."""
    if load_u8(at) == 0xC2 and load_u8(at + 1) < 0xA0:
        return put_control(to, load_u8(at + 1))
    for index in range(length):
        store_8(to + index, load_u8(at + index))
    return to + length


@called
def _put_slowly(to: int, at: int, size: int) -> int:
    """`put_text`, byte by byte, for what is too near the end of the buffer to be taken 16 bytes at a time."""
    end = at + size
    while at < end:
        code = load_u8(at)
        length = 1
        if code >= 0x80:
            length = character(at, end - at)
            if length == 0:
                return 0
            to = _put_character(to, at, length)
        elif code < 0x20 or code == 0x7F:
            to = put_control(to, code)
        else:
            if code == 0x22 or code == 0x5C:
                store_8(to, 0x5C)
                to += 1
            store_8(to, code)
            to += 1
        at += length
    return to


@inlined
def _put_plain(to: int, at: int, count: int, quoted: int) -> int:
    """`count` <= 16 bytes of plain ASCII at `at`, a backslash before those of the mask `quoted`."""
    if quoted == 0:
        copy_16(to, at)
        return to + count
    low = quoted & 255
    escape_8(to, at, low)
    escape_8(to + 8 + population(low), at + 8, quoted >> 8)
    return to + count + population(quoted)


@called
def put_text(to: int, at: int, size: int, limit: int) -> int:
    """Writes `size` bytes at `at` as the content of a JSON string: the address behind it; 0 where they are not UTF-8.

    `limit` is where readable memory ends.
    """
    while size > 0:
        if size >= 16 and specials(at) == 0:  # apart, so that no step waits for the one before to know where it begins
            to = _put_plain(to, at, 16, quoted(at))
            at += 16
            size -= 16
            continue
        if limit - at < 16:
            return _put_slowly(to, at, size)
        count = min(size, 16)
        within = (1 << count) - 1
        special = specials(at) & within
        if special:
            count = trailing_zeros(special)
            within = (1 << count) - 1
        to = _put_plain(to, at, count, quoted(at) & within)
        at += count
        size -= count
        while special and size > 0:  # a stretch of controls or of another script
            code = load_u8(at)
            length = 1
            if code >= 0x80:
                length = character(at, size)
                if length == 0:
                    return 0
                to = _put_character(to, at, length)
            elif code < 0x20 or code == 0x7F:
                to = put_control(to, code)
            else:
                break
            at += length
            size -= length
    return to


_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_pairs = constant("base64_pairs", b"".join(bytes([high, low]) for high in _ALPHABET for low in _ALPHABET))


@called
def put_base64(to: int, at: int, size: int) -> int:
    """Writes `size` bytes at `at` in base64 (RFC 4648, padded): the address behind it."""
    pairs = _pairs()
    while size >= 3:
        bits = load_u8(at) << 16 | load_u8(at + 1) << 8 | load_u8(at + 2)
        store_16(to, load_i16(pairs + (bits >> 12) * 2))
        store_16(to + 2, load_i16(pairs + (bits & 4095) * 2))
        at, size, to = at + 3, size - 3, to + 4
    if size == 0:
        return to
    bits = load_u8(at) << 16 | (load_u8(at + 1) << 8 if size == 2 else 0)
    store_16(to, load_i16(pairs + (bits >> 12) * 2))
    store_16(to + 2, load_i16(pairs + (bits & 4095) * 2))
    store_8(to + 3, 61)
    if size == 1:
        store_8(to + 2, 61)
    return to + 4


@inlined
def put_field(to: int, at: int, size: int, limit: int) -> int:
    """The rest of a field whose name has been begun (`"key`): `":"text"`, `Base64":"..."` or, of size -1, `":null`."""
    if size < 0:
        return put(to, '":null')
    behind = put_text(put(to, '":"'), at, size, limit)
    if behind == 0:
        behind = put_base64(put(to, 'Base64":"'), at, size)
    store_8(behind, 34)
    return behind + 1
