"""Rows of RECORD as JSON lines (docs/queries.md), straight into the output buffer."""

from kafkafs.format.native.kernels.machine import (
    called,
    copy_16,
    inlined,
    load_i8,
    load_i32,
    load_i64,
    load_u8,
    put,
    store_64,
)
from kafkafs.format.native.kernels.numbers import put_number
from kafkafs.format.native.kernels.text import character, put_base64, put_field, put_text
from kafkafs.format.native.kernels.varint import varint
from kafkafs.format.native.layout import CREATE_TIME, LOG_APPEND_TIME, RECORD_AT, RECORD_ROW

WORDS = 256  # bytes; more than a line's names, numbers and punctuation, and the reach of a store behind the end
HEADER_WORDS = 64  # the same for one header
EVERYWHERE = 1 << 62  # an address behind all room: there is enough
WORST = 6  # bytes of output for one of input, at most: \u0000


@inlined
def _bound(row: int, prefix_size: int) -> int:
    """More bytes than the line of a record can have."""
    content = max(load_i32(row + RECORD_AT.key_size), 0) + max(load_i32(row + RECORD_AT.value_size), 0)
    headers = load_i32(row + RECORD_AT.headers_size) * WORST + load_i32(row + RECORD_AT.header_count) * HEADER_WORDS
    return prefix_size + WORDS + content * WORST + headers


@called
def put_headers(to: int, room_end: int, at: int, end: int, index: int, count: int, limit: int) -> tuple[int, int, int]:
    """Headers [index, count) from `at` on, up to one that might not fit: (behind output, behind input, next index)."""
    while index < count:
        size, value_at = varint(at, end)
        if value_at == 0 or size < 0 or size > end - value_at:  # cannot be: decoding looked at them
            return to, at, count
        name_at, name_size = value_at, size
        size, value_at = varint(name_at + name_size, end)
        if value_at == 0 or size > end - value_at:
            return to, at, count
        if (name_size + max(size, 0)) * WORST + HEADER_WORDS > room_end - to:
            return to, at, index
        if index:
            to = put(to, ",")
        to = put_field(put(to, '{"key'), name_at, name_size, limit)
        to = put(put_field(put(to, ',"value'), value_at, size, limit), "}")
        at = value_at + max(size, 0)
        index += 1
    return to, at, index


@inlined
def same_times(row: int, other: int) -> bool:
    """Whether two records, often neighbours within a millisecond, have the same timestamp and type of it."""
    timestamp, kind = load_i64(row + RECORD_AT.timestamp), load_i8(row + RECORD_AT.timestamp_type)
    return timestamp == load_i64(other + RECORD_AT.timestamp) and kind == load_i8(other + RECORD_AT.timestamp_type)


@called
def put_times(to: int, row: int) -> int:
    """Timestamp and type of a record, and the beginning of its key."""
    to = put_number(put(to, ',"timestamp":'), load_i64(row + RECORD_AT.timestamp))
    return _put_type(to, load_i8(row + RECORD_AT.timestamp_type))


@inlined
def _put_type(to: int, timestamp_type: int) -> int:
    if timestamp_type == CREATE_TIME:
        return put(to, ',"timestampType":"CreateTime","key')
    if timestamp_type == LOG_APPEND_TIME:
        return put(to, ',"timestampType":"LogAppendTime","key')
    return put(to, ',"timestampType":null,"key')


@inlined
def _put_rest(to: int, row: int, data: int, limit: int) -> int:
    """All of a line behind its timestamp type."""
    to = put_field(to, data + load_i64(row + RECORD_AT.key_at), load_i32(row + RECORD_AT.key_size), limit)
    to = put(to, ',"value')
    to = put_field(to, data + load_i64(row + RECORD_AT.value_at), load_i32(row + RECORD_AT.value_size), limit)
    count = load_i32(row + RECORD_AT.header_count)
    if count == 0:
        return put(to, ',"headers":[]}\n')
    at = data + load_i64(row + RECORD_AT.headers_at)
    end = at + load_i32(row + RECORD_AT.headers_size)
    to, _, _ = put_headers(put(to, ',"headers":['), EVERYWHERE, at, end, 0, count, limit)
    return put(to, "]}\n")


def json_lines(
    rows: int, first: int, stop: int, data: int, size: int, prefix: int, prefix_size: int,
    out: int, capacity: int, result: int,
) -> int:  # fmt: skip
    """Kernel: the lines of rows [first, stop), whose bytes stand in `size` bytes at `data`; how many bytes they have.

    `prefix` is what each line begins with, up to `"offset":`, in a buffer of 16 bytes more. Ends before a line that
    might not fit into `capacity` bytes. result: the row that it ended before.
    """
    to, limit, number = out, data + size, first
    times, times_size = 0, 0  # where the line before has what follows its offset, up to `"key`
    while number < stop:
        row = rows + number * RECORD_ROW
        if _bound(row, prefix_size) > out + capacity - to:
            break
        for step in range(0, prefix_size, 16):
            copy_16(to + step, prefix + step)
        to = put_number(to + prefix_size, load_i64(row + RECORD_AT.offset))
        if times and same_times(row, row - RECORD_ROW):
            for step in range(0, times_size, 16):
                copy_16(to + step, times + step)
            times = to
        else:
            times = to
            times_size = put_times(to, row) - to
        to = _put_rest(to + times_size, row, data, limit)
        number += 1
    store_64(result, number)
    return to - out


def lines_bound(rows: int, first: int, stop: int, prefix_size: int) -> int:
    """Kernel: more bytes than the lines of rows [first, stop) can have."""
    total = 0
    for number in range(first, stop):
        total += _bound(rows + number * RECORD_ROW, prefix_size)
    return total


# A line that is too large for one piece is put together by the view of these.


def json_headers(
    data: int, size: int, at: int, end: int, index: int, count: int, out: int, capacity: int, result: int
) -> int:
    """Kernel: headers [index, count) in [at, end) of `data` as JSON, separated by commas; how many bytes.

    Ends before a header that might not fit into `capacity` bytes. result: where in `data`, and which header that is.
    """
    to, behind, index = put_headers(out, out + capacity, data + at, data + end, index, count, data + size)
    store_64(result, behind - data)
    store_64(result + 8, index)
    return to - out


def is_text(at: int, size: int) -> int:
    """Kernel: 1 where the bytes are valid UTF-8, else 0."""
    end = at + size
    while at < end:
        length = 1 if load_u8(at) < 0x80 else character(at, end - at)
        if length == 0:
            return 0
        at += length
    return 1


def text_piece(at: int, size: int, limit: int, out: int) -> int:
    """Kernel: valid UTF-8 with JSON's escapes; how many bytes. `out` has room for six times the size and 64 bytes."""
    return put_text(out, at, size, limit) - out


def base64_piece(at: int, size: int, out: int) -> int:
    """Kernel: the bytes in base64; how many. `out` has room for twice the size and 64 bytes."""
    return put_base64(out, at, size) - out
