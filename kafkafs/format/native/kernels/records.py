"""From the records of format v2 to rows of RECORD, with every check that Kafka makes. Source: DefaultRecord."""

from kafkafs.format.native.kernels.machine import (
    inlined,
    load_i16,
    load_i32,
    load_i64,
    store_8,
    store_32,
    store_64,
)
from kafkafs.format.native.kernels.varint import varint, varlong
from kafkafs.format.native.layout import (
    BATCH_AT,
    BATCH_LEFTOVER,
    BATCH_ROW,
    COUNT_NEGATIVE,
    CREATE_TIME,
    HEADERS_BAD,
    KEY_BAD,
    LENGTH_BAD,
    LOG_APPEND_TIME,
    OFFSET_ORDER,
    RECORD_AT,
    RECORD_LEFTOVER,
    RECORD_ROW,
    RECORDS_CUT,
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


@inlined
def _records(
    batch: int, number: int, data: int, at: int, end: int, count: int, previous: int, rows: int
) -> tuple[int, int, int]:
    """`count` records from `at` on, in rows unless `rows` is 0: (address behind them, last offset, what is wrong)."""
    wrong = SOUND
    for index in range(count):
        if at >= end:
            return at, previous, RECORDS_CUT
        row = rows + index * RECORD_ROW if rows else 0
        at, previous, wrong = record(batch, data, at, end, previous, row)
        if wrong != SOUND:
            return at, previous, wrong
        if row:
            finish(batch, number, row)
    return at, previous, wrong


def decode_v2(batches: int, spans: int, first: int, stop: int, data: int, rows: int, capacity: int, out: int) -> int:
    """Kernel: rows for all records of batches [first, stop), whose records lie at spans[i] = (at, size) in `data`.

    Stops before a batch that is bad or that states more records than rows are left, and answers with the rows made.
    out: the batch it stopped before, and what is wrong with it.
    """
    made, number, wrong = 0, first, SOUND
    while number < stop:
        batch = batches + number * BATCH_ROW
        count = load_i32(batch + BATCH_AT.record_count)
        if count < 0:
            wrong = COUNT_NEGATIVE
            break
        if count > capacity - made:
            break
        at = data + load_i64(spans + number * 16)
        end = at + load_i64(spans + number * 16 + 8)
        before = load_i64(batch + BATCH_AT.base_offset) - 1
        at, before, wrong = _records(batch, number, data, at, end, count, before, rows + made * RECORD_ROW)
        if wrong == SOUND and at != end:
            wrong = BATCH_LEFTOVER
        if wrong != SOUND:
            break
        made += count
        number += 1
    store_64(out, number)
    store_64(out + 8, wrong)
    return made


def check_v2(batch: int, data: int, at: int, end: int) -> int:
    """Kernel: what is wrong with the records in [at, end) of `data` that are all of a batch; SOUND for nothing."""
    count = load_i32(batch + BATCH_AT.record_count)
    if count < 0:
        return COUNT_NEGATIVE
    before = load_i64(batch + BATCH_AT.base_offset) - 1
    behind, _, wrong = _records(batch, 0, data, data + at, data + end, count, before, 0)
    return BATCH_LEFTOVER if wrong == SOUND and behind != data + end else wrong


def decode_part(batch: int, number: int, data: int, at: int, end: int, count: int, previous: int, rows: int) -> int:
    """Kernel: rows for the next `count` records of a batch that `check_v2` found sound; the byte behind them."""
    behind, _, _ = _records(batch, number, data, data + at, data + end, count, previous, rows)
    return behind - data
