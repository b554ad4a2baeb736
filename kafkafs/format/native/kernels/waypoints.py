"""Places inside of large batches, so that a lookup need not read and parse all records before the one that is wanted.

A table of 2**WAYPOINT_SLOTS_BITS rows, each for the last waypoint that fell into it. Waypoint `number` of a batch is
its first record at or behind that many times WAYPOINT_EVERY bytes. A row is four numbers: the record's place in the
batch, the offset of the record before it, the largest timestamp of all records before it, and a check of these, of the
batch's key (see `known`) and of the number. Threads write without a lock; the check shows whose row it is, and whole.
"""

from kafkafs.format.native.kernels.machine import inlined, load_i64, shift_right, store_64
from kafkafs.format.native.layout import KNOWN_FACTOR, WAYPOINT_ROW, WAYPOINT_SLOTS_BITS

_MIX = 0x2545F4914F6CDD1D


@inlined
def _row(table: int, key: int, number: int) -> int:
    return table + WAYPOINT_ROW * shift_right((key ^ number << 20) * KNOWN_FACTOR, 64 - WAYPOINT_SLOTS_BITS)


@inlined
def _check(key: int, number: int, place: int, before: int, newest: int) -> int:
    check = (key ^ number) * _MIX + 1
    check = (check ^ place) * _MIX + 1
    check = (check ^ before) * _MIX + 1
    return (check ^ newest) * _MIX + 1


@inlined
def set_waypoint(table: int, key: int, number: int, place: int, before: int, newest: int) -> None:
    """Writes a row with its check, which a reader that comes in the middle finds wrong."""
    row = _row(table, key, number)
    store_64(row, place)
    store_64(row + 8, before)
    store_64(row + 16, newest)
    store_64(row + 24, _check(key, number, place, before, newest))


@inlined
def waypoint(table: int, key: int, number: int) -> tuple[int, int, int]:
    """Its place in the batch, the offset before it, the largest timestamp before it; place 0 where it is not known."""
    row = _row(table, key, number)
    place, before, newest = load_i64(row), load_i64(row + 8), load_i64(row + 16)
    if load_i64(row + 24) != _check(key, number, place, before, newest):
        return 0, 0, 0
    return place, before, newest
