"""Many compressed batches in one go, for the codecs whose decoders are kernels."""

from kafkafs.format.native.kernels.lz4 import lz4_frame_of
from kafkafs.format.native.kernels.machine import load_i16, load_i64, store_64
from kafkafs.format.native.kernels.snappy import snappy_stream_of
from kafkafs.format.native.layout import BATCH_AT, BATCH_ROW

_SNAPPY, _LZ4 = 2, 3


def unpack_batches(
    batches: int, first: int, stop: int, data: int, limit: int, out: int, used: int, room: int, spans: int, result: int
) -> int:
    """Kernel: unpacks the records of v2 batches [first, stop), at spans[i] = (at, size) in `data`, side by side.

    They go into `out` behind the `used` bytes that are taken there, and spans[i] becomes their new place. The answer is
    the batch that it stopped before: one of another codec, a broken one, or one that does not fit or is larger than
    `limit`. result: how many bytes are taken then.
    """
    number, made = first, 0
    while number < stop:
        codec = load_i16(batches + number * BATCH_ROW + BATCH_AT.attributes) & 7
        span = spans + number * 16
        at = data + load_i64(span)
        end = at + load_i64(span + 8)
        if codec == _LZ4:
            made = lz4_frame_of(at, end, 2, out + used, min(room - used, limit), 1)
        elif codec == _SNAPPY:
            made = snappy_stream_of(at, end, out + used, min(room - used, limit), 1)
        else:
            break
        if made < 0:
            break
        store_64(span, used)
        store_64(span + 8, made)
        used += made
        number += 1
    store_64(result, used)
    return number
