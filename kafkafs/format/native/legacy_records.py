"""From messages of formats v0 and v1, plain or inside an unpacked wrapper, to rows of RECORD. Source: LegacyRecord,
AbstractLegacyRecordBatch.
"""

import cython

from kafkafs.format.native.checksum import crc32_of
from kafkafs.format.native.layout import *
from kafkafs.format.native.primitives import *

_PREFIX = 12  # bytes of offset and size
_LEAST_V0, _LEAST_V1 = 14, 22  # bytes behind the prefix


@native
def _message(data: Span, at: Int, end: Int, row: Record) -> Int:
    """Writes what a whole message in [at, end) holds by itself, but for its offset: what is wrong with it."""
    magic = load_i8(data, at + MESSAGE.magic)
    if magic < 0 or magic > 1:
        return MESSAGE_MAGIC
    if end - at < _PREFIX + (_LEAST_V1 if magic else _LEAST_V0):
        return MESSAGE_SIZE
    key_at = at + (30 if magic else 22)
    key_size = load_i32be(data, key_at - 4)
    if key_size > end - key_at - 4:
        return KEY_CORRUPT
    value_at = key_at + max(key_size, 0) + 4
    value_size = load_i32be(data, value_at - 4)
    if value_size > end - value_at:
        return VALUE_CORRUPT
    row.timestamp = load_i64be(data, at + MESSAGE.timestamp) if magic else -1
    row.key_at = key_at
    row.value_at = value_at
    row.headers_at = value_at + max(value_size, 0)
    row.key_size = max(key_size, -1)
    row.value_size = max(value_size, -1)
    row.header_count = 0
    row.headers_size = 0
    row.timestamp_type = NO_TIMESTAMP_TYPE
    if magic:
        row.timestamp_type = LOG_APPEND_TIME if load_i8(data, at + MESSAGE.attributes) & 8 else CREATE_TIME
    row.magic = magic
    return SOUND


def decode_plain(
    batch_table: object, places: object, first: Int, stop: Int, source: object, target: object, capacity: Int
) -> tuple[int, int, int]:
    """Kernel: a row for each of the uncompressed messages [first, stop), which lie at places[i] = (at, size).

    Stops before a corrupt one, and where the `capacity` rows end. The answer: rows made, where it stopped, why.
    """
    batches, spans, data, rows = span(batch_table), span(places), span(source), room(target)
    made: Int = 0
    why: Int = SOUND
    with cython.nogil:
        while first < stop and made < capacity:
            row = record_at(rows, made)
            at = load_i64(spans, first * 16)
            why = _message(data, at, at + load_i64(spans, first * 16 + 8), row)
            if why != SOUND:
                break
            row.offset = batch_at(batches, first).last_offset
            row.batch = first
            made += 1
            first += 1
    return made, first, why


@inlined
def _inner_size(data: Span, at: Int, end: Int) -> Int:
    """The whole size of the inner entry at `at`; 0 where it is cut and so ignored, -1 where it cannot be one."""
    if end - at < _PREFIX:
        return 0
    size = load_i32be(data, at + 8)
    if size < _LEAST_V0:
        return -1
    return 0 if size > end - at - _PREFIX else size + _PREFIX


@native
def _check(data: Span, row: Record) -> tuple[Int, Int, Int]:
    """(how many messages are in the value of a wrapper, the last one's offset, what is wrong with them)."""
    count: Int = 0
    at: Int = 0
    last: Int = -1
    size = _inner_size(data, at, data.nbytes)
    while size > 0:
        why = _message(data, at, at + size, row)
        if why != SOUND:
            return 0, 0, why
        if load_i8(data, at + MESSAGE.attributes) & 7:
            return 0, 0, MESSAGE_NESTED
        if crc32_of(data, at + MESSAGE.magic, at + size) != load_u32be(data, at + MESSAGE.crc):
            return 0, 0, MESSAGE_CRC
        if load_i64be(data, at) <= last:
            return 0, 0, OFFSET_ORDER
        last = load_i64be(data, at)
        count += 1
        at += size
        size = _inner_size(data, at, data.nbytes)
    if size < 0:
        return 0, 0, MESSAGE_SIZE
    return count, last, SOUND if count else MESSAGE_NONE


def check_wrapped(batch_table: object, number: Int, source: object, scratch: object) -> tuple[int, int, int]:
    """Kernel: what is wrong with the messages in `source`, the unpacked value of a wrapper.

    `scratch` is a row. The answer: that, how many messages there are, and what to add to an inner offset: where a v1
    wrapper holds relative ones, its own is that of the last (an old librdkafka left it at 0: then they are absolute).
    """
    data = span(source)
    row = record_at(room(scratch), 0)
    batch = batch_at(span(batch_table), number)
    base: Int = 0
    with cython.nogil:
        count, last, why = _check(data, row)
        if why == SOUND and batch.magic == 1 and batch.last_offset:
            base = batch.last_offset - last
            if base < 0:
                why = MESSAGE_OFFSETS
    return why, count, base


def decode_wrapped(
    batch_table: object, number: Int, source: object, at: Int, count: Int, base: Int, target: object
) -> int:  # fmt: skip
    """Kernel: rows for the next `count` messages of a sound wrapper (see `check_wrapped`); the byte behind them."""
    data, rows = span(source), room(target)
    batch = batch_at(span(batch_table), number)
    with cython.nogil:
        for index in range(count):
            row, size = record_at(rows, index), _inner_size(data, at, data.nbytes)
            _message(data, at, at + size, row)
            row.offset = load_i64be(data, at) + base
            row.batch = number
            if batch.magic == 1 and row.magic == 1:  # the wrapper's type counts
                row.timestamp_type = CREATE_TIME
                if batch.attributes & 8:
                    row.timestamp_type = LOG_APPEND_TIME
                    row.timestamp = batch.max_timestamp
            at += size
    return at
