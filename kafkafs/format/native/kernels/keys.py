"""Keys as numbers: hashing those of many records, and sorting them. See `kafkafs.format.key_rows`.

A row of the result is one int64: 31 bits of the key's hash, then the record's offset less a base in 32 bits. While rows
are collected, each also has a check, 64 more bits of the hash, which tells one key from another.
"""

from kafkafs.format.native.kernels.differences import same_bytes
from kafkafs.format.native.kernels.machine import (
    inlined,
    load_i32,
    load_i64,
    shift_right,
    store_64,
)
from kafkafs.format.native.kernels.siphash import siphash
from kafkafs.format.native.layout import RECORD_AT, RECORD_ROW

_LOW = 0xFFFFFFFF
_DIGIT, _BUCKETS = 11, 1 << 11


@inlined
def hashed(key: int, size: int, seed: int) -> int:
    """The 31 bits by which a key is found."""
    first, _ = siphash(key, size, load_i64(seed), load_i64(seed + 8))
    return shift_right(first, 33)


def hash_key(key: int, size: int, seed: int) -> int:
    """Kernel: the 31 bits by which a key is found; `seed` is the address of 16 bytes."""
    return hashed(key, size, seed)


def hash_keys(records: int, count: int, data: int, seed: int, base: int, rows: int, checks: int) -> int:
    """Kernel: a row and a check for each of `count` records that has a key; answers how many those are.

    -1 where an offset does not fit into 32 bits above `base`.
    """
    made, seed_0, seed_1 = 0, load_i64(seed), load_i64(seed + 8)
    for index in range(count):
        record = records + index * RECORD_ROW
        size = load_i32(record + RECORD_AT.key_size)
        if size < 0:
            continue
        offset = load_i64(record + RECORD_AT.offset) - base
        if offset < 0 or offset > _LOW:
            return -1
        first, second = siphash(data + load_i64(record + RECORD_AT.key_at), size, seed_0, seed_1)
        store_64(rows + made * 8, shift_right(first, 33) << 32 | offset)
        store_64(checks + made * 8, second)
        made += 1
    return made


@inlined
def _sorted_by_digit(source: int, target: int, count: int, shift: int, counts: int, checks: int, others: int) -> None:
    """One pass of a radix sort, which keeps the order of what has the same digit; checks move with their rows."""
    for bucket in range(_BUCKETS):
        store_64(counts + bucket * 8, 0)
    for index in range(count):
        place = counts + (shift_right(load_i64(source + index * 8), shift) & (_BUCKETS - 1)) * 8
        store_64(place, load_i64(place) + 1)
    total = 0
    for bucket in range(_BUCKETS):
        here = load_i64(counts + bucket * 8)
        store_64(counts + bucket * 8, total)
        total += here
    for index in range(count):
        row = load_i64(source + index * 8)
        place = counts + (shift_right(row, shift) & (_BUCKETS - 1)) * 8
        at = load_i64(place)
        store_64(place, at + 1)
        store_64(target + at * 8, row)
        store_64(others + at * 8, load_i64(checks + index * 8))


def settle_keys(rows: int, checks: int, count: int, spare_rows: int, spare_checks: int, counts: int) -> int:
    """Kernel: sorts rows by hash and keeps of each key the last; answers how many are left, in the spare arrays.

    Rows come in the order of their offsets, those of equal hash at least. `counts` has room for 2,048 numbers. Two keys
    of the same hash that take turns keep a row too many, which does no harm.
    """
    _sorted_by_digit(rows, spare_rows, count, 32, counts, checks, spare_checks)
    _sorted_by_digit(spare_rows, rows, count, 32 + _DIGIT, counts, spare_checks, checks)
    _sorted_by_digit(rows, spare_rows, count, 32 + 2 * _DIGIT, counts, checks, spare_checks)
    kept = 0
    for index in range(count):
        row, check = load_i64(spare_rows + index * 8), load_i64(spare_checks + index * 8)
        before = (kept - 1) * 8
        same = kept > 0 and shift_right(load_i64(spare_rows + before) ^ row, 32) == 0
        if same and load_i64(spare_checks + before) == check:
            kept -= 1
        store_64(spare_rows + kept * 8, row)
        store_64(spare_checks + kept * 8, check)
        kept += 1
    return kept


def match_keys(records: int, count: int, data: int, key: int, size: int, out: int) -> int:
    """Kernel: the numbers (int64) of the records with just this key; answers how many."""
    made = 0
    for index in range(count):
        record = records + index * RECORD_ROW
        if load_i32(record + RECORD_AT.key_size) == size and same_bytes(
            data + load_i64(record + RECORD_AT.key_at), key, size
        ):
            store_64(out + made * 8, index)
            made += 1
    return made
