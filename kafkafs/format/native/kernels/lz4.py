"""LZ4 as Kafka frames it: one frame of independent blocks. Source: Lz4BlockInputStream, LZ4's frame and block formats.

The header's checksum is wrong by custom in format v0 and not looked at there; the one behind the content is skipped.
"""

from kafkafs.format.native.kernels.copies import copy_apart, copy_back
from kafkafs.format.native.kernels.machine import (
    called,
    copy_16,
    inlined,
    load_i32,
    load_u8,
    load_u16,
    load_u32,
)
from kafkafs.format.native.kernels.xxhash import xxh32
from kafkafs.format.native.layout import CODEC_BROKEN, CODEC_NO_ROOM

_MAGIC = 0x184D2204
_BLOCK_SUMS, _CONTENT_SIZE = 0x10, 0x08  # flags
_STORED = 0x80000000
_USUAL_HEADER = 0x824060  # flags 0x60, blocks of 64 KiB, and their checksum


@inlined
def _extended(length: int, at: int, end: int) -> tuple[int, int]:
    """A length of 15 goes on in the bytes that follow, up to one that is not 255; address 0 where they are cut."""
    more = 255
    while more == 255:
        if at >= end:
            return 0, 0
        more = load_u8(at)
        length += more
        at += 1
    return length, at


@called
def lz4_block(at: int, end: int, out: int, out_end: int) -> int:
    """Unpacks a block in [at, end): how many bytes; CODEC_BROKEN or CODEC_NO_ROOM."""
    to = out
    while at < end:
        token = load_u8(at)
        at += 1
        size = token >> 4
        if size < 15 and end - at > 32 and out_end - to > 64:  # nearly always
            copy_16(to, at)
        else:
            if size == 15:
                size, at = _extended(size, at, end)
                if at == 0:
                    return CODEC_BROKEN
            if size > end - at:
                return CODEC_BROKEN
            if size > out_end - to:
                return CODEC_NO_ROOM
            copy_apart(to, at, size, out_end, end)
        to += size
        at += size
        if at == end:
            return to - out  # the last sequence has no match
        if end - at < 2:
            return CODEC_BROKEN
        distance = load_u16(at)
        at += 2
        if distance == 0 or distance > to - out:
            return CODEC_BROKEN
        size = token & 15
        if size == 15:
            size, at = _extended(size, at, end)
            if at == 0:
                return CODEC_BROKEN
        size += 4
        if size > out_end - to:
            return CODEC_NO_ROOM
        if distance >= 16 and size <= 32 and out_end - to > 64:
            copy_16(to, to - distance)
            copy_16(to + 16, to + 16 - distance)
        else:
            copy_back(to, distance, size, out_end)
        to += size
    return CODEC_BROKEN


@inlined
def _block_max(code: int) -> int:
    """How many bytes a block may unpack to; 0 for a code that is none."""
    return 1 << 8 + 2 * (code >> 4) if code & 0x8F == 0 and code >= 0x40 else 0


@called
def lz4_frame_of(at: int, end: int, magic: int, out: int, room: int, keep: int) -> int:
    """Unpacks the frame in [at, end) of a batch of format `magic`: how many bytes; CODEC_BROKEN, CODEC_NO_ROOM.

    Without `keep` each block is written over the one before it in 4 MiB, and only the sum counts: up to `room`, above
    which any sum says enough.
    """
    if end - at < 7 or load_u32(at) != _MAGIC:
        return CODEC_BROKEN
    flags, block_max = load_u8(at + 4), _block_max(load_u8(at + 5))
    if flags & 0xE3 != 0x60 or block_max == 0:
        return CODEC_BROKEN
    header = 10 if flags & _CONTENT_SIZE else 2
    if end - at < 5 + header:
        return CODEC_BROKEN
    usual = load_i32(at + 3) >> 8 & 0xFFFFFF == _USUAL_HEADER
    if magic > 0 and not usual and load_u8(at + 4 + header) != xxh32(at + 4, header) >> 8 & 255:
        return CODEC_BROKEN
    at += 5 + header
    made = 0
    while end - at >= 4:
        size = load_u32(at)
        at += 4
        if size == 0:
            return made
        stored, size = size & _STORED, size & ~_STORED
        sums = 4 if flags & _BLOCK_SUMS else 0
        if size > block_max or size + sums > end - at:
            return CODEC_BROKEN
        if sums and load_u32(at + size) != xxh32(at, size):
            return CODEC_BROKEN
        to = out + made if keep else out
        most = min(block_max, room - made) if keep else block_max
        if stored:
            unpacked = size if size <= most else CODEC_NO_ROOM
            if unpacked >= 0:
                copy_apart(to, at, size, to + most, end)
        else:
            unpacked = lz4_block(at, at + size, to, to + most)
        if unpacked < 0:
            return CODEC_BROKEN if most == block_max else unpacked
        made += unpacked
        if made > room:
            return made
        at += size + sums
    return CODEC_BROKEN


def lz4_frame(at: int, end: int, magic: int, out: int, room: int, keep: int) -> int:
    """Kernel: see `lz4_frame_of`."""
    return lz4_frame_of(at, end, magic, out, room, keep)
