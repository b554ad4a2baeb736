"""Compressed records: the four codecs in the frames that Kafka puts around them. Nothing unpacks past its bounds.

Each codec is one function that writes into a sink. A sink is a buffer that is there (`unpack`), or one that counts and
forgets (`measure`), so that a bomb costs time but no memory. `decompress` measures where a first guess is too small.
Sources: Kafka's compress package, RFC 1952, snappy-java's streams, the LZ4 frame format.

The libraries are the fastest ones that can be bounded or that write into a given buffer: cramjam (raw snappy, LZ4
blocks), isal (gzip), zstandard. Frames of snappy and LZ4 are read here: Kafka's differ from what libraries accept.
"""

import struct
import threading
from collections.abc import Callable
from typing import Any, NoReturn

import cramjam
import numpy as np
import xxhash
import zstandard
from isal import isal_zlib

from kafkafs.errors import CorruptData, TooLarge

Bytes = bytes | bytearray | memoryview

GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4

_WINDOW = 4 << 20
"""Bytes that a counting sink offers at a time: the largest block of LZ4."""

_FIRST_GUESS = 64 << 10
"""Bytes to which data may unpack before anybody measures: that many and eight times its own size."""

_SLICE = 256 << 10
"""Compressed bytes given to gzip at a time: it copies what it has not used yet."""

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = 16
_LZ4_MAGIC = b"\x04\x22\x4d\x18"
_LZ4_BLOCKS = {4: 64 << 10, 5: 256 << 10, 6: 1 << 20, 7: 4 << 20}
_LZ4_STORED = 0x80000000
_GZIP_MAGIC = b"\x1f\x8b"
_FAILURES: Any = (  # the stub of isal takes its error class for an instance
    cramjam.DecompressionError, isal_zlib.error, zstandard.ZstdError, struct.error)  # fmt: skip
_int32_be, _uint32_le = struct.Struct(">i"), struct.Struct("<I")


class _NoRoom(Exception):
    """The output does not fit into the buffer that was given."""


class _Buffer:
    """A sink that keeps what it is given."""

    def __init__(self, target: memoryview) -> None:
        self._target, self.size = target, 0

    def space(self) -> memoryview:
        """What is left."""
        return self._target[self.size :]

    def took(self, count: int) -> None:
        """`count` bytes of `space()` were written."""
        self.size += count

    def exactly(self, count: int) -> memoryview | None:
        """Space for just that many bytes, which count as written; None where nobody wants to see them."""
        if count > len(self._target) - self.size:
            raise _NoRoom
        self.size += count
        return self._target[self.size - count : self.size]


class _Counter:
    """A sink that only counts, up to a limit."""

    def __init__(self, limit: int) -> None:
        self._limit, self._window, self.size = limit, memoryview(bytearray()), 0

    def space(self) -> memoryview:
        if not self._window:
            self._window = np.empty(_WINDOW, np.uint8).data
        return self._window

    def took(self, count: int) -> None:
        self.size += count
        if self.size > self._limit:
            raise TooLarge(f"it unpacks to more than the {self._limit} bytes that -o max_batch= grants")

    def exactly(self, count: int) -> memoryview | None:
        self.took(count)
        return None


_Sink = _Buffer | _Counter


def decompress(codec: int, magic: int, data: Bytes, limit: int) -> memoryview:
    """What `data` unpacks to, at most `limit` bytes: else TooLarge. Broken data, or an unknown codec: CorruptData.

    `magic` is that of the batch: it decides how strict LZ4's header is, and zstd exists in v2 only.
    """
    target = np.empty(min(limit, 8 * len(data) + _FIRST_GUESS), np.uint8).data
    size = unpack(codec, magic, data, target)
    if size is None:
        target = np.empty(measure(codec, magic, data, limit), np.uint8).data
        size = unpack(codec, magic, data, target)
    return target[:size]


def measure(codec: int, magic: int, data: Bytes, limit: int) -> int:
    """How many bytes `data` unpacks to, found with a few megabytes of memory; TooLarge where more than `limit`."""
    return _run(codec, magic, data, _Counter(limit))


def unpack(codec: int, magic: int, data: Bytes, target: memoryview) -> int | None:
    """Unpacks `data` into the start of `target`: how many bytes; None where they do not fit."""
    try:
        return _run(codec, magic, data, _Buffer(target))
    except _NoRoom:
        return None


def _run(codec: int, magic: int, data: Bytes, sink: _Sink) -> int:
    work = _CODECS.get(codec)
    if work is None or (codec == ZSTD and magic < 2):
        raise CorruptData(f"format v{magic} has no codec {codec}")
    name, run = work
    try:
        run(memoryview(data), magic, sink)
    except _FAILURES as error:
        raise CorruptData(f"its {name} data is broken: {error}") from error
    return sink.size


def _broken(name: str, reason: str) -> NoReturn:
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
                _broken("gzip", "it ends too soon")
        space = sink.space()
        made = member.decompress(pending, max(len(space), 1))
        if len(made) > len(space):
            raise _NoRoom
        space[: len(made)] = made
        sink.took(len(made))
        pending = memoryview(member.unconsumed_tail)
    return at - len(member.unused_data)


# --- snappy: the streams of snappy-java, or one bare block as other clients write it


def _snappy(data: memoryview, _magic: int, sink: _Sink) -> None:
    if len(data) < _XERIAL_HEADER or data[:8] != _XERIAL_MAGIC:
        _snappy_block(data, sink)
        return
    at = _XERIAL_HEADER
    while len(data) - at >= 4:
        if data[at : at + 4] == _XERIAL_MAGIC[:4]:  # another stream behind the first
            if len(data) - at < _XERIAL_HEADER or data[at : at + 8] != _XERIAL_MAGIC:
                _broken("snappy", "a header in its midst is wrong")
            at += _XERIAL_HEADER
            continue
        (size,) = _int32_be.unpack_from(data, at)
        at += 4
        if size < 0 or size > len(data) - at:
            _broken("snappy", f"a block of {size} bytes does not fit")
        _snappy_block(data[at : at + size], sink)
        at += size


def _snappy_block(block: memoryview, sink: _Sink) -> None:
    space = sink.exactly(cramjam.snappy.decompress_raw_len(block))
    if space:
        cramjam.snappy.decompress_raw_into(block, space)


# --- LZ4: one frame; v0's header checksum is wrong by custom and not looked at


def _lz4(data: memoryview, magic: int, sink: _Sink) -> None:
    at, block_max, block_sums = _lz4_header(data, magic)
    while True:
        (size,) = _uint32_le.unpack_from(data, at)
        at += 4
        if size == 0:
            return
        stored, size = size & _LZ4_STORED, size & ~_LZ4_STORED
        if size > block_max or size > len(data) - at:
            _broken("lz4", f"a block of {size} bytes does not fit")
        block = data[at : at + size]
        at += size
        if block_sums:
            if _uint32_le.unpack_from(data, at)[0] != xxhash.xxh32_intdigest(block):
                _broken("lz4", "the checksum of a block fails")
            at += 4
        _lz4_block(block, bool(stored), block_max, sink)


def _lz4_header(data: memoryview, magic: int) -> tuple[int, int, bool]:
    """Where the blocks begin, how much one may unpack to, and whether each has a checksum."""
    if len(data) < 7 or data[:4] != _LZ4_MAGIC:
        _broken("lz4", "it does not begin with a frame")
    flags, block_code = data[4], data[5] >> 4
    if flags >> 6 != 1 or not flags & 0x20 or flags & 3 or block_code not in _LZ4_BLOCKS or data[5] & 0x8F:
        _broken("lz4", "its header asks for what Kafka does not have")
    at = 14 if flags & 8 else 6
    if len(data) <= at:
        _broken("lz4", "it ends too soon")
    if magic > 0 and data[at] != _lz4_header_sum(bytes(data[4:at])):
        _broken("lz4", "the checksum of its header fails")
    return at + 1, _LZ4_BLOCKS[block_code], bool(flags & 0x10)


def _lz4_header_sum(header: bytes) -> int:
    return 0x82 if header == b"\x60\x40" else xxhash.xxh32_intdigest(header) >> 8 & 255  # nearly all look like that


def _lz4_block(block: memoryview, stored: bool, block_max: int, sink: _Sink) -> None:
    if stored:
        space = sink.exactly(len(block))
        if space is not None:
            space[:] = block
        return
    space = sink.space()[:block_max]
    try:
        sink.took(cramjam.lz4.decompress_block_into(block, space, output_len=len(space)))
    except cramjam.DecompressionError:
        if len(space) < block_max:  # the library does not say which of the two it is
            raise _NoRoom from None
        raise


# --- zstd: frames one after the other, their content size stated or not


class _Decompressors(threading.local):
    """One for each thread: it keeps its tables from batch to batch."""

    def __init__(self) -> None:
        self.zstd = zstandard.ZstdDecompressor()


_decompressors = _Decompressors()


def _zstd(data: memoryview, _magic: int, sink: _Sink) -> None:
    with _decompressors.zstd.stream_reader(data, read_across_frames=True) as reader:
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
