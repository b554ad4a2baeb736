"""Which batches of a table are decoded alike, and where their records lie."""

import cython

from kafkafs.format.native.layout import (
    INVALID,
    V2,
    WAY_BAD_CRC,
    WAY_OUTSIDE,
    WAY_PACKED_LEGACY,
    WAY_PACKED_V2,
    WAY_PLAIN_LEGACY,
    WAY_PLAIN_V2,
    WAY_TOO_LARGE,
)
from kafkafs.format.native.machine import Batch, Int, batch_at, native, room, span, store_64


@native
def _way(batch: Batch, at: Int, data_size: Int, limit: Int) -> Int:
    legacy: Int = batch.magic < 2
    if at < 0 or at > data_size - batch.size or batch.size < (1 if legacy else V2.records):
        return WAY_OUTSIDE
    if batch.valid == INVALID:
        return WAY_BAD_CRC
    if batch.attributes & 7:
        return WAY_PACKED_LEGACY if legacy else WAY_PACKED_V2
    if batch.size - V2.records > limit:
        return WAY_TOO_LARGE
    return WAY_PLAIN_LEGACY if legacy else WAY_PLAIN_V2


def next_run(
    table: object, first: Int, stop: Int, position: Int, data_size: Int, limit: Int, places: object
) -> tuple[int, int, int]:
    """Kernel: behind `first` and the batches after it that are decoded the same way; the way; their records together.

    Their data has `data_size` bytes, of which byte 0 lies at `position`. places[i] becomes the place and size there of
    a v2 batch's records, or of a whole message.
    """
    batches, spans = span(table), room(places)
    way: Int = -1
    total: Int = 0
    with cython.nogil:
        while first < stop:
            batch = batch_at(batches, first)
            at = batch.position - position
            own = _way(batch, at, data_size, limit)
            if way >= 0 and own != way:
                break
            way = own
            skipped: Int = 0 if batch.magic < 2 else V2.records
            store_64(spans, first * 16, at + skipped)
            store_64(spans, first * 16 + 8, batch.size - skipped)
            total += max(batch.count, 0)
            first += 1
    return first, way, total
