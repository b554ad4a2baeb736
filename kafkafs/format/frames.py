"""What Kafka's clients put around blocks of LZ4 and snappy: where the blocks are. Libraries unpack them (`codecs`).

No library reads these frames as Kafka does: its LZ4 is one frame of independent blocks, of which format v0 sums the
header in a way of its own; its snappy is the stream of snappy-java, or one bare block, as other clients write it.
Sources: Lz4BlockInputStream, SnappyInputStream, LZ4's frame format.
"""

import struct
from collections.abc import Iterator

import xxhash

from kafkafs.errors import CorruptData

_LZ4_MAGIC = 0x184D2204
_LZ4_BLOCK_SUMS, _LZ4_CONTENT_SIZE = 0x10, 0x08  # flags
_LZ4_STORED = 0x80000000  # in the size of a block
_LZ4_USUAL = b"\x60\x40\x82"  # no flags, blocks of 64 KiB, and the checksum of these two bytes

_SNAPPY_MAGIC = b"\x82SNAPPY\0"
_SNAPPY_HEADER = 16  # bytes: the magic and two versions
_SNAPPY_AGAIN = int.from_bytes(_SNAPPY_MAGIC[:4], "big", signed=True)  # in the place of a size: another header

_lz4_header, _lz4_size, _snappy_size = struct.Struct("<IBB"), struct.Struct("<I"), struct.Struct(">i")


def lz4_blocks(data: memoryview, magic: int) -> Iterator[tuple[memoryview, bool, int]]:
    """Each block of the frame in a batch of format `magic`: its bytes, whether they are stored as they are, and how
    many they may unpack to. CorruptData, also behind good blocks. The checksum behind the content is not looked at.
    """
    if len(data) < 7:
        raise _broken("lz4")
    word, flags, code = _lz4_header.unpack_from(data)
    if word != _LZ4_MAGIC or flags & 0xE3 != 0x60 or code & 0x8F or code < 0x40:
        raise _broken("lz4")
    most, sums = 1 << 8 + 2 * (code >> 4), 4 if flags & _LZ4_BLOCK_SUMS else 0
    at = 14 if flags & _LZ4_CONTENT_SIZE else 6  # of the checksum
    if at >= len(data) or (magic > 0 and data[4:7] != _LZ4_USUAL and data[at] != _sum(data[4:at]) >> 8 & 255):
        raise _broken("lz4")
    at += 1
    while at + 4 <= len(data):
        (size,) = _lz4_size.unpack_from(data, at)
        if size == 0:
            return
        at, behind = at + 4, at + 4 + (size & ~_LZ4_STORED)
        block = data[at:behind]
        if len(block) > most or behind + sums > len(data):
            raise _broken("lz4")
        if sums and _lz4_size.unpack_from(data, behind) != (_sum(block),):
            raise _broken("lz4")
        yield block, size >= _LZ4_STORED, most
        at = behind + sums
    raise _broken("lz4")


def snappy_blocks(data: memoryview) -> Iterator[memoryview]:
    """Each block of a stream, or of streams one behind the other; else all of it as one. CorruptData if it is cut."""
    if data[:8] != _SNAPPY_MAGIC or len(data) < _SNAPPY_HEADER:
        yield data
        return
    at = _SNAPPY_HEADER
    while at + 4 <= len(data):
        (size,) = _snappy_size.unpack_from(data, at)
        if size == _SNAPPY_AGAIN and data[at : at + 8] == _SNAPPY_MAGIC and at + _SNAPPY_HEADER <= len(data):
            at += _SNAPPY_HEADER
            continue
        at += 4
        if size < 0 or size > len(data) - at:
            raise _broken("snappy")
        yield data[at : at + size]
        at += size


def _sum(data: memoryview) -> int:
    return xxhash.xxh32_intdigest(data)


def _broken(name: str) -> CorruptData:
    return CorruptData(f"its {name} data is broken: a frame or block of it does not begin or end as one must")
