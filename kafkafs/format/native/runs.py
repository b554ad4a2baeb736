"""Which batches of a table are decoded alike, and where their records lie."""

import cython

from kafkafs.format.native.layout import (
    INVALID,
    KIND_BAD_CRC,
    KIND_OUTSIDE,
    KIND_PACKED_LEGACY,
    KIND_PACKED_V2,
    KIND_PLAIN_LEGACY,
    KIND_PLAIN_V2,
    KIND_TOO_LARGE,
    V2,
)
from kafkafs.format.native.machine import Batch, Int, batch_at, native, room, span, store_64


@native
def _kind(batch: Batch, at: Int, data_size: Int, limit: Int) -> Int:
    legacy: Int = batch.magic < 2
    if at < 0 or at > data_size - batch.size or batch.size < (1 if legacy else V2.records):
        return KIND_OUTSIDE
    if batch.valid == INVALID:
        return KIND_BAD_CRC
    if batch.attributes & 7:
        return KIND_PACKED_LEGACY if legacy else KIND_PACKED_V2
    if batch.size - V2.records > limit:
        return KIND_TOO_LARGE
    return KIND_PLAIN_LEGACY if legacy else KIND_PLAIN_V2


def next_run(
    table: object, first: Int, stop: Int, position: Int, data_size: Int, limit: Int, places: object
) -> tuple[int, int, int]:
    """Kernel: behind `first` and the batches after it that are of the same kind; the kind; their records together.

    Their data has `data_size` bytes, of which byte 0 lies at `position`. places[i] becomes the place and size there of
    a v2 batch's records, or of a whole message.
    """
    batches, spans = span(table), room(places)
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
