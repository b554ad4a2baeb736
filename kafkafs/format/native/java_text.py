"""UTF-8 as Java reads it: what is malformed becomes U+FFFD, one for each part that Java's decoder gives up on.

That is the longest beginning of a character, as for Unicode, but that an encoded surrogate counts as one part, even
where its last byte is missing. Source: observed, over all sequences of bytes that matter.
"""

from kafkafs.format.native.machine import Int, Span, inlined, load_i64, load_u8, native, store_8, store_16, store_64
from kafkafs.format.native.text import character, put_character

_HIGH_BITS = -0x7F7F7F7F7F7F7F80  # the top bit of each of eight bytes


@inlined
def _continues(data: Span, at: Int, end: Int) -> Int:
    if at >= end or load_u8(data, at) & 0xC0 != 0x80:
        return 0
    return 1


@inlined
def _malformed(data: Span, at: Int, end: Int) -> Int:
    """How many bytes make one replacement where the bytes at `at` are no character."""
    lead = load_u8(data, at)
    if lead < 0xE0 or lead > 0xF4 or not _continues(data, at + 1, end):
        return 1
    second = load_u8(data, at + 1)
    if (lead == 0xE0 and second < 0xA0) or (lead == 0xF0 and second < 0x90) or (lead == 0xF4 and second > 0x8F):
        return 1
    return 2 + _continues(data, at + 2, end)


@native
def put_java_text(out: Span, to: Int, data: Span, at: Int, size: Int) -> Int:
    """Writes `size` bytes at `at`, three times as many at most: the place behind them."""
    end = at + size
    while at < end:
        while at + 8 <= end:
            eight = load_i64(data, at)
            if eight & _HIGH_BITS:
                break
            store_64(out, to, eight)
            at += 8
            to += 8
        while at < end and load_u8(data, at) < 0x80:
            store_8(out, to, load_u8(data, at))
            at += 1
            to += 1
        while at < end and load_u8(data, at) >= 0x80:
            length = character(data, at, end - at)
            if length:
                to = put_character(out, to, data, at, length)
                at += length
            else:
                store_8(out, to, 0xEF)
                store_16(out, to + 1, 0xBDBF)
                at += _malformed(data, at, end)
                to += 3
    return to
