"""How many different keys there are, about: HyperLogLog (Flajolet and others, 2007) over the keys of many records."""

import cython

from kafkafs.format.native.machine import (
    ALL,
    Int,
    Span,
    Word,
    inlined,
    leading_zeros,
    load_i64,
    load_u8,
    native,
    record_at,
    room,
    span,
    store_8,
)

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


def sketch_keys(table: object, count: Int, source: object, target: object, bits: Int) -> int:
    """Kernel: enters the keys of `count` rows into 2**bits registers of a byte; answers how many are not null."""
    rows, data, registers = span(table), span(source), room(target)
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
