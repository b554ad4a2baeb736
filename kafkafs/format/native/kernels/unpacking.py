"""Many compressed batches in one go, for the codecs whose decoders are kernels."""

from kafkafs.format.native.kernels.lz4 import lz4_frame_of
from kafkafs.format.native.kernels.machine import load_i16, load_i64, store_64
from kafkafs.format.native.kernels.snappy import snappy_stream_of
from kafkafs.format.native.layout import BATCH_ATTRIBUTES, BATCH_POSITION, BATCH_ROW, BATCH_SIZE

_SNAPPY, _LZ4 = 2, 3
_HEADER_SIZE_V2 = 61


def unpack_batches(
    batches: int, first: int, stop: int, data: int, position: int, limit: int,
    out: int, used: int, room: int, spans: int, result: int,
) -> int:  # fmt: skip
    """Kernel: unpacks the v2 batches [first, stop) one behind the other into `out`, of which `used` bytes are taken.

    Byte 0 of `data` lies at `position`. spans[i] becomes (where, how many bytes) for each. The answer is the batch that
    it stopped before: one of another codec, a broken one, or one that does not fit or is larger than `limit`.
    result: how many bytes are taken then.
    """
    number, made = first, 0
    while number < stop:
        batch = batches + number * BATCH_ROW
        codec = load_i16(batch + BATCH_ATTRIBUTES) & 7
        start = data + load_i64(batch + BATCH_POSITION) - position
        at, end = start + _HEADER_SIZE_V2, start + load_i64(batch + BATCH_SIZE)
        if codec == _LZ4:
            made = lz4_frame_of(at, end, 2, out + used, min(room - used, limit), 1)
        elif codec == _SNAPPY:
            made = snappy_stream_of(at, end, out + used, min(room - used, limit), 1)
        else:
            break
        if made < 0:
            break
        store_64(spans + number * 16, used)
        store_64(spans + number * 16 + 8, made)
        used += made
        number += 1
    store_64(result, used)
    return number
