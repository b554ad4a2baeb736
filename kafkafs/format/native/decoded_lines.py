"""Rows of RECORD as decoded lines: as `lines` writes them, with the JSON text and the tail of each cell."""

import cython

from kafkafs.format.native.layout import IN_DATA, IN_HELD, IN_TAILS, IN_TEXTS
from kafkafs.format.native.lines import WORDS, WORST, headers_bound, put_all_headers, put_prefix, put_times
from kafkafs.format.native.machine import (
    Cell,
    Int,
    Record,
    Span,
    cell_at,
    copy_bytes,
    inlined,
    native,
    put,
    record_at,
    room,
    span,
)
from kafkafs.format.native.numbers import put_number
from kafkafs.format.native.text import put_field


@inlined
def _cell_bound(cell: Cell) -> Int:
    text: Int = cell.text_size if cell.text_in else max(cell.size, 0) * WORST
    tail: Int = cell.tail_size
    return text + tail


@inlined
def _decoded_bound(row: Record, key: Cell, value: Cell, prefix_size: Int) -> Int:
    """More bytes than the line of a record can have."""
    return prefix_size + WORDS + _cell_bound(key) + _cell_bound(value) + headers_bound(row)


@inlined
def _copied(out: Span, to: Int, data: Span, at: Int, size: Int) -> Int:
    copy_bytes(out, to, data, at, size)
    return to + size


@native
def _put_cell(out: Span, to: Int, cell: Cell, data: Span, texts: Span, held: Span, tails: Span) -> Int:
    """The rest of a field whose name has been begun, and its tail."""
    if cell.text_in == IN_DATA:
        to = _copied(out, put(out, to, b'":'), data, cell.text, cell.text_size)
    elif cell.text_in == IN_TEXTS:
        to = _copied(out, put(out, to, b'":'), texts, cell.text, cell.text_size)
    elif cell.text_in == IN_HELD:
        to = _copied(out, put(out, to, b'":'), held, cell.text, cell.text_size)
    else:
        to = put_field(out, to, data, cell.at, cell.size)
    if cell.tail_in == IN_TAILS:
        return _copied(out, to, tails, cell.tail, cell.tail_size)
    if cell.tail_in == IN_HELD:
        return _copied(out, to, held, cell.tail, cell.tail_size)
    return to


def decoded_lines(
    table: object, cell_table: object, first: Int, stop: Int, source: object, text_source: object, held_source: object,
    tail_source: object, beginning: object, prefix_size: Int, target: object,
) -> tuple[int, int]:  # fmt: skip
    """Kernel: the lines of rows [first, stop) with their cells, two a row, whose texts and tails are in those sources.

    As `json_lines`: ends before a line that might not fit into `target`. The answer: how many bytes the lines have, and
    the row that it ended before.
    """
    rows, cells, data, texts, held = span(table), span(cell_table), span(source), span(text_source), span(held_source)
    tails, prefix, out = span(tail_source), span(beginning), room(target)
    to: Int = 0
    with cython.nogil:
        while first < stop:
            row, key, value = record_at(rows, first), cell_at(cells, 2 * first), cell_at(cells, 2 * first + 1)
            if _decoded_bound(row, key, value, prefix_size) > out.nbytes - to:
                break
            to = put_number(out, put_prefix(out, to, prefix, prefix_size), row.offset)
            to = put(out, _put_cell(out, put_times(out, to, row), key, data, texts, held, tails), b',"value')
            to = _put_cell(out, to, value, data, texts, held, tails)
            to = put_all_headers(out, to, data, row)
            first += 1
    return to, first
