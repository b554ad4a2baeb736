"""Rows of RECORD as JSON lines (docs/queries.md), straight into the output buffer."""

import cython

from kafkafs.format.native.layout import *
from kafkafs.format.native.primitives import *
from kafkafs.format.native.text import character, put_base64, put_field, put_number, put_text
from kafkafs.format.native.varint import varint

WORDS = 256  # bytes; more than a line's names, numbers and punctuation, and the reach of a store behind the end
HEADER_WORDS = 64  # the same for one header
WORST = 6  # bytes of output for one of input, at most: \u0000


@inlined
def headers_bound(row: Record) -> Int:
    """More bytes than the headers of a record can have."""
    size: Int = row.headers_size
    count: Int = row.header_count
    return size * WORST + count * HEADER_WORDS


@inlined
def _bound(row: Record, prefix_size: Int) -> Int:
    """More bytes than the line of a record can have."""
    key: Int = max(row.key_size, 0)
    value: Int = max(row.value_size, 0)
    return prefix_size + WORDS + (key + value) * WORST + headers_bound(row)


@inlined
def put_prefix(out: Span, to: Int, prefix: Span, size: Int) -> Int:
    """Write the beginning of each line, 16 bytes at a time. Its buffer has 16 bytes more for this."""
    for step in range(0, size, 16):
        copy_16(out, to + step, prefix, step)
    return to + size


@native
def put_headers(
    out: Span, to: Int, data: Span, at: Int, end: Int, index: Int, count: Int
) -> tuple[Int, Int, Int]:  # fmt: skip
    """Headers [index, count) from `at` on, up to one that might not fit: (behind output, behind input, next index)."""
    while index < count:
        name_size, name_at = varint(data, at, end)
        if name_at < 0 or name_size < 0 or name_size > end - name_at:  # cannot be: decoding looked at them
            return to, at, count
        size, value_at = varint(data, name_at + name_size, end)
        if value_at < 0 or size > end - value_at:
            return to, at, count
        if (name_size + max(size, 0)) * WORST + HEADER_WORDS > out.nbytes - to:
            return to, at, index
        if index:
            to = put(out, to, b",")
        to = put_field(out, put(out, to, b'{"key'), data, name_at, name_size)
        to = put(out, put_field(out, put(out, to, b',"value'), data, value_at, size), b"}")
        at = value_at + max(size, 0)
        index += 1
    return to, at, index


@inlined
def put_all_headers(out: Span, to: Int, data: Span, row: Record) -> Int:
    """The end of a line, from `headers` on, for which there is room."""
    if row.header_count == 0:
        return put(out, to, b',"headers":[]}\n')
    at: Int = row.headers_at
    to = put(out, to, b',"headers":[')
    to, _, _ = put_headers(out, to, data, at, at + row.headers_size, 0, row.header_count)
    return put(out, to, b"]}\n")


@native
def put_times(out: Span, to: Int, row: Record) -> Int:
    """Timestamp and type of a record, and the beginning of its key."""
    to = put_number(out, put(out, to, b',"timestamp":'), row.timestamp)
    if row.timestamp_type == CREATE_TIME:
        return put(out, to, b',"timestampType":"CreateTime","key')
    if row.timestamp_type == LOG_APPEND_TIME:
        return put(out, to, b',"timestampType":"LogAppendTime","key')
    return put(out, to, b',"timestampType":null,"key')


def json_lines(
    record_table: object, first: Int, stop: Int, source: object, beginning: object, prefix_size: Int, target: object
) -> tuple[int, int]:
    """Kernel: the lines of rows [first, stop), whose bytes stand in `source`.

    `beginning` is what each line begins with, up to `"offset":`, and 16 bytes more. Ends before a line that might not
    fit into `target`. The answer: how many bytes the lines have, and the row that it ended before.
    """
    rows, data, prefix, out = span(record_table), span(source), span(beginning), room(target)
    to: Int = 0
    times: Int = 0  # the previous line's text behind its offset, up to `"key`; neighbours often share it
    times_size: Int = 0
    timestamp: Int = 0
    kind: Int = -9
    with cython.nogil:
        while first < stop:
            row = record_at(rows, first)
            if _bound(row, prefix_size) > out.nbytes - to:
                break
            to = put_number(out, put_prefix(out, to, prefix, prefix_size), row.offset)
            if row.timestamp == timestamp and row.timestamp_type == kind:
                for step in range(0, times_size, 16):
                    copy_16(out, to + step, out, times + step)
            else:
                timestamp, kind = row.timestamp, row.timestamp_type
                times_size = put_times(out, to, row) - to
            times = to
            to = put_field(out, to + times_size, data, row.key_at, row.key_size)
            to = put_field(out, put(out, to, b',"value'), data, row.value_at, row.value_size)
            to = put_all_headers(out, to, data, row)
            first += 1
    return to, first


def lines_bound(record_table: object, first: Int, stop: Int, prefix_size: Int) -> int:
    """Kernel: more bytes than the lines of rows [first, stop) can have."""
    rows = span(record_table)
    total: Int = 0
    with cython.nogil:
        for number in range(first, stop):
            total += _bound(record_at(rows, number), prefix_size)
    return total


# A line that is too large for one piece is put together by the view of these.


def json_headers(
    source: object, at: Int, end: Int, index: Int, count: Int, target: object
) -> tuple[int, int, int]:  # fmt: skip
    """Kernel: headers [index, count) in [at, end) of `source` as JSON, separated by commas.

    Ends before a header that might not fit into `target`. The answer: how many bytes, where in `source`, and which
    header that is.
    """
    data, out = span(source), room(target)
    with cython.nogil:
        to, at, index = put_headers(out, 0, data, at, end, index, count)
    return to, at, index


def is_text(source: object, at: Int, size: Int) -> bool:
    """Kernel: whether these bytes are valid UTF-8."""
    data = span(source)
    end = at + size
    length: Int = 1
    with cython.nogil:
        while at < end and length > 0:
            length = 1 if load_u8(data, at) < 0x80 else character(data, at, end - at)
            at += length
    return length > 0


def text_piece(source: object, at: Int, size: Int, target: object) -> int:
    """Kernel: valid UTF-8 with JSON's escapes; how many bytes. `target` has six times the size and 64 bytes."""
    data, out = span(source), room(target)
    with cython.nogil:
        made = put_text(out, 0, data, at, size)
    return made


def base64_piece(source: object, at: Int, size: Int, target: object) -> int:
    """Kernel: the bytes in base64; how many. `target` has room for twice the size and 64 bytes."""
    data, out = span(source), room(target)
    with cython.nogil:
        made = put_base64(out, 0, data, at, size)
    return made
