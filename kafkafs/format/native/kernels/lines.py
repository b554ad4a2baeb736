"""Rows of RECORD as JSON lines (docs/queries.md), straight into the output buffer."""

from kafkafs.format.native.kernels.machine import (
    called,
    inlined,
    load_i8,
    load_i32,
    load_i64,
    put,
)
from kafkafs.format.native.kernels.numbers import put_number
from kafkafs.format.native.kernels.text import put_field
from kafkafs.format.native.kernels.varint import varint
from kafkafs.format.native.layout import CREATE_TIME, LOG_APPEND_TIME, RECORD_AT

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
