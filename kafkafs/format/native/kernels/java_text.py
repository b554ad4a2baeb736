"""UTF-8 as Java reads it: what is malformed becomes U+FFFD, one for each part that Java's decoder gives up on.

That is the longest beginning of a character, as for Unicode, but that an encoded surrogate counts as one part, even
where its last byte is missing. Source: observed, over all sequences of bytes that matter.
"""

from kafkafs.format.native.kernels.machine import called, inlined, load_i64, load_u8, store_8, store_16, store_64
from kafkafs.format.native.kernels.text import character

_HIGH_BITS = -0x7F7F7F7F7F7F7F80  # the top bit of each of eight bytes


@inlined
def _continues(at: int, end: int) -> int:
    return 1 if at < end and load_u8(at) & 0xC0 == 0x80 else 0


@inlined
def _malformed(at: int, end: int) -> int:
    """How many bytes make one replacement where the bytes at `at` are no character."""
    lead = load_u8(at)
    if lead < 0xE0 or lead > 0xF4 or not _continues(at + 1, end):
        return 1
    second = load_u8(at + 1)
    if (lead == 0xE0 and second < 0xA0) or (lead == 0xF0 and second < 0x90) or (lead == 0xF4 and second > 0x8F):
        return 1
    return 2 + _continues(at + 2, end)


@called
def put_java_text(to: int, at: int, size: int) -> int:
    """Writes `size` bytes at `at`, three times as many at most: the address behind them."""
    end = at + size
    while at < end:
        while at + 8 <= end:
            eight = load_i64(at)
            if eight & _HIGH_BITS:
                break
            store_64(to, eight)
            at, to = at + 8, to + 8
        while at < end and load_u8(at) < 0x80:
            store_8(to, load_u8(at))
            at, to = at + 1, to + 1
        while at < end and load_u8(at) >= 0x80:
            length = character(at, end - at)
            if length:
                for index in range(length):
                    store_8(to + index, load_u8(at + index))
                at, to = at + length, to + length
            else:
                store_8(to, 0xEF)
                store_16(to + 1, 0xBDBF)
                at, to = at + _malformed(at, end), to + 3
    return to
