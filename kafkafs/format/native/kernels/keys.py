"""Keys as numbers: hashing those of many records, sorting them, and finding one again. See `kafkafs.format.key_rows`.

A row of the result is one int64: 31 bits of the key's hash, then the record's offset less a base in 32 bits. While rows
are collected, each also has a check, 64 more bits of the hash, which tells one key from another.
"""

from kafkafs.format.native.kernels.checksum import crc32c_of
from kafkafs.format.native.kernels.machine import (
    inlined,
    load_i32,
    load_i64,
    load_u8,
    load_u32,
    read_file,
    shift_right,
    store_64,
)
from kafkafs.format.native.kernels.siphash import siphash
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
    RECORD_KEY_AT,
    RECORD_KEY_SIZE,
    RECORD_OFFSET,
    RECORD_ROW,
)

_LOW = 0xFFFFFFFF
_DIGIT, _BUCKETS = 11, 1 << 11


@inlined
def _hashed(key: int, size: int, seed: int) -> int:
    first, _ = siphash(key, size, load_i64(seed), load_i64(seed + 8))
    return shift_right(first, 33)


def hash_key(key: int, size: int, seed: int) -> int:
    """Kernel: the 31 bits by which a key is found; `seed` is the address of 16 bytes."""
    return _hashed(key, size, seed)


def hash_keys(records: int, count: int, data: int, seed: int, base: int, rows: int, checks: int) -> int:
    """Kernel: a row and a check for each of `count` records that has a key; answers how many those are.

    -1 where an offset does not fit into 32 bits above `base`.
    """
    made, seed_0, seed_1 = 0, load_i64(seed), load_i64(seed + 8)
    for index in range(count):
        record = records + index * RECORD_ROW
        size = load_i32(record + RECORD_KEY_SIZE)
        if size < 0:
            continue
        offset = load_i64(record + RECORD_OFFSET) - base
        if offset < 0 or offset > _LOW:
            return -1
        first, second = siphash(data + load_i64(record + RECORD_KEY_AT), size, seed_0, seed_1)
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
def _taken(rows: int, at: int, hashed: int, out: int, made: int, capacity: int) -> tuple[int, int]:
    """Writes the offsets of the rows before `at` that have this hash, the last first: (how many there are, `at`)."""
    while at > 0 and made < capacity and shift_right(load_i64(rows + (at - 1) * 8), 32) == hashed:
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
def _in_pages(table: int, hashed: int, limit: int, room: int, out: int, capacity: int) -> int:
    """The offsets in a key index on disk; -1 where a page is damaged."""
    pages = (load_i64(table + KEY_ROWS) + KEY_PAGE_ROWS - 1) // KEY_PAGE_ROWS
    number, made = _below(load_i64(table + KEY_FENCES), pages, limit) - 1, 0
    while number >= 0 and made < capacity:
        count = _page(table, number, room)
        if count < 0:
            return -1
        made, at = _taken(room + 16, _below(room + 16, count, limit), hashed, out, made, capacity)
        if at > 0:
            break
        number -= 1
    return made


def find_key(tables: int, first: int, stop: int, key: int, size: int, below: int, room: int, out: int) -> int:
    """Kernel: the next of tables [first, stop) that has the key's hash; `stop` where none has.

    out: how many offsets above the table's base follow, at most `capacity` as it stands there, the largest first; -1
    where the table is damaged. In table `first` they lie below `below`. `room` takes a page, and an iovec before it.
    """
    capacity, hashed = load_i64(out), 0
    for number in range(first, stop):
        table = tables + number * KEY_TABLE
        seed = table + KEY_SEED
        before = seed - KEY_TABLE
        if number == first or load_i64(seed) != load_i64(before) or load_i64(seed + 8) != load_i64(before + 8):
            hashed = _hashed(key, size, seed)
        limit = hashed << 32 | (below if number == first else _LOW)
        if load_i64(table + KEY_DESCRIPTOR) < 0:
            rows = load_i64(table + KEY_ROWS_AT)
            made, _ = _taken(rows, _below(rows, load_i64(table + KEY_ROWS), limit), hashed, out + 8, 0, capacity)
        else:
            made = _in_pages(table, hashed, limit, room, out + 8, capacity)
        if made:
            store_64(out, made)
            return number
    return stop


@inlined
def _same(one: int, other: int, size: int) -> bool:
    """Whether two runs of bytes are the same."""
    at = 0
    while size - at >= 8:
        if load_i64(one + at) != load_i64(other + at):
            return False
        at += 8
    while at < size:
        if load_u8(one + at) != load_u8(other + at):
            return False
        at += 1
    return True


def match_keys(records: int, count: int, data: int, key: int, size: int, out: int) -> int:
    """Kernel: the numbers (int64) of the records with just this key; answers how many."""
    made = 0
    for index in range(count):
        record = records + index * RECORD_ROW
        if load_i32(record + RECORD_KEY_SIZE) == size and _same(data + load_i64(record + RECORD_KEY_AT), key, size):
            store_64(out + made * 8, index)
            made += 1
    return made
