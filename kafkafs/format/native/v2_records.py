"""From the records of format v2 to rows of RECORD, with every check that Kafka makes. Source: DefaultRecord."""

import cython

from kafkafs.format.native.layout import *
from kafkafs.format.native.primitives import *
from kafkafs.format.native.varint import varint, varlong


@inlined
def _past_headers(data: Span, at: Int, end: Int, count: Int) -> Int:
    """The place behind `count` headers; -1 where they do not fit, or a name is null."""
    for _ in range(count):
        size, at = varint(data, at, end)
        if at < 0 or size < 0 or size > end - at:
            return -1
        size, at = varint(data, at + size, end)
        if at < 0 or size > end - at:
            return -1
        at += max(size, 0)
    return at


@inlined
def _record(batch: Batch, data: Span, at: Int, end: Int, previous: Int, row: Record) -> tuple[Int, Int]:
    """One record at `at`, its row written: (place behind it, what is wrong)."""
    size, at = varint(data, at, end)
    if at < 0:
        return 0, VARINT_CORRUPT
    if size < 0 or size > end - at:
        return 0, LENGTH_CORRUPT
    stop = at + size
    timestamp, at = varlong(data, at + 1, stop)  # behind the unused attributes
    if at < 0:
        return 0, VARINT_CORRUPT
    delta, at = varint(data, at, stop)
    if at < 0:
        return 0, VARINT_CORRUPT
    offset = batch.base_offset + delta
    if offset <= previous or offset > batch.last_offset:
        return 0, OFFSET_ORDER
    key_size, at = varint(data, at, stop)
    if at < 0 or key_size > stop - at:
        return 0, KEY_CORRUPT
    key_at = at
    value_size, at = varint(data, at + max(key_size, 0), stop)
    if at < 0 or value_size > stop - at:
        return 0, VALUE_CORRUPT
    value_at = at
    headers, at = varint(data, at + max(value_size, 0), stop)
    if at < 0 or headers < 0 or headers > stop - at:
        return 0, HEADERS_CORRUPT
    headers_at = at
    if headers:
        at = _past_headers(data, at, stop, headers)
        if at < 0:
            return 0, HEADERS_CORRUPT
    if at != stop:
        return 0, RECORD_LEFTOVER
    row.offset = offset
    row.timestamp = batch.base_timestamp + timestamp
    row.key_at = key_at
    row.value_at = value_at
    row.headers_at = headers_at
    row.key_size = max(key_size, -1)
    row.value_size = max(value_size, -1)
    row.header_count = headers
    row.headers_size = stop - headers_at
    return at, SOUND


@inlined
def _finish(batch: Batch, number: Int, row: Record) -> None:
    """The fields of a row that come from its batch."""
    if batch.attributes & 8:
        row.timestamp = batch.max_timestamp
        row.timestamp_type = LOG_APPEND_TIME
    else:
        row.timestamp_type = CREATE_TIME
    row.batch = number
    row.magic = 2


@inlined
def _records(
    batch: Batch, number: Int, data: Span, at: Int, end: Int, count: Int, previous: Int, rows: Span, first: Int,
    step: Int,
) -> tuple[Int, Int]:  # fmt: skip
    """`count` records from `at` on, in rows from `first` on, one all `step`: (place behind them, what is wrong)."""
    for index in range(count):
        if at >= end:
            return at, RECORDS_CUT
        row = record_at(rows, first + index * step)
        at, why = _record(batch, data, at, end, previous, row)
        if why != SOUND:
            return at, why
        previous = row.offset
        _finish(batch, number, row)
    return at, SOUND


def decode_v2(
    batch_table: object, places: object, first: Int, stop: Int, source: object, target: object, capacity: Int
) -> tuple[int, int, int]:
    """Kernel: rows for all records of batches [first, stop), whose records lie at places[i] = (at, size) in `source`.

    Stops before a batch that is corrupt or states more records than the `capacity` rows that are left. The answer: the
    rows made, the batch it stopped before, and what is wrong with it.
    """
    batches, spans, data, rows = span(batch_table), span(places), span(source), room(target)
    made: Int = 0
    why: Int = SOUND
    with cython.nogil:
        while first < stop:
            batch = batch_at(batches, first)
            if batch.count < 0:
                why = COUNT_NEGATIVE
                break
            if batch.count > capacity - made:
                break
            at = load_i64(spans, first * 16)
            end = at + load_i64(spans, first * 16 + 8)
            at, why = _records(batch, first, data, at, end, batch.count, batch.base_offset - 1, rows, made, 1)
            if why == SOUND and at != end:
                why = BATCH_LEFTOVER
            if why != SOUND:
                break
            made += batch.count
            first += 1
    return made, first, why


def check_v2(batch_table: object, source: object, at: Int, end: Int, scratch: object) -> int:
    """Kernel: what is wrong with the records in [at, end) that are all of a batch, one row; SOUND for nothing.

    `scratch` is a row of RECORD.
    """
    batch, data, rows = batch_at(span(batch_table), 0), span(source), room(scratch)
    why: Int = COUNT_NEGATIVE
    with cython.nogil:
        if batch.count >= 0:
            at, why = _records(batch, 0, data, at, end, batch.count, batch.base_offset - 1, rows, 0, 0)
            if why == SOUND and at != end:
                why = BATCH_LEFTOVER
    return why


def decode_part(
    batch_table: object, number: Int, source: object, at: Int, end: Int, count: Int, previous: Int, target: object
) -> int:
    """Kernel: rows for the next `count` records of a batch that `check_v2` found sound; the byte behind them.

    The batch is one row, of that `number` in its table.
    """
    batch, data, rows = batch_at(span(batch_table), 0), span(source), room(target)
    with cython.nogil:
        at, _ = _records(batch, number, data, at, end, count, previous, rows, 0, 1)
    return at
