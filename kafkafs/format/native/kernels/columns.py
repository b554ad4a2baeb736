"""From rows of RECORD to the buffers of Arrow columns: bytes moved together, ends and validity bits beside them.

A column of bytes is three buffers: `ends` (int32, one more than rows, the first is 0), the bytes back to back, and a
bit a row that tells null. Bytes are copied sixteen at a time, so the target has 16 bytes to spare. What a call needs
and what it leaves behind stands in a table of int64, whose places are named in `layout`.
"""

from kafkafs.format.native.kernels.machine import (
    copy_16,
    inlined,
    load_i8,
    load_i32,
    load_i64,
    load_u8,
    store_8,
    store_32,
    store_64,
)
from kafkafs.format.native.kernels.varint import varint
from kafkafs.format.native.layout import (
    ARROW_HEADER_LISTS,
    ARROW_HEADER_NAMES,
    ARROW_HEADER_VALUES,
    ARROW_KEYS,
    ARROW_OFFSETS,
    ARROW_ROW,
    ARROW_TIMESTAMPS,
    ARROW_TYPES,
    ARROW_VALUES,
    COLUMN_BITS,
    COLUMN_BYTES,
    COLUMN_ENDS,
    COLUMN_NULLS,
    COLUMN_ROWS,
    COLUMN_USED,
    RECORD_AT,
    RECORD_ROW,
)


@inlined
def _copy(target: int, source: int, size: int, source_end: int) -> None:
    """`size` bytes; up to 15 more are written, and read where the source has them."""
    while size > 0 and source_end - source >= 16:
        copy_16(target, source)
        target += 16
        source += 16
        size -= 16
    while size > 0:
        store_8(target, load_u8(source))
        target += 1
        source += 1
        size -= 1


@inlined
def _set_bit(bits: int, row: int) -> None:
    place = bits + (row >> 3)
    store_8(place, load_u8(place) | 1 << (row & 7))


@inlined
def _append(column: int, source: int, size: int, source_end: int) -> None:
    """One more row of a column of bytes; a negative size is null."""
    row, used = load_i64(column + COLUMN_ROWS), load_i64(column + COLUMN_USED)
    if size < 0:
        store_64(column + COLUMN_NULLS, load_i64(column + COLUMN_NULLS) + 1)
    else:
        _copy(load_i64(column + COLUMN_BYTES) + used, source, size, source_end)
        _set_bit(load_i64(column + COLUMN_BITS), row)
        used += size
    store_32(load_i64(column + COLUMN_ENDS) + (row + 1) * 4, used)
    store_64(column + COLUMN_USED, used)
    store_64(column + COLUMN_ROWS, row + 1)


def arrow_columns(rows: int, count: int, data: int, size: int, table: int) -> int:
    """Kernel: appends `count` rows of RECORD, whose bytes lie in `data`, to all columns but the headers."""
    end, first = data + size, load_i64(table + ARROW_ROW)
    offsets, timestamps = load_i64(table + ARROW_OFFSETS), load_i64(table + ARROW_TIMESTAMPS)
    types = load_i64(table + ARROW_TYPES)
    keys, values = table + ARROW_KEYS, table + ARROW_VALUES
    for index in range(count):
        row, place = rows + index * RECORD_ROW, first + index
        store_64(offsets + place * 8, load_i64(row + RECORD_AT.offset))
        store_64(timestamps + place * 8, load_i64(row + RECORD_AT.timestamp) * 1000)
        store_32(types + place * 4, load_i8(row + RECORD_AT.timestamp_type))
        _append(keys, data + load_i64(row + RECORD_AT.key_at), load_i32(row + RECORD_AT.key_size), end)
        _append(values, data + load_i64(row + RECORD_AT.value_at), load_i32(row + RECORD_AT.value_size), end)
    store_64(table + ARROW_ROW, first + count)
    return count


def arrow_headers(rows: int, count: int, data: int, size: int, table: int) -> int:
    """Kernel: appends the headers of `count` rows: a list a row (null without any), names and values in columns."""
    end = data + size
    lists, names, values = table + ARROW_HEADER_LISTS, table + ARROW_HEADER_NAMES, table + ARROW_HEADER_VALUES
    for index in range(count):
        row = rows + index * RECORD_ROW
        headers, at = load_i32(row + RECORD_AT.header_count), data + load_i64(row + RECORD_AT.headers_at)
        stop = at + load_i32(row + RECORD_AT.headers_size)
        for _ in range(headers):
            length, at = varint(at, stop)
            _append(names, at, length, end)
            length, at = varint(at + length, stop)
            _append(values, at, length, end)
            at += max(length, 0)
        place = load_i64(lists + COLUMN_ROWS)
        if headers:
            _set_bit(load_i64(lists + COLUMN_BITS), place)
        else:
            store_64(lists + COLUMN_NULLS, load_i64(lists + COLUMN_NULLS) + 1)
        store_32(load_i64(lists + COLUMN_ENDS) + (place + 1) * 4, load_i64(names + COLUMN_ROWS))
        store_64(lists + COLUMN_ROWS, place + 1)
    return count
