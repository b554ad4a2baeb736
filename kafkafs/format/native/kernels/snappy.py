"""Snappy as Kafka frames it: the streams of snappy-java, or one bare block as other clients write it.

Source: SnappyInputStream (big-endian sizes), the snappy format description.
"""

from kafkafs.format.native.kernels.copies import copy_apart, copy_back
from kafkafs.format.native.kernels.machine import (
    called,
    copy_16,
    inlined,
    load_i32be,
    load_i64,
    load_u8,
    load_u16,
    load_u32,
)
from kafkafs.format.native.layout import CODEC_BROKEN, CODEC_NO_ROOM

_STREAM_MAGIC = int.from_bytes(b"\x82SNAPPY\x00", "little", signed=True)
_STREAM_START = int.from_bytes(b"\x82SNA", "big", signed=True)  # what a concatenated header has in the place of a size
_STREAM_HEADER = 16


@inlined
def _stated_size(at: int, end: int) -> tuple[int, int]:
    """What a block unpacks to, 32 bits in at most five bytes, and where its elements begin; 0 where that is broken."""
    size, shift = 0, 0
    while at < end and shift < 35:
        byte = load_u8(at)
        at += 1
        size |= (byte & 127) << shift
        if byte < 128:
            return (size, at) if size < 1 << 32 else (0, 0)
        shift += 7
    return 0, 0


@inlined
def _literal_size(tag: int, at: int, end: int) -> tuple[int, int]:
    """A literal's size, and where its bytes begin; address 0 where that is cut."""
    size, more = tag >> 2, (tag >> 2) - 59
    if more <= 0:
        return size + 1, at
    if more > end - at:
        return 0, 0
    size = 0
    for byte in range(more):
        size |= load_u8(at + byte) << 8 * byte
    return size + 1, at + more


@inlined
def _copy_element(tag: int, at: int, end: int) -> tuple[int, int, int]:
    """A copy's size and distance, and the address behind it, 0 where it is cut."""
    kind = tag & 3
    if end - at < (kind if kind < 3 else 4):
        return 0, 0, 0
    if kind == 1:
        return (tag >> 2 & 7) + 4, tag >> 5 << 8 | load_u8(at), at + 1
    if kind == 2:
        return (tag >> 2) + 1, load_u16(at), at + 2
    return (tag >> 2) + 1, load_u32(at), at + 4


@called
def snappy_block(at: int, end: int, out: int, size: int) -> int:
    """Unpacks the elements in [at, end), which state to be `size` bytes: that many, or CODEC_BROKEN."""
    to, out_end = out, out + size
    while at < end:
        tag = load_u8(at)
        at += 1
        if tag & 3 == 0:
            length, at = _literal_size(tag, at, end)
            if at == 0 or length > end - at or length > out_end - to:
                return CODEC_BROKEN
            if length <= 16 and end - at >= 16 and out_end - to >= 16:
                copy_16(to, at)
            else:
                copy_apart(to, at, length, out_end, end)
            at += length
        else:
            length, distance, at = _copy_element(tag, at, end)
            if at == 0 or distance == 0 or distance > to - out or length > out_end - to:
                return CODEC_BROKEN
            if distance >= 16 and length <= 16 and out_end - to >= 16:
                copy_16(to, to - distance)
            else:
                copy_back(to, distance, length, out_end)
        to += length
    return size if to == out_end else CODEC_BROKEN


@inlined
def _block(at: int, end: int, out: int, room: int, keep: int) -> int:
    size, elements = _stated_size(at, end)
    if elements == 0:
        return CODEC_BROKEN
    if not keep:
        return size
    return CODEC_NO_ROOM if size > room else snappy_block(elements, end, out, size)


@called
def snappy_stream_of(at: int, end: int, out: int, room: int, keep: int) -> int:
    """Unpacks what is in [at, end): how many bytes; CODEC_BROKEN or CODEC_NO_ROOM.

    Without `keep` only the sizes that the blocks state are summed.
    """
    if end - at < _STREAM_HEADER or load_i64(at) != _STREAM_MAGIC:
        return _block(at, end, out, room, keep)
    made = 0
    at += _STREAM_HEADER
    while end - at >= 4:
        size = load_i32be(at)
        if size == _STREAM_START:
            if end - at < _STREAM_HEADER or load_i64(at) != _STREAM_MAGIC:
                return CODEC_BROKEN
            at += _STREAM_HEADER
            continue
        at += 4
        if size < 0 or size > end - at:
            return CODEC_BROKEN
        unpacked = _block(at, at + size, out + made, room - made, keep)
        if unpacked < 0:
            return unpacked
        made += unpacked
        at += size
    return made


def snappy_stream(at: int, end: int, out: int, room: int, keep: int) -> int:
    """Kernel: see `snappy_stream_of`."""
    return snappy_stream_of(at, end, out, room, keep)
