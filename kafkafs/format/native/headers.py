"""From bytes to rows of BATCH: one walk over the batches that stand back to back in a buffer, their CRCs included; how
many of them follow each other as they should, which are decoded alike, and where their records lie.

Source: FileLogInputStream (framing), DefaultRecordBatch (v2), LegacyRecord (v0, v1).
"""

import cython

from kafkafs.format.native.checksum import crc32_of, crc32c_of
from kafkafs.format.native.layout import *
from kafkafs.format.native.primitives import *

_FRAME = 17  # bytes; the broker looks at nothing unless more than these are left
_SMALLEST_V0, _SMALLEST_V1 = 26, 34  # a message without key and value


@inlined
def _entry_size(data: Span, at: Int) -> Int:
    """The whole size that the entry at `at` claims, as far as its frame shows that it can be one; else -1.

    Magic, offset and size stand at the same place in every format.
    """
    size = load_i32be(data, at + V2.length) + LENGTH_END
    magic = load_i8(data, at + V2.magic)
    smallest = _SMALLEST_V0 if magic == 0 else _SMALLEST_V1 if magic == 1 else V2.records
    if magic < 0 or magic > 2 or load_i64be(data, at + V2.base_offset) < 0 or size < smallest:
        return -1
    return size


@inlined
def _fill_v2(row: Batch, data: Span, at: Int) -> None:
    """Parse the v2 header at `at`, without position, size, base offset and magic."""
    row.last_offset = load_i64be(data, at + V2.base_offset) + load_i32be(data, at + V2.last_offset_delta)
    row.base_timestamp = load_i64be(data, at + V2.base_timestamp)
    row.max_timestamp = load_i64be(data, at + V2.max_timestamp)
    row.producer_id = load_i64be(data, at + V2.producer_id)
    row.leader_epoch = load_i32be(data, at + V2.leader_epoch)
    row.crc = load_u32be(data, at + V2.crc)
    row.base_sequence = load_i32be(data, at + V2.base_sequence)
    row.count = load_i32be(data, at + V2.record_count)
    row.attributes = load_i16be(data, at + V2.attributes)
    row.producer_epoch = load_i16be(data, at + V2.producer_epoch)


@inlined
def _fill_legacy(row: Batch, data: Span, at: Int) -> None:
    """Parse the header of a v0 or v1 message at `at`; fields that it does not have are -1."""
    timestamp = load_i64be(data, at + MESSAGE.timestamp) if load_i8(data, at + MESSAGE.magic) else -1
    row.last_offset = load_i64be(data, at + MESSAGE.offset)
    row.base_timestamp = timestamp
    row.max_timestamp = timestamp
    row.producer_id = -1
    row.leader_epoch = -1
    row.crc = load_u32be(data, at + MESSAGE.crc)
    row.base_sequence = -1
    row.count = 1
    row.attributes = load_i8(data, at + MESSAGE.attributes)
    row.producer_epoch = -1


@inlined
def _verdict(data: Span, at: Int, end: Int, magic: Int) -> Int:
    """VALID where the checksum of the whole entry in [at, end) holds; else INVALID."""
    if magic == 2:
        return VALID if crc32c_of(data, at + V2.attributes, end, 0) == load_u32be(data, at + V2.crc) else INVALID
    return VALID if crc32_of(data, at + MESSAGE.magic, end) == load_u32be(data, at + MESSAGE.crc) else INVALID


def walk(
    source: object, at: Int, position: Int, verify: Int, batch_table: object, capacity: Int
) -> tuple[int, int, int, int]:
    """Kernel: fills rows for the whole entries of `source` from `at` on, whose byte 0 lies at `position`.

    The answer: how many, where the walk ended, why (WALK_...), and how many bytes the entry there lacks (0 where that
    is unknown).
    """
    data, rows = span(source), room(batch_table)
    made: Int = 0
    reason: Int = WALK_FULL
    missing: Int = 0
    with cython.nogil:
        while made < capacity:
            left = data.nbytes - at
            if left <= _FRAME:
                reason = WALK_END if left == 0 else WALK_CUT
                break
            size = _entry_size(data, at)
            magic = load_i8(data, at + V2.magic)
            if size < 0:
                reason = WALK_CORRUPT
                break
            if size > left:
                reason, missing = WALK_CUT, size - left
                break
            if magic == 2 and load_i32be(data, at + V2.last_offset_delta) < 0:  # it ends before it begins
                reason = WALK_CORRUPT
                break
            row = batch_at(rows, made)
            row.position = position + at
            row.size = size
            row.base_offset = load_i64be(data, at + V2.base_offset)
            row.magic = magic
            if magic == 2:
                _fill_v2(row, data, at)
            else:
                _fill_legacy(row, data, at)
            row.valid = _verdict(data, at, at + size, magic) if verify else UNCHECKED
            made += 1
            at += size
    return made, at, reason, missing


def count_in_order(batch_table: object, count: Int, before: Int, most: Int) -> int:
    """Kernel: how many of the first rows are VALID and have offsets behind `before` and those of the row in front, and
    none above `most`."""
    batches = span(batch_table)
    row: Int = 0
    with cython.nogil:
        while row < count:
            batch = batch_at(batches, row)
            if batch.valid != VALID or not before < batch.base_offset <= batch.last_offset <= most:
                break
            before = batch.last_offset
            row += 1
    return row


def count_until_overfull(batch_table: object, count: Int) -> int:
    """Kernel: how many of the first rows state no more records than they have offsets."""
    batches = span(batch_table)
    row: Int = 0
    with cython.nogil:
        while row < count:
            batch = batch_at(batches, row)
            if batch.count - 1 > batch.last_offset - batch.base_offset:
                break
            row += 1
    return row


@native
def _kind(batch: Batch, at: Int, data_size: Int, limit: Int) -> Int:
    legacy: Int = batch.magic < 2
    if at < 0 or at > data_size - batch.size or batch.size < (1 if legacy else V2.records):
        return KIND_OUTSIDE
    if batch.valid == INVALID:
        return KIND_INVALID
    if batch.attributes & 7:
        return KIND_PACKED_LEGACY if legacy else KIND_PACKED_V2
    if batch.size - V2.records > limit:
        return KIND_TOO_LARGE
    return KIND_PLAIN_LEGACY if legacy else KIND_PLAIN_V2


def next_alike(
    batch_table: object, first: Int, stop: Int, position: Int, data_size: Int, limit: Int, places: object
) -> tuple[int, int, int]:
    """Kernel: behind `first` and the batches after it that are of the same kind; the kind; their records together.

    Their data has `data_size` bytes, of which byte 0 lies at `position`. places[i] becomes the place and size there of
    a v2 batch's records, or of a whole message.
    """
    batches, spans = span(batch_table), room(places)
    kind: Int = -1
    total: Int = 0
    with cython.nogil:
        while first < stop:
            batch = batch_at(batches, first)
            at = batch.position - position
            own = _kind(batch, at, data_size, limit)
            if kind >= 0 and own != kind:
                break
            kind = own
            skipped: Int = 0 if batch.magic < 2 else V2.records
            store_64(spans, first * 16, at + skipped)
            store_64(spans, first * 16 + 8, batch.size - skipped)
            total += max(batch.count, 0)
            first += 1
    return first, kind, total
