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
    store_16,
    store_32,
    store_64,
)
from kafkafs.format.native.layout import (
    BATCH_AT,
    INVALID,
    LENGTH_END,
    MESSAGE,
    V2,
    VALID,
)

_FRAME = 17  # bytes; the broker looks at nothing unless more than these are left
_SMALLEST_V0, _SMALLEST_V1 = 26, 34  # a message without key and value


@inlined
def smallest(magic: int) -> int:
    """The whole size in bytes below which no entry of that magic can be true."""
    return _SMALLEST_V0 if magic == 0 else _SMALLEST_V1 if magic == 1 else V2.records


@inlined
def entry_size(at: int, left: int) -> int:
    """The whole size that the entry at `at` claims, as far as `left` bytes show that it can be one; else -1.

    Magic, offset and size stand at the same place in every format.
    """
    if left <= _FRAME:
        return -1
    size, magic = load_i32be(at + V2.length) + LENGTH_END, load_i8(at + V2.magic)
    if magic < 0 or magic > 2 or load_i64be(at + V2.base_offset) < 0 or size < smallest(magic):
        return -1
    return size


@inlined
def ends_before_it_begins(at: int) -> int:
    """Whether the entry at `at`, all of whose header is there, claims a last offset before its base."""
    return 1 if load_i8(at + V2.magic) == 2 and load_i32be(at + V2.last_offset_delta) < 0 else 0


@inlined
def last_offset(at: int) -> int:
    """The last offset of the entry at `at`; of a v0 or v1 message its only one."""
    base = load_i64be(at + V2.base_offset)
    return base + load_i32be(at + V2.last_offset_delta) if load_i8(at + V2.magic) == 2 else base


@inlined
def max_timestamp(at: int) -> int:
    """The largest timestamp that the header at `at` states, in milliseconds; -1 for none."""
    magic = load_i8(at + V2.magic)
    return load_i64be(at + V2.max_timestamp) if magic == 2 else load_i64be(at + MESSAGE.timestamp) if magic == 1 else -1


@inlined
def fill_v2(row: int, at: int) -> None:
    """What the v2 header at `at` says, but for position, size, base offset and magic, into a row of BATCH."""
    store_64(row + BATCH_AT.last_offset, load_i64be(at + V2.base_offset) + load_i32be(at + V2.last_offset_delta))
    store_64(row + BATCH_AT.base_timestamp, load_i64be(at + V2.base_timestamp))
    store_64(row + BATCH_AT.max_timestamp, load_i64be(at + V2.max_timestamp))
    store_64(row + BATCH_AT.producer_id, load_i64be(at + V2.producer_id))
    store_32(row + BATCH_AT.leader_epoch, load_i32be(at + V2.leader_epoch))
    store_32(row + BATCH_AT.crc, load_i32be(at + V2.crc))
    store_32(row + BATCH_AT.base_sequence, load_i32be(at + V2.base_sequence))
    store_32(row + BATCH_AT.record_count, load_i32be(at + V2.record_count))
    store_16(row + BATCH_AT.attributes, load_i16be(at + V2.attributes))
    store_16(row + BATCH_AT.producer_epoch, load_i16be(at + V2.producer_epoch))


@inlined
def _fill_legacy(row: int, at: int) -> None:
    """The same of a message; what it does not have is -1."""
    timestamp = max_timestamp(at)
    store_64(row + BATCH_AT.last_offset, load_i64be(at + MESSAGE.offset))
    store_64(row + BATCH_AT.base_timestamp, timestamp)
    store_64(row + BATCH_AT.max_timestamp, timestamp)
    store_64(row + BATCH_AT.producer_id, -1)
    store_32(row + BATCH_AT.leader_epoch, -1)
    store_32(row + BATCH_AT.crc, load_i32be(at + MESSAGE.crc))
    store_32(row + BATCH_AT.base_sequence, -1)
    store_32(row + BATCH_AT.record_count, 1)
    store_16(row + BATCH_AT.attributes, load_i8(at + MESSAGE.attributes))
    store_16(row + BATCH_AT.producer_epoch, -1)


@inlined
def verdict(at: int, size: int, magic: int) -> int:
    """VALID where the checksum of the whole entry at `at`, of `size` bytes, holds; else INVALID."""
    if magic == 2:
        sound = crc32c_of(at + V2.attributes, size - V2.attributes) == load_u32be(at + V2.crc)
    else:
        sound = crc32_of(at + MESSAGE.magic, size - MESSAGE.magic) == load_u32be(at + MESSAGE.crc)
    return VALID if sound else INVALID
