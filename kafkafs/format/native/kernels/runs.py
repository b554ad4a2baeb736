"""Which batches of a table are decoded alike, and where their records lie."""

from kafkafs.format.native.kernels.machine import inlined, load_i8, load_i16, load_i32, load_i64, store_64
from kafkafs.format.native.layout import (
    BATCH_AT,
    BATCH_ROW,
    INVALID,
    WAY_BAD_CRC,
    WAY_OUTSIDE,
    WAY_PACKED_LEGACY,
    WAY_PACKED_V2,
    WAY_PLAIN_LEGACY,
    WAY_PLAIN_V2,
    WAY_TOO_LARGE,
)

_HEADER_SIZE_V2 = 61


@inlined
def _way(batch: int, at: int, data_size: int, limit: int) -> int:
    size, legacy = load_i64(batch + BATCH_AT.size), load_i8(batch + BATCH_AT.magic) < 2
    if at < 0 or at > data_size - size or size < (1 if legacy else _HEADER_SIZE_V2):
        return WAY_OUTSIDE
    if load_i8(batch + BATCH_AT.valid) == INVALID:
        return WAY_BAD_CRC
    if load_i16(batch + BATCH_AT.attributes) & 7:
        return WAY_PACKED_LEGACY if legacy else WAY_PACKED_V2
    if size - _HEADER_SIZE_V2 > limit:
        return WAY_TOO_LARGE
    return WAY_PLAIN_LEGACY if legacy else WAY_PLAIN_V2


def next_run(
    batches: int, first: int, stop: int, position: int, data_size: int, limit: int, spans: int, result: int
) -> int:
    """Kernel: behind `first` and the batches after it that are decoded the same way.

    Their data has `data_size` bytes, of which byte 0 lies at `position`. spans[i] becomes the place and size there of a
    v2 batch's records, or of a whole message. result: the way, and how many records they announce together.
    """
    way, total, number = -1, 0, first
    while number < stop:
        batch = batches + number * BATCH_ROW
        at = load_i64(batch + BATCH_AT.position) - position
        own = _way(batch, at, data_size, limit)
        if way >= 0 and own != way:
            break
        way = own
        skipped = 0 if load_i8(batch + BATCH_AT.magic) < 2 else _HEADER_SIZE_V2
        store_64(spans + number * 16, at + skipped)
        store_64(spans + number * 16 + 8, load_i64(batch + BATCH_AT.size) - skipped)
        total += max(load_i32(batch + BATCH_AT.record_count), 0)
        number += 1
    store_64(result, way)
    store_64(result + 8, total)
    return number
