"""A sparse index of the records of large batches, so that a lookup need not parse all those before the one it wants.

A table of 2**RECORD_INDEX_BITS rows, each for the last entry that fell into it. Entry `number` of a batch is its first
record at or behind that many times RECORD_INDEX_INTERVAL bytes. A row is four numbers: at which byte of the batch the
record stands, the offset of the record before it, the largest timestamp of all records before it, and a check of these,
of the batch's key (see `verified`) and of the number. Threads write without a lock; the check shows whose row it is,
and whole. (Without it `.jsonl` points in batches of 850 KB take 2 to 3 times as long.)
"""

from kafkafs.disk.native.layout import HASH_FACTOR, RECORD_INDEX_BITS, RECORD_INDEX_ROW
from kafkafs.format.native.kernels.machine import inlined, load_i64, shift_right, store_64

_MIX = 0x2545F4914F6CDD1D


@inlined
def _row(table: int, key: int, number: int) -> int:
    return table + RECORD_INDEX_ROW * shift_right((key ^ number << 20) * HASH_FACTOR, 64 - RECORD_INDEX_BITS)


@inlined
def _check(key: int, number: int, record_at: int, before: int, newest: int) -> int:
    check = (key ^ number) * _MIX + 1
    check = (check ^ record_at) * _MIX + 1
    check = (check ^ before) * _MIX + 1
    return (check ^ newest) * _MIX + 1


@inlined
def set_record(table: int, key: int, number: int, record_at: int, before: int, newest: int) -> None:
    """Note an entry of a batch: see the module for its numbers."""
    row = _row(table, key, number)
    store_64(row, record_at)
    store_64(row + 8, before)
    store_64(row + 16, newest)
    store_64(row + 24, _check(key, number, record_at, before, newest))


@inlined
def indexed_record(table: int, key: int, number: int) -> tuple[int, int, int]:
    """At which byte of the batch it stands, the offset before it, the largest timestamp before it; byte 0 where it is
    not known."""
    row = _row(table, key, number)
    record_at, before, newest = load_i64(row), load_i64(row + 8), load_i64(row + 16)
    if load_i64(row + 24) != _check(key, number, record_at, before, newest):
        return 0, 0, 0
    return record_at, before, newest
