"""From rows of RECORD to the buffers of Arrow columns: bytes moved together, ends and validity bits beside them.

A column of bytes is one block: six numbers (COLUMN_... of `layout`), three of which tell where the others begin:
`ends` (int32, one more than rows, the first is 0), a bit a row that tells null, and the bytes back to back. Bytes are
copied sixteen at a time, so the block has 16 bytes to spare.
"""

import cython

from kafkafs.format.native.layout import *
from kafkafs.format.native.primitives import *
from kafkafs.format.native.varint import varint


@inlined
def _copy(out: Span, to: Int, data: Span, at: Int, size: Int) -> None:
    """`size` bytes; up to 15 more are written, and read where the source has them."""
    if data.nbytes - at < size + 16:
        copy_bytes(out, to, data, at, size)
    else:
        for step in range(0, size, 16):
            copy_16(out, to + step, data, at + step)


@inlined
def _add_row(column: Span, end: Int, is_valid: Int) -> None:
    """One more row, which ends at `end`."""
    row = load_i64(column, COLUMN_ROWS)
    if is_valid:
        place = load_i64(column, COLUMN_BITS) + (row >> 3)
        store_8(column, place, load_u8(column, place) | 1 << (row & 7))
    else:
        store_64(column, COLUMN_NULLS, load_i64(column, COLUMN_NULLS) + 1)
    store_32(column, load_i64(column, COLUMN_ENDS) + (row + 1) * 4, end)
    store_64(column, COLUMN_ROWS, row + 1)


@inlined
def _append(column: Span, data: Span, at: Int, size: Int) -> None:
    """One more row of a column of bytes; a negative size is null."""
    used = load_i64(column, COLUMN_USED)
    if size > 0:
        _copy(column, load_i64(column, COLUMN_BYTES) + used, data, at, size)
        used += size
        store_64(column, COLUMN_USED, used)
    _add_row(column, used, size >= 0)


def arrow_columns(
    record_table: object, count: Int, source: object, first: Int, offset_column: object, time_column: object,
    type_column: object, key_column: object, value_column: object,
) -> None:  # fmt: skip
    """Kernel: appends `count` rows of RECORD, whose bytes lie in `source`, to all columns but the headers.

    `first` of them are there.
    """
    rows, data, offsets, times = span(record_table), span(source), room(offset_column), room(time_column)
    types, keys, values = room(type_column), room(key_column), room(value_column)
    with cython.nogil:
        for index in range(count):
            row, place = record_at(rows, index), first + index
            store_64(offsets, place * 8, row.offset)
            store_64(times, place * 8, row.timestamp * 1000)
            store_32(types, place * 4, row.timestamp_type)
            _append(keys, data, row.key_at, row.key_size)
            _append(values, data, row.value_at, row.value_size)


@native
def _append_headers(names: Span, values: Span, data: Span, at: Int, end: Int, count: Int) -> None:
    for _ in range(count):
        size, at = varint(data, at, end)
        _append(names, data, at, size)
        size, at = varint(data, at + size, end)
        _append(values, data, at, size)
        at += max(size, 0)


def arrow_headers(
    record_table: object, count: Int, source: object, list_column: object, name_column: object, value_column: object
) -> None:
    """Kernel: appends the headers of `count` rows: a list a row (null without any), names and values in columns."""
    rows, data, lists, names, values = (
        span(record_table), span(source), room(list_column), room(name_column), room(value_column),
    )  # fmt: skip
    with cython.nogil:
        for index in range(count):
            row = record_at(rows, index)
            at: Int = row.headers_at
            _append_headers(names, values, data, at, at + row.headers_size, row.header_count)
            _add_row(lists, load_i64(names, COLUMN_ROWS), row.header_count != 0)
