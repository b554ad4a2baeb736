"""Some bytes among many: which batches and which records hold them.

Sixteen places at a time are tried for the first and the last byte of what is sought; where both fit, the rest is
compared.

What is sought, the needle, comes with an alternative for each of its bytes, the same or the letter in its other case.
"""

from kafkafs.format.native.kernels.machine import (
    called,
    equal_16,
    inlined,
    load_i16,
    load_i32,
    load_i64,
    load_u8,
    store_64,
    trailing_zeros,
)
from kafkafs.format.native.layout import (
    BATCH_AT,
    BATCH_ROW,
    NEEDLE_HEADERS,
    NEEDLE_KEY,
    NEEDLE_VALUE,
    RECORD_AT,
    RECORD_ROW,
)


@inlined
def _stands(at: int, needle: int, other: int, size: int) -> bool:
    """Whether the needle stands at an address."""
    for place in range(size):
        byte = load_u8(at + place)
        if byte != load_u8(needle + place) and byte != load_u8(other + place):
            return False
    return True


@called
def _holds(at: int, end: int, needle: int, other: int, size: int) -> bool:
    """Whether the needle stands anywhere in [at, end); it has at least one byte."""
    last = size - 1
    first_byte, first_other = load_u8(needle), load_u8(other)
    last_byte, last_other = load_u8(needle + last), load_u8(other + last)
    while end - at >= last + 16:
        mask = (equal_16(at, first_byte) | equal_16(at, first_other)) & (
            equal_16(at + last, last_byte) | equal_16(at + last, last_other)
        )
        while mask:
            if _stands(at + trailing_zeros(mask), needle, other, size):
                return True
            mask &= mask - 1
        at += 16
    while end - at >= size:
        if _stands(at, needle, other, size):
            return True
        at += 1
    return False


def needle_batches(
    batches: int, count: int, data: int, position: int, needle: int, other: int, size: int, out: int
) -> int:
    """Kernel: the numbers (int64) of the batches that may hold the needle; answers how many.

    `data` begins at `position` of the segment. Of compressed batches only their records tell.
    """
    made = 0
    for number in range(count):
        batch = batches + number * BATCH_ROW
        at = data + load_i64(batch + BATCH_AT.position) - position
        packed = load_i16(batch + BATCH_AT.attributes) & 7
        if packed or _holds(at, at + load_i64(batch + BATCH_AT.size), needle, other, size):
            store_64(out + made * 8, number)
            made += 1
    return made


def needle_records(
    records: int, count: int, data: int, fields: int, needle: int, other: int, size: int, out: int
) -> int:
    """Kernel: the numbers (int64) of the records that hold the needle in one of the fields asked for; how many.

    Headers count as a whole: names, values and their lengths.
    """
    made = 0
    for number in range(count):
        record, found = records + number * RECORD_ROW, False
        if fields & NEEDLE_KEY:
            at, length = data + load_i64(record + RECORD_AT.key_at), load_i32(record + RECORD_AT.key_size)
            found = length >= size and _holds(at, at + length, needle, other, size)
        if fields & NEEDLE_VALUE and not found:
            at, length = data + load_i64(record + RECORD_AT.value_at), load_i32(record + RECORD_AT.value_size)
            found = length >= size and _holds(at, at + length, needle, other, size)
        if fields & NEEDLE_HEADERS and not found:
            at, length = data + load_i64(record + RECORD_AT.headers_at), load_i32(record + RECORD_AT.headers_size)
            found = length >= size and _holds(at, at + length, needle, other, size)
        if found:
            store_64(out + made * 8, number)
            made += 1
    return made
