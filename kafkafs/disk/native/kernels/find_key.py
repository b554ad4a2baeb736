"""One key among many, by its hash: in rows in memory, or in the pages of a key index. See `search.key_table`."""

from kafkafs.disk.native.kernels.files import read_file
from kafkafs.format.native.kernels.checksum import crc32c_of
from kafkafs.format.native.kernels.keys import hashed
from kafkafs.format.native.kernels.machine import inlined, load_i64, load_u32, shift_right, store_64
from kafkafs.format.native.layout import (
    KEY_DESCRIPTOR,
    KEY_FENCES,
    KEY_PAGE,
    KEY_PAGE_CRC,
    KEY_PAGE_ROWS,
    KEY_PAGES_AT,
    KEY_ROWS,
    KEY_ROWS_AT,
    KEY_SEED,
    KEY_TABLE,
)

_LOW = 0xFFFFFFFF


@inlined
def _below(rows: int, count: int, limit: int) -> int:
    """How many of the ascending rows are smaller than `limit`."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if load_i64(rows + middle * 8) < limit:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _taken(rows: int, at: int, hash_: int, out: int, made: int, capacity: int) -> tuple[int, int]:
    """Writes the offsets of the rows before `at` that have this hash, the last first: (how many there are, `at`)."""
    while at > 0 and made < capacity and shift_right(load_i64(rows + (at - 1) * 8), 32) == hash_:
        at -= 1
        store_64(out + made * 8, load_i64(rows + at * 8) & _LOW)
        made += 1
    return made, at


@inlined
def _page(table: int, number: int, room: int) -> int:
    """Reads a page of a key index: how many rows it has, -1 where it is not what was written."""
    store_64(room, room + 16)
    store_64(room + 8, KEY_PAGE)
    position = load_i64(table + KEY_PAGES_AT) + number * KEY_PAGE
    if read_file(load_i64(table + KEY_DESCRIPTOR), room, position, 0) != KEY_PAGE:
        return -1
    page = room + 16
    if crc32c_of(page, KEY_PAGE_CRC) != load_u32(page + KEY_PAGE_CRC):
        return -1
    return min(KEY_PAGE_ROWS, load_i64(table + KEY_ROWS) - number * KEY_PAGE_ROWS)


@inlined
def _in_pages(table: int, hash_: int, limit: int, room: int, out: int, capacity: int) -> int:
    """The offsets in a key index on disk; -1 where a page is damaged."""
    pages = (load_i64(table + KEY_ROWS) + KEY_PAGE_ROWS - 1) // KEY_PAGE_ROWS
    number, made = _below(load_i64(table + KEY_FENCES), pages, limit) - 1, 0
    while number >= 0 and made < capacity:
        count = _page(table, number, room)
        if count < 0:
            return -1
        made, at = _taken(room + 16, _below(room + 16, count, limit), hash_, out, made, capacity)
        if at > 0:
            break
        number -= 1
    return made


def find_key(tables: int, first: int, stop: int, key: int, size: int, below: int, room: int, out: int) -> int:
    """Kernel: the next of tables [first, stop) that has the key's hash; `stop` where none has.

    out: how many offsets above the table's base follow, at most `capacity` as it stands there, the largest first; -1
    where the table is damaged. In table `first` they lie below `below`. `room` takes a page, and an iovec before it.
    """
    capacity, hash_ = load_i64(out), 0
    for number in range(first, stop):
        table = tables + number * KEY_TABLE
        seed = table + KEY_SEED
        before = seed - KEY_TABLE
        if number == first or load_i64(seed) != load_i64(before) or load_i64(seed + 8) != load_i64(before + 8):
            hash_ = hashed(key, size, seed)
        limit = hash_ << 32 | (below if number == first else _LOW)
        if load_i64(table + KEY_DESCRIPTOR) < 0:
            rows = load_i64(table + KEY_ROWS_AT)
            made, _ = _taken(rows, _below(rows, load_i64(table + KEY_ROWS), limit), hash_, out + 8, 0, capacity)
        else:
            made = _in_pages(table, hash_, limit, room, out + 8, capacity)
        if made:
            store_64(out, made)
            return number
    return stop
