"""From bytes to rows of BATCH: one walk over the batches that stand back to back in a buffer, their CRCs included.

Source: FileLogInputStream (framing), DefaultRecordBatch (v2), LegacyRecord (v0, v1).
"""

from kafkafs.format.native.kernels.checksum import crc32_of, crc32c_of
from kafkafs.format.native.kernels.machine import (
    inlined,
    load_i8,
    load_i16be,
    load_i32be,
    load_i64be,
    load_u32be,
    store_8,
    store_16,
    store_32,
    store_64,
)
from kafkafs.format.native.layout import (
    BATCH_ATTRIBUTES,
    BATCH_BASE_OFFSET,
    BATCH_BASE_SEQUENCE,
    BATCH_BASE_TIMESTAMP,
    BATCH_COUNT,
    BATCH_CRC,
    BATCH_LAST_OFFSET,
    BATCH_LEADER_EPOCH,
    BATCH_MAGIC,
    BATCH_MAX_TIMESTAMP,
    BATCH_POSITION,
    BATCH_PRODUCER_EPOCH,
    BATCH_PRODUCER_ID,
    BATCH_ROW,
    BATCH_SIZE,
    BATCH_VALID,
    INVALID,
    UNCHECKED,
    VALID,
    WALK_BROKEN,
    WALK_CUT,
    WALK_END,
    WALK_FULL,
)

_FRAME = 17  # bytes; the broker looks at nothing unless more than these are left
_SMALLEST_V0, _SMALLEST_V1, _SMALLEST_V2 = 26, 34, 61


@inlined
def smallest(magic: int) -> int:
    """Bytes that an entry of that format has at least."""
    return _SMALLEST_V0 if magic == 0 else _SMALLEST_V1 if magic == 1 else _SMALLEST_V2


@inlined
def fill_v2(row: int, at: int) -> None:
    """What the header at `at` says, but for position, size, base offset and magic."""
    base = load_i64be(at)
    store_64(row + BATCH_LAST_OFFSET, base + load_i32be(at + 23))
    store_64(row + BATCH_BASE_TIMESTAMP, load_i64be(at + 27))
    store_64(row + BATCH_MAX_TIMESTAMP, load_i64be(at + 35))
    store_64(row + BATCH_PRODUCER_ID, load_i64be(at + 43))
    store_32(row + BATCH_LEADER_EPOCH, load_i32be(at + 12))
    store_32(row + BATCH_CRC, load_i32be(at + 17))
    store_32(row + BATCH_BASE_SEQUENCE, load_i32be(at + 53))
    store_32(row + BATCH_COUNT, load_i32be(at + 57))
    store_16(row + BATCH_ATTRIBUTES, load_i16be(at + 21))
    store_16(row + BATCH_PRODUCER_EPOCH, load_i16be(at + 51))


@inlined
def _fill_legacy(row: int, at: int, magic: int) -> None:
    timestamp = load_i64be(at + 18) if magic == 1 else -1
    store_64(row + BATCH_LAST_OFFSET, load_i64be(at))
    store_64(row + BATCH_BASE_TIMESTAMP, timestamp)
    store_64(row + BATCH_MAX_TIMESTAMP, timestamp)
    store_64(row + BATCH_PRODUCER_ID, -1)
    store_32(row + BATCH_LEADER_EPOCH, -1)
    store_32(row + BATCH_CRC, load_i32be(at + 12))
    store_32(row + BATCH_BASE_SEQUENCE, -1)
    store_32(row + BATCH_COUNT, 1)
    store_16(row + BATCH_ATTRIBUTES, load_i8(at + 17))
    store_16(row + BATCH_PRODUCER_EPOCH, -1)


@inlined
def verdict(at: int, size: int, magic: int) -> int:
    """VALID where the checksum of the whole entry at `at` holds, else INVALID."""
    if magic == 2:
        sound = crc32c_of(at + 21, size - 21) == load_u32be(at + 17)
    else:
        sound = crc32_of(at + 16, size - 16) == load_u32be(at + 12)
    return VALID if sound else INVALID


def walk(data: int, at: int, end: int, position: int, verify: int, rows: int, capacity: int, out: int) -> int:
    """Kernel: fills rows for the whole entries in [at, end) of `data`, whose byte 0 lies at `position`; their number.

    out: where the walk ended, why (WALK_...), and how many bytes the entry there lacks (0 where that is unknown).
    """
    made, reason, missing = 0, WALK_FULL, 0
    while made < capacity:
        left, here = end - at, data + at
        if left <= _FRAME:
            reason = WALK_END if left == 0 else WALK_CUT
            break
        size, magic = load_i32be(here + 8) + 12, load_i8(here + 16)
        if magic < 0 or magic > 2 or load_i64be(here) < 0 or size < smallest(magic):
            reason = WALK_BROKEN
            break
        if size > left:
            reason, missing = WALK_CUT, size - left
            break
        if magic == 2 and load_i32be(here + 23) < 0:
            reason = WALK_BROKEN
            break
        row = rows + made * BATCH_ROW
        store_64(row + BATCH_POSITION, position + at)
        store_64(row + BATCH_SIZE, size)
        store_64(row + BATCH_BASE_OFFSET, load_i64be(here))
        store_8(row + BATCH_MAGIC, magic)
        if magic == 2:
            fill_v2(row, here)
        else:
            _fill_legacy(row, here, magic)
        store_8(row + BATCH_VALID, verdict(here, size, magic) if verify else UNCHECKED)
        made += 1
        at += size
    store_64(out, at)
    store_64(out + 8, reason)
    store_64(out + 16, missing)
    return made
