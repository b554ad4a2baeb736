"""From the records of format v2 to rows of RECORD, with every check that Kafka makes. Source: DefaultRecord."""

from kafkafs.format.native.kernels.machine import (
    inlined,
    load_i16,
    load_i64,
    store_8,
    store_32,
    store_64,
)
from kafkafs.format.native.kernels.varint import varint, varlong
from kafkafs.format.native.layout import (
    BATCH_AT,
    CREATE_TIME,
    HEADERS_BAD,
    KEY_BAD,
    LENGTH_BAD,
    LOG_APPEND_TIME,
    OFFSET_ORDER,
    RECORD_AT,
    RECORD_LEFTOVER,
    SOUND,
    VALUE_BAD,
    VARINT_BAD,
)


@inlined
def _past_headers(at: int, end: int, count: int) -> int:
    """The address behind `count` headers; 0 where they do not fit, or a name is null."""
    for _ in range(count):
        size, at = varint(at, end)
        if at == 0 or size < 0 or size > end - at:
            return 0
        size, at = varint(at + size, end)
        if at == 0 or size > end - at:
            return 0
        at += max(size, 0)
    return at


@inlined
def record(batch: int, data: int, at: int, end: int, previous: int, row: int) -> tuple[int, int, int]:
    """One record at `at`, its row written: (address behind it, its offset, what is wrong)."""
    size, at = varint(at, end)
    if at == 0:
        return 0, 0, VARINT_BAD
    if size < 0 or size > end - at:
        return 0, 0, LENGTH_BAD
    stop = at + size
    timestamp, at = varlong(at + 1, stop)  # behind the unused attributes
    if at == 0:
        return 0, 0, VARINT_BAD
    delta, at = varint(at, stop)
    if at == 0:
        return 0, 0, VARINT_BAD
    offset = load_i64(batch + BATCH_AT.base_offset) + delta
    if offset <= previous or offset > load_i64(batch + BATCH_AT.last_offset):
        return 0, 0, OFFSET_ORDER
    key_size, at = varint(at, stop)
    if at == 0 or key_size > stop - at:
        return 0, 0, KEY_BAD
    key_at = at
    value_size, at = varint(at + max(key_size, 0), stop)
    if at == 0 or value_size > stop - at:
        return 0, 0, VALUE_BAD
    value_at = at
    headers, at = varint(at + max(value_size, 0), stop)
    if at == 0 or headers < 0 or headers > stop - at:
        return 0, 0, HEADERS_BAD
    headers_at = at
    if headers:
        at = _past_headers(at, stop, headers)
        if at == 0:
            return 0, 0, HEADERS_BAD
    if at != stop:
        return 0, 0, RECORD_LEFTOVER
    if row:
        store_64(row + RECORD_AT.offset, offset)
        store_64(row + RECORD_AT.timestamp, load_i64(batch + BATCH_AT.base_timestamp) + timestamp)
        store_64(row + RECORD_AT.key_at, key_at - data)
        store_64(row + RECORD_AT.value_at, value_at - data)
        store_64(row + RECORD_AT.headers_at, headers_at - data)
        store_32(row + RECORD_AT.key_size, max(key_size, -1))
        store_32(row + RECORD_AT.value_size, max(value_size, -1))
        store_32(row + RECORD_AT.header_count, headers)
        store_32(row + RECORD_AT.headers_size, stop - headers_at)
    return at, offset, SOUND


@inlined
def finish(batch: int, number: int, row: int) -> None:
    """What a row has of its batch."""
    log_append = load_i16(batch + BATCH_AT.attributes) & 8
    if log_append:
        store_64(row + RECORD_AT.timestamp, load_i64(batch + BATCH_AT.max_timestamp))
    store_32(row + RECORD_AT.batch, number)
    store_8(row + RECORD_AT.timestamp_type, LOG_APPEND_TIME if log_append else CREATE_TIME)
    store_8(row + RECORD_AT.magic, 2)
