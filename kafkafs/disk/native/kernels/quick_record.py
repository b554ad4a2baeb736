"""One record of the batch that a quick lookup has found, where it was read. See `kafkafs.log.quick_lookup`."""

from kafkafs.disk.native.kernels.record_index import set_record
from kafkafs.disk.native.kernels.verified import batch_key, set_verified
from kafkafs.disk.native.layout import ANY, AT, NO_RECORD, ONE_RECORD, REACHES_TIME, RECORD_INDEX_INTERVAL
from kafkafs.format.native.kernels.headers import fill_v2
from kafkafs.format.native.kernels.machine import (
    load_i8,
    load_i16be,
    load_i32,
    load_i32be,
    load_i64,
    load_i64be,
    store_64,
)
from kafkafs.format.native.kernels.records import finish, record
from kafkafs.format.native.layout import (
    BATCH_AT,
    COUNT_NEGATIVE,
    LENGTH_END,
    RECORD_AT,
    RECORD_ROW,
    RECORDS_CUT,
    SOUND,
    V2,
)

_PACKED_OR_CONTROL = 0x27  # of the attributes


def quick_record(state: int, first_offset: int, timestamp: int, batch: int, row: int, out: int) -> int:
    """Kernel: the first record with neither a smaller offset nor timestamp, of the batch that `quick_lookup` left.

    `state` is its table. `batch` has room for a row, `row` for two. The record's row counts from the first byte of its
    key; out: where that lies behind the batch's first byte in the room, and the size from there on. All records are
    looked at, unless the batch is proven and may be cut: NO_RECORD also where `check_v2` would find something wrong
    with one, and where the batch is packed, of markers, or older than v2.
    """
    data, proven = load_i64(state + AT.room) + load_i64(state + AT.at), load_i64(state + AT.proven)
    if load_i8(data + V2.magic) < 2 or load_i16be(data + V2.attributes) & _PACKED_OR_CONTROL:
        return NO_RECORD
    store_64(batch + BATCH_AT.base_offset, load_i64be(data + V2.base_offset))
    fill_v2(batch, data)
    stop = data + (proven or load_i32be(data + V2.length) + LENGTH_END)
    count, before, to_row = load_i32(batch + BATCH_AT.record_count), load_i64be(data + V2.base_offset) - 1, row
    if load_i64(state + AT.before) != ANY:
        before = load_i64(state + AT.before)
    key = batch_key(load_i64(state + AT.generation), load_i64(state + AT.position), REACHES_TIME)
    passed = 0
    wrong, here, largest, found = SOUND if count >= 0 else COUNT_NEGATIVE, data + V2.records, -(2**63), 0
    for _ in range(count):
        if found and proven:
            break
        if not proven and (here - data) // RECORD_INDEX_INTERVAL > passed:
            passed = (here - data) // RECORD_INDEX_INTERVAL
            set_record(load_i64(state + AT.record_index), key, passed, here - data, before, largest)
        wrong = RECORDS_CUT
        if here < stop:
            here, before, wrong = record(batch, data, here, stop, before, to_row)
        if wrong != SOUND:
            break
        finish(batch, 0, to_row)
        time = load_i64(to_row + RECORD_AT.timestamp)
        largest = max(largest, time)
        if before >= first_offset and time >= timestamp:
            to_row, found = row + RECORD_ROW, 1
    if not found or wrong != SOUND or (here != stop and not proven):
        return NO_RECORD
    if largest == load_i64(batch + BATCH_AT.max_timestamp) and not proven:
        set_verified(load_i64(state + AT.verified), key)
    start = load_i64(row + RECORD_AT.key_at)
    store_64(out, start)
    store_64(out + 8, load_i64(row + RECORD_AT.headers_at) + load_i32(row + RECORD_AT.headers_size) - start)
    store_64(row + RECORD_AT.key_at, 0)
    store_64(row + RECORD_AT.value_at, load_i64(row + RECORD_AT.value_at) - start)
    store_64(row + RECORD_AT.headers_at, load_i64(row + RECORD_AT.headers_at) - start)
    return ONE_RECORD
