"""How many different keys there are, about: HyperLogLog (Flajolet and others, 2007) over the keys of many records."""

from kafkafs.format.native.kernels.machine import (
    inlined,
    leading_zeros,
    load_i32,
    load_i64,
    load_u8,
    shift_right,
    store_8,
)
from kafkafs.format.native.layout import RECORD_AT, RECORD_ROW

_FIRST, _SECOND = 0x9E3779B97F4A7C15 - (1 << 64), 0xC2B2AE3D27D4EB4F - (1 << 64)


@inlined
def _mixed(value: int) -> int:
    """All bits of a number spread over all of it (the finish of SplitMix64)."""
    value = (value ^ shift_right(value, 30)) * (0xBF58476D1CE4E5B9 - (1 << 64))
    value = (value ^ shift_right(value, 27)) * (0x94D049BB133111EB - (1 << 64))
    return value ^ shift_right(value, 31)


@inlined
def _hashed(at: int, size: int) -> int:
    """64 bits for `size` bytes."""
    value = _mixed(size + _FIRST)
    while size >= 8:
        value = _mixed(value ^ load_i64(at))
        at += 8
        size -= 8
    rest = 0
    while size > 0:
        rest = rest << 8 | load_u8(at)
        at += 1
        size -= 1
    return _mixed(value ^ rest ^ _SECOND)


def sketch_keys(rows: int, count: int, data: int, registers: int, bits: int) -> int:
    """Kernel: enters the keys of `count` rows into 2**bits registers of a byte; answers how many are not null."""
    keys = 0
    for index in range(count):
        row = rows + index * RECORD_ROW
        size = load_i32(row + RECORD_AT.key_size)
        if size < 0:
            continue
        keys += 1
        value = _hashed(data + load_i64(row + RECORD_AT.key_at), size)
        place = registers + shift_right(value, 64 - bits)
        rank = leading_zeros(value << bits | 1 << (bits - 1)) + 1
        if rank > load_u8(place):
            store_8(place, rank)
    return keys
