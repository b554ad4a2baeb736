"""One record of the batch that a glance has found, where it was read. See `kafkafs.log.glance`."""

from kafkafs.format.native.kernels.headers import fill_v2
from kafkafs.format.native.kernels.known import known_key, make_known
from kafkafs.format.native.kernels.machine import load_i8, load_i32, load_i32be, load_i64, load_i64be, store_64
from kafkafs.format.native.kernels.records import finish, record
from kafkafs.format.native.kernels.waypoints import set_waypoint
from kafkafs.format.native.layout import (
    BATCH_BASE_OFFSET,
    BATCH_COUNT,
    BATCH_MAX_TIMESTAMP,
    COUNT_NEGATIVE,
    GLANCE_ANY,
    GLANCE_AT,
    GLANCE_BEFORE,
    GLANCE_GENERATION,
    GLANCE_KNOWN,
    GLANCE_POSITION,
    GLANCE_PROVEN,
    GLANCE_ROOM,
    GLANCE_WAYPOINTS,
    KNOWN_TIMES,
    RECORD_HEADERS_AT,
    RECORD_HEADERS_SIZE,
    RECORD_KEY_AT,
    RECORD_ROW,
    RECORD_TIMESTAMP,
    RECORD_VALUE_AT,
    RECORDS_CUT,
    SEEK_FOUND,
    SEEK_NONE,
    SOUND,
    WAYPOINT_EVERY,
)

_HEADER = 61
_PACKED_OR_CONTROL = 0x27


def seek_record(state: int, first_offset: int, timestamp: int, batch: int, row: int, out: int) -> int:
    """Kernel: the first record with neither a smaller offset nor timestamp, of the batch that `glance` left at `state`.

    `batch` has room for a row, `row` for two. The record's row counts from the first byte of its key; out: where that
    lies behind the batch's first byte in the room, and the size from there on. All records are looked at, unless the
    batch is proven and may be cut: SEEK_NONE also where `check_v2` would find something wrong with one, and where the
    batch is packed, of markers, or older than v2.
    """
    data, known = load_i64(state + GLANCE_ROOM) + load_i64(state + GLANCE_AT), load_i64(state + GLANCE_PROVEN)
    if load_i8(data + 16) < 2 or load_i8(data + 22) & _PACKED_OR_CONTROL:
        return SEEK_NONE
    store_64(batch + BATCH_BASE_OFFSET, load_i64be(data))
    fill_v2(batch, data)
    stop = data + (known or load_i32be(data + 8) + 12)
    count, before, place = load_i32(batch + BATCH_COUNT), load_i64be(data) - 1, row
    if load_i64(state + GLANCE_BEFORE) != GLANCE_ANY:
        before = load_i64(state + GLANCE_BEFORE)
    key = known_key(load_i64(state + GLANCE_GENERATION), load_i64(state + GLANCE_POSITION), KNOWN_TIMES)
    passed = 0
    wrong, here, largest, found = SOUND if count >= 0 else COUNT_NEGATIVE, data + _HEADER, -(2**63), 0
    for _ in range(count):
        if found and known:
            break
        if not known and (here - data) // WAYPOINT_EVERY > passed:
            passed = (here - data) // WAYPOINT_EVERY
            set_waypoint(load_i64(state + GLANCE_WAYPOINTS), key, passed, here - data, before, largest)
        wrong = RECORDS_CUT
        if here < stop:
            here, before, wrong = record(batch, data, here, stop, before, place)
        if wrong != SOUND:
            break
        finish(batch, 0, place)
        time = load_i64(place + RECORD_TIMESTAMP)
        largest = max(largest, time)
        if before >= first_offset and time >= timestamp:
            place, found = row + RECORD_ROW, 1
    if not found or wrong != SOUND or (here != stop and not known):
        return SEEK_NONE
    if largest == load_i64(batch + BATCH_MAX_TIMESTAMP) and not known:
        make_known(load_i64(state + GLANCE_KNOWN), key)
    start = load_i64(row + RECORD_KEY_AT)
    store_64(out, start)
    store_64(out + 8, load_i64(row + RECORD_HEADERS_AT) + load_i32(row + RECORD_HEADERS_SIZE) - start)
    store_64(row + RECORD_KEY_AT, 0)
    store_64(row + RECORD_VALUE_AT, load_i64(row + RECORD_VALUE_AT) - start)
    store_64(row + RECORD_HEADERS_AT, load_i64(row + RECORD_HEADERS_AT) - start)
    return SEEK_FOUND
