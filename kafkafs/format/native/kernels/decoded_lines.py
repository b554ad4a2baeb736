"""Rows of RECORD as decoded lines: as `lines` writes them, with the JSON text and the tail of each cell."""

from kafkafs.format.native.kernels.lines import EVERYWHERE, HEADER_WORDS, WORDS, WORST, put_headers, put_times
from kafkafs.format.native.kernels.machine import (
    called,
    copy_16,
    copy_bytes,
    inlined,
    load_i32,
    load_i64,
    put,
    store_64,
)
from kafkafs.format.native.kernels.numbers import put_number
from kafkafs.format.native.kernels.text import put_field
from kafkafs.format.native.layout import CELL_AT, CELL_WORDS, RECORD_AT, RECORD_ROW


@inlined
def _cell_bound(cell: int) -> int:
    text = (
        load_i64(cell + CELL_AT.text_size)
        if load_i64(cell + CELL_AT.text)
        else max(load_i64(cell + CELL_AT.size), 0) * WORST
    )
    return text + load_i64(cell + CELL_AT.tail_size)


@inlined
def _bound(row: int, key: int, prefix_size: int) -> int:
    """More bytes than the line of a record can have."""
    headers = load_i32(row + RECORD_AT.headers_size) * WORST + load_i32(row + RECORD_AT.header_count) * HEADER_WORDS
    return prefix_size + WORDS + _cell_bound(key) + _cell_bound(key + 8 * CELL_WORDS) + headers


@called
def _put_cell(to: int, cell: int, data: int, limit: int) -> int:
    """The rest of a field whose name has been begun, and its tail."""
    text = load_i64(cell + CELL_AT.text)
    if text:
        size = load_i64(cell + CELL_AT.text_size)
        to = put(to, '":')
        copy_bytes(to, text, size)
        to += size
    else:
        to = put_field(to, data + load_i64(cell + CELL_AT.at), load_i64(cell + CELL_AT.size), limit)
    size = load_i64(cell + CELL_AT.tail_size)
    copy_bytes(to, load_i64(cell + CELL_AT.tail), size)
    return to + size


def decoded_lines(
    rows: int, cells: int, first: int, stop: int, data: int, size: int, prefix: int, prefix_size: int,
    out: int, capacity: int, result: int,
) -> int:  # fmt: skip
    """Kernel: the lines of rows [first, stop) with their cells, two a row; how many bytes they have.

    As `json_lines`: ends before a line that might not fit into `capacity` bytes. result: the row that it ended before.
    """
    to, limit, number = out, data + size, first
    while number < stop:
        row, key = rows + number * RECORD_ROW, cells + number * 16 * CELL_WORDS
        if _bound(row, key, prefix_size) > out + capacity - to:
            break
        for step in range(0, prefix_size, 16):
            copy_16(to + step, prefix + step)
        to = put_times(put_number(to + prefix_size, load_i64(row + RECORD_AT.offset)), row)
        to = put(_put_cell(to, key, data, limit), ',"value')
        to = _put_cell(to, key + 8 * CELL_WORDS, data, limit)
        count = load_i32(row + RECORD_AT.header_count)
        to = put(to, ',"headers":[')
        at = data + load_i64(row + RECORD_AT.headers_at)
        end = at + load_i32(row + RECORD_AT.headers_size)
        to, _, _ = put_headers(to, EVERYWHERE, at, end, 0, count, limit)
        to = put(to, "]}\n")
        number += 1
    store_64(result, number)
    return to - out
