"""Keys as numbers: hashing those of many records, and sorting them. See `kafkafs.format.key_rows`.

A row of the result is one int64: 31 bits of the key's hash, then the record's offset less a base in 32 bits. While rows
are collected, each also has a check, 64 more bits of the hash, which tells one key from another.
"""

from kafkafs.format.native.kernels.machine import (
    inlined,
    load_i64,
    shift_right,
)
from kafkafs.format.native.kernels.siphash import siphash

_LOW = 0xFFFFFFFF
_DIGIT, _BUCKETS = 11, 1 << 11


@inlined
def hashed(key: int, size: int, seed: int) -> int:
    """The 31 bits by which a key is found."""
    first, _ = siphash(key, size, load_i64(seed), load_i64(seed + 8))
    return shift_right(first, 33)
