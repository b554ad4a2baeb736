"""Compressed records: the four codecs in the frames that Kafka puts around them. Nothing unpacks past its bounds.

Each codec is one function that writes into a sink. A sink is a buffer that is there (`unpack`), or one that counts and
forgets (`measure`), so that a bomb costs time but no memory. `decompress` measures where a first guess is too small.
Sources: Kafka's compress package (Lz4BlockInputStream, SnappyInputStream), RFC 1952, snappy-java's streams, the LZ4
frame format.

Each codec is the fastest library that can be bounded and lets other threads run meanwhile: isal, zstandard and cramjam.
This module finds the blocks of LZ4 and snappy itself, because no library reads Kafka's frames as Kafka does. Kafka's
LZ4 is one frame of independent blocks, and format v0 has its own checksum of the frame header. Its snappy is the stream
of snappy-java, or one bare block, as other clients write it.
"""

import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import cramjam
import numpy as np
import xxhash
import zstandard
from isal import isal_zlib

from kafkafs.errors import CorruptData, TooLarge
from kafkafs.format.memory import UNLIMITED, Bytes, Memory

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
        _corrupt("lz4")
    word, flags, code = _lz4_header.unpack_from(data)
    if word != _LZ4_MAGIC or flags & 0xE3 != 0x60 or code & 0x8F or code < 0x40:
        _corrupt("lz4")
    most, sums = 1 << 8 + 2 * (code >> 4), 4 if flags & _LZ4_BLOCK_SUMS else 0
    at = 14 if flags & _LZ4_CONTENT_SIZE else 6  # position of the checksum
    if at >= len(data) or (magic > 0 and data[4:7] != _LZ4_USUAL and data[at] != _sum(data[4:at]) >> 8 & 255):
        _corrupt("lz4")
    at += 1
    while at + 4 <= len(data):
        (size,) = _lz4_size.unpack_from(data, at)
        if size == 0:
            return
        at, behind = at + 4, at + 4 + (size & ~_LZ4_STORED)
        block = data[at:behind]
        if len(block) > most or behind + sums > len(data):
            _corrupt("lz4")
        if sums and _lz4_size.unpack_from(data, behind) != (_sum(block),):
            _corrupt("lz4")
        yield block, size >= _LZ4_STORED, most
        at = behind + sums
    _corrupt("lz4")


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
            _corrupt("snappy")
        yield data[at : at + size]
        at += size


def _sum(data: memoryview) -> int:
    return xxhash.xxh32_intdigest(data)


GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4

_WINDOW = 4 << 20
"""Bytes that a counting sink offers at a time: the largest block of LZ4."""

_FIRST_GUESS = 64 << 10
"""Bytes to which data may unpack before it is measured: that many and eight times its own size."""

_SLICE = 16 << 10
"""Compressed bytes given to gzip at a time: it answers with new bytes, for whose pages the system is asked where they
are many."""

_LARGE_WINDOW = 8 << 20
"""Bytes of output above which zstd's own memory is not kept for the next batch."""

_one_at_a_time = threading.Lock()
_GZIP_MAGIC = b"\x1f\x8b"
_NO_MEMORY = "Allocation error"
"""zstd's own word: it takes memory of its own, and what it lacks is not the batch's fault."""

_FAILURES: Any = (isal_zlib.error, zstandard.ZstdError)  # the stub of isal takes its error class for an instance


class _NoRoom(Exception):
    """The output does not fit into the buffer that was given."""


class _Buffer:
    """A sink that keeps what it is given."""

    keeps = True

    def __init__(self, target: memoryview) -> None:
        self._target, self.size, self.limit = target, 0, len(target)

    def space(self) -> memoryview:
        """The bytes that are left."""
        return self._target[self.size :]

    def took(self, count: int) -> None:
        """`count` bytes of `space()` were written."""
        self.size += count


class _Counter:
    """A sink that only counts, up to a limit."""

    keeps = False

    def __init__(self, limit: int) -> None:
        self.limit, self._window, self.size = limit, memoryview(bytearray()), 0

    def space(self) -> memoryview:
        """A window of memory, the same one each time: bytes that were written there are lost."""
        if not self._window:
            self._window = np.empty(_WINDOW, np.uint8).data
        return self._window

    def took(self, count: int) -> None:
        """`count` more bytes came; TooLarge once they are more than the limit."""
        self.size += count
        if self.size > self.limit:
            raise TooLarge(f"it unpacks to more than the {self.limit} bytes that -o max_batch= allows")


_Sink = _Buffer | _Counter


def decompress(codec: int, magic: int, data: Bytes, limit: int, memory: Memory = UNLIMITED) -> memoryview:
    """Unpack `data` to at most `limit` bytes, else raise TooLarge. Corrupt data, or an unknown codec: CorruptData.
    BatchMemoryFull if it takes much and `memory` has no more.

    `magic` is that of the batch: it decides how strict LZ4's header is, and zstd exists in v2 only.
    """
    target = np.empty(min(limit, 8 * len(data) + _FIRST_GUESS), np.uint8).data
    size = unpack(codec, magic, data, target)
    if size is None:
        target = memory.take(measure(codec, magic, data, limit)).data
        size = unpack(codec, magic, data, target)
    return target[:size]


def measure(codec: int, magic: int, data: Bytes, limit: int) -> int:
    """How many bytes `data` unpacks to, found with a few megabytes of memory; TooLarge if more than `limit`.

    One at a time: a frame of zstd may ask for a window of 128 MiB, and sixteen bombs may come at once.
    """
    with _one_at_a_time:
        return _unpack_into(codec, magic, data, _Counter(limit))


def unpack(codec: int, magic: int, data: Bytes, target: memoryview) -> int | None:
    """Unpacks `data` into the start of `target`: how many bytes; None if they do not fit."""
    try:
        return _unpack_into(codec, magic, data, _Buffer(target))
    except _NoRoom:
        return None


def _unpack_into(codec: int, magic: int, data: Bytes, sink: _Sink) -> int:
    work = _CODECS.get(codec)
    if work is None or (codec == ZSTD and magic < 2):
        raise CorruptData(f"there is no codec {codec} in batches of format v{magic}")
    name, write = work
    try:
        write(memoryview(data), magic, sink)
    except _FAILURES as error:
        if _NO_MEMORY in str(error):
            raise MemoryError(f"no memory to unpack {name} data") from error
        raise CorruptData(f"its {name} data is broken: {error}") from error
    return sink.size


def _corrupt(name: str, reason: str = "a frame or block of it does not begin or end as one must") -> NoReturn:
    raise CorruptData(f"its {name} data is broken: {reason}")


# --- gzip: members one after the other; what follows them and is none is ignored, as Java does


def _gzip(data: memoryview, _magic: int, sink: _Sink) -> None:
    at = 0
    while at == 0 or data[at : at + 2] == _GZIP_MAGIC:
        at = _gzip_member(data, at, sink)


def _gzip_member(data: memoryview, at: int, sink: _Sink) -> int:
    """Unpacks the member at `at`: where the next one would begin."""
    member, pending = isal_zlib.decompressobj(31), memoryview(b"")
    while not member.eof:
        if not pending:
            pending = data[at : at + _SLICE]
            at += len(pending)
            if not pending:
                _corrupt("gzip", "it ends too soon")
        space = sink.space()
        made = member.decompress(pending, max(len(space), 1))
        if len(made) > len(space):
            raise _NoRoom
        space[: len(made)] = made
        sink.took(len(made))
        pending = memoryview(member.unconsumed_tail)
    return at - len(member.unused_data)


# --- snappy and LZ4: blocks in the frames that Kafka knows


def _snappy(data: memoryview, _magic: int, sink: _Sink) -> None:
    for block in snappy_blocks(data):
        try:
            size = cramjam.snappy.decompress_raw_len(block)
            if sink.keeps:
                space = sink.space()
                if size > len(space):
                    raise _NoRoom
                size = cramjam.snappy.decompress_raw_into(block, space[:size])
        except cramjam.DecompressionError:
            _corrupt("snappy")
        sink.took(size)


def _lz4(data: memoryview, magic: int, sink: _Sink) -> None:
    for block, is_stored, most in lz4_blocks(data, magic):
        space = sink.space()[:most]
        try:
            made = _copied(block, space) if is_stored else _lz4_block_into(block, space)
        except cramjam.DecompressionError:
            made = _copied(_lz4_block(block, most), space)
        sink.took(made)


def _lz4_block(block: memoryview, most: int) -> memoryview:
    """Unpack a block that was refused, perhaps for want of room. LZ4 gives the same error for this and for corrupt
    blocks, and asks for 12 bytes behind the last match.
    """
    room = np.empty(most, np.uint8).data
    try:
        return room[: _lz4_block_into(block, room)]
    except cramjam.DecompressionError:
        _corrupt("lz4")


def _lz4_block_into(block: memoryview, room: memoryview) -> int:
    """Unpack a block and return its size. Without a given size, cramjam may take the first four bytes for one."""
    return cramjam.lz4.decompress_block_into(block, room, output_len=len(room))


def _copied(block: memoryview, space: memoryview) -> int:
    if len(block) > len(space):
        raise _NoRoom
    space[: len(block)] = block
    return len(block)


# --- zstd: frames one after the other, their content size stated or not


class _Decompressors(threading.local):
    """One for each thread: it keeps its memory from batch to batch."""

    def __init__(self) -> None:
        self.zstd = zstandard.ZstdDecompressor()


_decompressors = _Decompressors()


def _zstd(data: memoryview, _magic: int, sink: _Sink) -> None:
    try:
        _zstd_frames(data, sink)
    finally:
        if sink.size > _LARGE_WINDOW:
            _decompressors.zstd = zstandard.ZstdDecompressor()  # gives back the window of a large frame


def _zstd_frames(data: memoryview, sink: _Sink) -> None:
    reader = _decompressors.zstd.stream_reader(data, read_across_frames=True)
    while True:
        space = sink.space()
        if not space:
            if reader.read(1):
                raise _NoRoom
            return
        count = reader.readinto(space)
        if count == 0:
            return
        sink.took(count)


_CODECS: dict[int, tuple[str, Callable[[memoryview, int, _Sink], None]]] = {
    GZIP: ("gzip", _gzip),
    SNAPPY: ("snappy", _snappy),
    LZ4: ("lz4", _lz4),
    ZSTD: ("zstd", _zstd),
}
