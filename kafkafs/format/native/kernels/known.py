"""Batches that were found sound, so that the next lookup that passes them reads their headers only.

A table of 2**KNOWN_SLOTS_BITS numbers, each slot for the last key that fell into it: the segment's generation, what is
known, the batch's position. Nothing is lost when one is pushed out but time.
"""

from kafkafs.format.native.kernels.machine import inlined, load_i64, shift_right, store_64
from kafkafs.format.native.layout import KNOWN_FACTOR, KNOWN_SLOTS_BITS


@inlined
def known_key(generation: int, position: int, kind: int) -> int:
    """Positions have 31 bits: a segment is smaller than 2 GiB."""
    return generation << 32 | kind << 31 | position


@inlined
def _slot(table: int, key: int) -> int:
    return table + 8 * shift_right(key * KNOWN_FACTOR, 64 - KNOWN_SLOTS_BITS)


@inlined
def is_known(table: int, key: int) -> int:
    """1 where the key was put into the table and no other has taken its slot, else 0."""
    return 1 if load_i64(_slot(table, key)) == key else 0


@inlined
def make_known(table: int, key: int) -> None:
    """Puts a key into its slot, in place of what was there."""
    store_64(_slot(table, key), key)
