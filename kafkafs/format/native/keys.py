"""Keys as numbers: hashing those of many records, and sorting them, for `kafkafs.format.key_index`; and how many
different ones there are.

A row of the result is one int64: 31 bits of the key's hash, then the record's offset less a base in 32 bits. While rows
are collected, each also has a check, 64 more bits of the hash, which tells one key from another.

Different keys are counted about, by HyperLogLog (Flajolet and others, 2007), with a quicker hash.
"""

import cython

from kafkafs.format.native.primitives import *
from kafkafs.format.native.siphash import siphash

_LOW = 0xFFFFFFFF
_DIGIT, _BUCKETS = 11, 1 << 11


@native
def _numbers_of(data: Span, at: Int, size: Int, key_0: Word, key_1: Word) -> tuple[Word, Word]:
    """The 31 bits by which a key is found, and its check."""
    first, second = siphash(data, at, size, key_0, key_1)
    return first >> 33, second


def hash_key(key: object, seed: object) -> int:
    """Kernel: the 31 bits by which a key is found; the seed has 16 bytes."""
    data, seeds = span(key), span(seed)
    found, _ = _numbers_of(data, 0, data.nbytes, load_i64(seeds, 0) & ALL, load_i64(seeds, 8) & ALL)
    return found


def hash_keys(
    record_table: object, count: Int, source: object, seed: object, base: Int, row_target: object, check_target: object
) -> int:
    """Kernel: a row and a check for each of `count` records that has a key; answers how many those are.

    -1 where an offset does not fit into 32 bits above `base`.
    """
    records, data, seeds = span(record_table), span(source), span(seed)
    rows, checks = room(row_target), room(check_target)
    key_0: Word = load_i64(seeds, 0) & ALL
    key_1: Word = load_i64(seeds, 8) & ALL
    made: Int = 0
    with cython.nogil:
        for index in range(count):
            record = record_at(records, index)
            if record.key_size < 0:
                continue
            offset = record.offset - base
            if offset < 0 or offset > _LOW:
                made = -1
                break
            found, check = _numbers_of(data, record.key_at, record.key_size, key_0, key_1)
            store_64(rows, made * 8, found << 32 | offset)
            store_64(checks, made * 8, check)
            made += 1
    return made


@native
def _sort_by_digit(
    source: Span, target: Span, count: Int, shift: Int, counts: Span, checks: Span, others: Span
) -> None:
    """One pass of a radix sort, which keeps the order of what has the same digit; checks move with their rows."""
    for bucket in range(_BUCKETS):
        store_64(counts, bucket * 8, 0)
    for index in range(count):
        place = (shift_right(load_i64(source, index * 8), shift) & (_BUCKETS - 1)) * 8
        store_64(counts, place, load_i64(counts, place) + 1)
    total: Int = 0
    for bucket in range(_BUCKETS):
        here = load_i64(counts, bucket * 8)
        store_64(counts, bucket * 8, total)
        total += here
    for index in range(count):
        row = load_i64(source, index * 8)
        place = (shift_right(row, shift) & (_BUCKETS - 1)) * 8
        at = load_i64(counts, place)
        store_64(counts, place, at + 1)
        store_64(target, at * 8, row)
        store_64(others, at * 8, load_i64(checks, index * 8))


def settle_keys(
    row_source: object, check_source: object, spare_rows: object, spare_checks: object, scratch: object
) -> int:
    """Kernel: sorts rows by hash and keeps of each key the last; answers how many are left, in the spare arrays.

    Rows come in the order of their offsets, those of equal hash at least. `scratch` has room for 2,048 numbers. Two
    keys of the same hash that take turns keep a row too many, which does no harm.
    """
    rows, checks, others, other_checks = room(row_source), room(check_source), room(spare_rows), room(spare_checks)
    counts = room(scratch)
    kept: Int = 0
    with cython.nogil:
        count = rows.nbytes // 8
        _sort_by_digit(rows, others, count, 32, counts, checks, other_checks)
        _sort_by_digit(others, rows, count, 32 + _DIGIT, counts, other_checks, checks)
        _sort_by_digit(rows, others, count, 32 + 2 * _DIGIT, counts, checks, other_checks)
        for index in range(count):
            row, check = load_i64(others, index * 8), load_i64(other_checks, index * 8)
            if kept > 0:
                before = (kept - 1) * 8
                if load_i64(others, before) >> 32 == row >> 32 and load_i64(other_checks, before) == check:
                    kept -= 1
            store_64(others, kept * 8, row)
            store_64(other_checks, kept * 8, check)
            kept += 1
    return kept


def match_keys(record_table: object, count: Int, source: object, wanted: object, target: object) -> int:
    """Kernel: the numbers (int64) of the records with just this key; answers how many."""
    records, data, key, out = span(record_table), span(source), span(wanted), room(target)
    made: Int = 0
    with cython.nogil:
        for index in range(count):
            record = record_at(records, index)
            if record.key_size == key.nbytes and same_bytes(data, record.key_at, key, 0, key.nbytes):
                store_64(out, made * 8, index)
                made += 1
    return made


_FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F
_SPREAD, _SPREAD_AGAIN = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


@inlined
def _mixed(value: Word) -> Word:
    """All bits of a number spread over all of it (the finish of SplitMix64)."""
    value = ((value ^ value >> 30) * _SPREAD) & ALL
    value = ((value ^ value >> 27) * _SPREAD_AGAIN) & ALL
    return value ^ value >> 31


@native
def _hashed(data: Span, at: Int, size: Int) -> Word:
    """64 bits for `size` bytes."""
    value: Word = _mixed((size + _FIRST) & ALL)
    while size >= 8:
        value = _mixed(value ^ (load_i64(data, at) & ALL))
        at += 8
        size -= 8
    rest: Word = 0
    while size > 0:
        rest = rest << 8 | load_u8(data, at)
        at += 1
        size -= 1
    return _mixed(value ^ rest ^ _SECOND)


def sketch_keys(record_table: object, count: Int, source: object, target: object, bits: Int) -> int:
    """Kernel: enters the keys of `count` rows into 2**bits registers of a byte; answers how many are not null."""
    rows, data, registers = span(record_table), span(source), room(target)
    keys: Int = 0
    with cython.nogil:
        for index in range(count):
            row = record_at(rows, index)
            if row.key_size < 0:
                continue
            keys += 1
            value = _hashed(data, row.key_at, row.key_size)
            place: Int = value >> (64 - bits)
            rank = leading_zeros((value << bits | 1 << (bits - 1)) & ALL) + 1
            if rank > load_u8(registers, place):
                store_8(registers, place, rank)
    return keys
