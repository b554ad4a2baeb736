"""The entries of a segment's rebuilt indexes: which batches get one. Sources: LogSegment.recover, OffsetIndex.append,
TimeIndex.maybeAppend.
"""

import cython

from kafkafs.format.native.layout import *
from kafkafs.format.native.primitives import *


@inlined
def _put_32be(out: Span, at: Int, value: Int) -> None:
    store_8(out, at, value >> 24)
    store_8(out, at + 1, value >> 16)
    store_8(out, at + 2, value >> 8)
    store_8(out, at + 3, value)


def index_entries(
    batch_table: object, count: Int, base: Int, interval: Int, progress: object, offset_target: object,
    time_target: object,
) -> tuple[int, int]:  # fmt: skip
    """Kernel: the entries of more batches of a segment that begins at offset `base`: how many went into each target.

    A batch gets an entry if it is more than `interval` bytes behind the one that got the last. `progress` goes from one
    call to the next: four numbers, INDEXED_AT and so on.
    """
    batches, numbers = span(batch_table), room(progress)
    offsets, times = room(offset_target), room(time_target)
    indexed_at: Int = load_i64(numbers, INDEXED_AT)
    largest: Int = load_i64(numbers, LARGEST_TIME)
    holder: Int = load_i64(numbers, LARGEST_TIME_OFFSET)
    last_time: Int = load_i64(numbers, LAST_TIME_ENTRY)
    made: Int = 0
    timed: Int = 0
    with cython.nogil:
        for row in range(count):
            batch = batch_at(batches, row)
            if batch.max_timestamp > largest:
                largest, holder = batch.max_timestamp, batch.last_offset
            if batch.position - indexed_at <= interval:
                continue
            indexed_at = batch.position
            _put_32be(offsets, made * OFFSET_ENTRY, batch.last_offset - base)
            _put_32be(offsets, made * OFFSET_ENTRY + 4, indexed_at)
            made += 1
            if largest > last_time:
                last_time = largest
                _put_32be(times, timed * TIME_ENTRY, largest >> 32)
                _put_32be(times, timed * TIME_ENTRY + 4, largest)
                _put_32be(times, timed * TIME_ENTRY + 8, holder - base)
                timed += 1
        store_64(numbers, INDEXED_AT, indexed_at)
        store_64(numbers, LARGEST_TIME, largest)
        store_64(numbers, LARGEST_TIME_OFFSET, holder)
        store_64(numbers, LAST_TIME_ENTRY, last_time)
    return made, timed
