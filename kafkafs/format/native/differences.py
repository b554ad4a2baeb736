"""Records side by side: which of those that two logs have at one offset are alike, and what all of a record hashes to.

See `kafkafs.format.differences`.
"""

import cython

from kafkafs.format.native.layout import RECORD_ALONE, RECORD_SAME, RECORD_UNLIKE
from kafkafs.format.native.primitives import *
from kafkafs.format.native.siphash import siphash


@inlined
def _same_field(data: Span, at: Int, size: Int, other: Span, other_at: Int, other_size: Int) -> Int:
    """True if two records agree in a field. Null has the size -1."""
    if size != other_size:
        return 0
    return 1 if size <= 0 or same_bytes(data, at, other, other_at, size) else 0


@native
def _same(one: Record, data: Span, other: Record, other_data: Span) -> Int:
    """True if two records have the same timestamp, key, value and headers."""
    if one.timestamp != other.timestamp or one.header_count != other.header_count:
        return 0
    if not _same_field(data, one.key_at, one.key_size, other_data, other.key_at, other.key_size):
        return 0
    if not _same_field(data, one.value_at, one.value_size, other_data, other.value_at, other.value_size):
        return 0
    if one.header_count == 0:
        return 1
    return _same_field(data, one.headers_at, one.headers_size, other_data, other.headers_at, other.headers_size)


def mark_records(
    one: object, one_count: Int, one_data: object, other: object, other_count: Int, other_data: object,
    one_marks: object, other_marks: object,
) -> int:  # fmt: skip
    """Kernel: a byte for each record of both, RECORD_ALONE, RECORD_SAME or RECORD_UNLIKE; answers how many are the
    same.

    Both come in the order of offsets, and no offset twice.
    """
    rows, data, marks = span(one), span(one_data), room(one_marks)
    beside, beside_data, beside_marks = span(other), span(other_data), room(other_marks)
    index: Int = 0
    at: Int = 0
    same: Int = 0
    with cython.nogil:
        while index < one_count or at < other_count:
            if at >= other_count or (
                index < one_count and record_at(rows, index).offset < record_at(beside, at).offset
            ):
                store_8(marks, index, RECORD_ALONE)
                index += 1
                continue
            if index >= one_count or record_at(beside, at).offset < record_at(rows, index).offset:
                store_8(beside_marks, at, RECORD_ALONE)
                at += 1
                continue
            mark: Int = RECORD_UNLIKE
            if _same(record_at(rows, index), data, record_at(beside, at), beside_data):
                mark = RECORD_SAME
                same += 1
            store_8(marks, index, mark)
            store_8(beside_marks, at, mark)
            index += 1
            at += 1
    return same


@native
def _hashed_field(data: Span, at: Int, size: Int, key_0: Word, key_1: Word) -> tuple[Word, Word]:
    """The hash of a field under the hash of all before it. Null is another field than an empty one: its key is one that
    no timestamp and no number of headers leads to."""
    if size < 0:
        return siphash(data, 0, 0, key_0, key_1 ^ ALL)
    return siphash(data, at, size, key_0, key_1)


def hash_contents(record_table: object, count: Int, source: object, seed: object, target: object) -> int:
    """Kernel: 16 bytes for each of `count` records, the hash of its timestamp, key, value and headers; answers `count`.

    The seed has 16 bytes.
    """
    records, data, seeds, out = span(record_table), span(source), span(seed), room(target)
    with cython.nogil:
        for index in range(count):
            record = record_at(records, index)
            key_0: Word = (load_i64(seeds, 0) ^ record.timestamp) & ALL
            key_1: Word = (load_i64(seeds, 8) ^ record.header_count) & ALL
            key_0, key_1 = _hashed_field(data, record.key_at, record.key_size, key_0, key_1)
            key_0, key_1 = _hashed_field(data, record.value_at, record.value_size, key_0, key_1)
            if record.header_count > 0:
                key_0, key_1 = _hashed_field(data, record.headers_at, record.headers_size, key_0, key_1)
            store_64(out, index * 16, key_0)
            store_64(out, index * 16 + 8, key_1)
    return count
