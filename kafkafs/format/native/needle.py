"""Some bytes among many: which batches and which records hold them.

Sixteen places at a time are tried for the first and the last byte of what is sought; where both fit, the rest is
compared.

The needle comes with an alternative for each of its bytes: the same byte, or the letter in the other case.
"""

import cython

from kafkafs.format.native.layout import *
from kafkafs.format.native.primitives import *


@inlined
def _is_at(data: Span, at: Int, needle: Span, other: Span) -> Int:
    """True if the needle is at a place."""
    for place in range(needle.nbytes):
        byte = load_u8(data, at + place)
        if byte != load_u8(needle, place) and byte != load_u8(other, place):
            return 0
    return 1


@native
def _holds(data: Span, at: Int, end: Int, needle: Span, other: Span) -> Int:
    """True if the needle is anywhere in [at, end). The needle has at least one byte."""
    last = needle.nbytes - 1
    first_byte, first_other = load_u8(needle, 0), load_u8(other, 0)
    last_byte, last_other = load_u8(needle, last), load_u8(other, last)
    while end - at >= last + 16:
        mask = (equal_16(data, at, first_byte) | equal_16(data, at, first_other)) & (
            equal_16(data, at + last, last_byte) | equal_16(data, at + last, last_other)
        )
        while mask:
            if _is_at(data, at + trailing_zeros(mask), needle, other):
                return 1
            mask &= mask - 1
        at += 16
    while end - at > last:
        if _is_at(data, at, needle, other):
            return 1
        at += 1
    return 0


def needle_batches(
    batch_table: object, count: Int, source: object, position: Int, text: object, alternative: object, target: object
) -> int:
    """Kernel: the numbers (int64) of the batches that may hold the needle; answers how many.

    `source` begins at `position` of the segment. Only the records of a compressed batch tell.
    """
    batches, data, needle, other, out = span(batch_table), span(source), span(text), span(alternative), room(target)
    made: Int = 0
    with cython.nogil:
        for number in range(count):
            batch = batch_at(batches, number)
            at = batch.position - position
            if batch.attributes & 7 or _holds(data, at, at + batch.size, needle, other):
                store_64(out, made * 8, number)
                made += 1
    return made


@inlined
def _field_holds(data: Span, at: Int, size: Int, needle: Span, other: Span) -> Int:
    return _holds(data, at, at + size, needle, other) if size >= needle.nbytes else 0


def needle_records(
    record_table: object, count: Int, source: object, fields: Int, text: object, alternative: object, target: object
) -> int:
    """Kernel: the numbers (int64) of the records that hold the needle in one of the fields asked for; how many.

    Headers count as a whole: names, values and their lengths.
    """
    records, data, needle, other, out = span(record_table), span(source), span(text), span(alternative), room(target)
    made: Int = 0
    with cython.nogil:
        for number in range(count):
            record = record_at(records, number)
            found: Int = 0
            if fields & NEEDLE_KEY:
                found = _field_holds(data, record.key_at, record.key_size, needle, other)
            if fields & NEEDLE_VALUE and not found:
                found = _field_holds(data, record.value_at, record.value_size, needle, other)
            if fields & NEEDLE_HEADERS and not found:
                found = _field_holds(data, record.headers_at, record.headers_size, needle, other)
            if found:
                store_64(out, made * 8, number)
                made += 1
    return made
