"""From messages of formats v0 and v1, plain or inside an unpacked wrapper, to rows of RECORD. Source: LegacyRecord,
AbstractLegacyRecordBatch.
"""

from kafkafs.format.native.kernels.checksum import crc32_of
from kafkafs.format.native.kernels.machine import (
    inlined,
    load_i8,
    load_i16,
    load_i32be,
    load_i64,
    load_i64be,
    load_u32be,
    store_8,
    store_32,
    store_64,
)
from kafkafs.format.native.layout import (
    BATCH_AT,
    BATCH_ROW,
    CREATE_TIME,
    KEY_BAD,
    LOG_APPEND_TIME,
    MESSAGE,
    MESSAGE_CRC,
    MESSAGE_MAGIC,
    MESSAGE_NESTED,
    MESSAGE_NONE,
    MESSAGE_OFFSETS,
    MESSAGE_SIZE,
    NO_TIMESTAMP_TYPE,
    OFFSET_ORDER,
    RECORD_AT,
    RECORD_ROW,
    SOUND,
    VALUE_BAD,
)

_PREFIX = 12  # bytes of offset and size
_SMALLEST_V0, _SMALLEST_V1 = 14, 22  # bytes behind the prefix


@inlined
def _message(data: int, at: int, end: int, row: int) -> int:
    """Writes what a whole message in [at, end) holds by itself, but for its offset: what is wrong with it."""
    magic = load_i8(at + MESSAGE.magic)
    if magic < 0 or magic > 1:
        return MESSAGE_MAGIC
    if end - at < _PREFIX + (_SMALLEST_V1 if magic else _SMALLEST_V0):
        return MESSAGE_SIZE
    key_at = at + (30 if magic else 22)
    key_size = load_i32be(key_at - 4)
    if key_size > end - key_at - 4:
        return KEY_BAD
    value_at = key_at + max(key_size, 0) + 4
    value_size = load_i32be(value_at - 4)
    if value_size > end - value_at:
        return VALUE_BAD
    store_64(row + RECORD_AT.timestamp, load_i64be(at + MESSAGE.timestamp) if magic else -1)
    store_64(row + RECORD_AT.key_at, key_at - data)
    store_64(row + RECORD_AT.value_at, value_at - data)
    store_64(row + RECORD_AT.headers_at, value_at + max(value_size, 0) - data)
    store_32(row + RECORD_AT.key_size, max(key_size, -1))
    store_32(row + RECORD_AT.value_size, max(value_size, -1))
    store_32(row + RECORD_AT.header_count, 0)
    store_32(row + RECORD_AT.headers_size, 0)
    own_type = LOG_APPEND_TIME if load_i8(at + MESSAGE.attributes) & 8 else CREATE_TIME
    store_8(row + RECORD_AT.timestamp_type, own_type if magic else NO_TIMESTAMP_TYPE)
    store_8(row + RECORD_AT.magic, magic)
    return SOUND


def decode_plain(batches: int, spans: int, first: int, stop: int, data: int, rows: int, capacity: int, out: int) -> int:
    """Kernel: a row for each of the uncompressed messages [first, stop), which lie at spans[i] = (at, size) in `data`.

    Stops before a bad one and where rows end, and answers with the rows made. out: where it stopped, what is wrong.
    """
    made, number, wrong = 0, first, SOUND
    while number < stop and made < capacity:
        batch, row = batches + number * BATCH_ROW, rows + made * RECORD_ROW
        at = data + load_i64(spans + number * 16)
        wrong = _message(data, at, at + load_i64(spans + number * 16 + 8), row)
        if wrong != SOUND:
            break
        store_64(row + RECORD_AT.offset, load_i64(batch + BATCH_AT.last_offset))
        store_32(row + RECORD_AT.batch, number)
        made += 1
        number += 1
    store_64(out, number)
    store_64(out + 8, wrong)
    return made


@inlined
def _inner_size(at: int, end: int) -> int:
    """The whole size of the inner entry at `at`; 0 where it is cut and so ignored, -1 where it cannot be one."""
    if end - at < _PREFIX:
        return 0
    size = load_i32be(at + 8)
    if size < _SMALLEST_V0:
        return -1
    return 0 if size > end - at - _PREFIX else size + _PREFIX


def check_wrapped(batch: int, data: int, at: int, end: int, row: int, out: int) -> int:
    """Kernel: what is wrong with the messages in [at, end) of `data`, the unpacked value of the wrapper `batch`.

    `row` is scratch. out: how many messages there are, and what to add to an inner offset: where a v1 wrapper holds
    relative ones, its own is that of the last (an old librdkafka left it at 0: then they are absolute).
    """
    wrapper_offset, count, last = load_i64(batch + BATCH_AT.last_offset), 0, -1
    at, end = data + at, data + end
    size = _inner_size(at, end)
    while size > 0:
        wrong = _message(data, at, at + size, row)
        if wrong != SOUND:
            return wrong
        if load_i8(at + MESSAGE.attributes) & 7:
            return MESSAGE_NESTED
        if crc32_of(at + MESSAGE.magic, size - MESSAGE.magic) != load_u32be(at + MESSAGE.crc):
            return MESSAGE_CRC
        if load_i64be(at) <= last:
            return OFFSET_ORDER
        last = load_i64be(at)
        count += 1
        at += size
        size = _inner_size(at, end)
    if size < 0:
        return MESSAGE_SIZE
    if count == 0:
        return MESSAGE_NONE
    base = 0
    if load_i8(batch + BATCH_AT.magic) == 1 and wrapper_offset:
        base = wrapper_offset - last
        if base < 0:
            return MESSAGE_OFFSETS
    store_64(out, count)
    store_64(out + 8, base)
    return SOUND


def decode_wrapped(batch: int, number: int, data: int, at: int, end: int, count: int, base: int, rows: int) -> int:
    """Kernel: rows for the next `count` messages of a sound wrapper (see `check_wrapped`); the byte behind them."""
    log_append = load_i8(batch + BATCH_AT.magic) == 1 and load_i16(batch + BATCH_AT.attributes) & 8 != 0
    here, end = data + at, data + end
    for index in range(count):
        row, size = rows + index * RECORD_ROW, _inner_size(here, end)
        _message(data, here, here + size, row)
        store_64(row + RECORD_AT.offset, load_i64be(here) + base)
        store_32(row + RECORD_AT.batch, number)
        if load_i8(batch + BATCH_AT.magic) == 1 and load_i8(here + MESSAGE.magic) == 1:  # the wrapper's type counts
            store_8(row + RECORD_AT.timestamp_type, LOG_APPEND_TIME if log_append else CREATE_TIME)
            if log_append:
                store_64(row + RECORD_AT.timestamp, load_i64(batch + BATCH_AT.max_timestamp))
        here += size
    return here - data
