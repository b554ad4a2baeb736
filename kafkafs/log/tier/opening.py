"""A remote segment's files, as files that are read by range: whole objects, a log in chunks, an index inside an object.

A plain object of a directory is a file like any other. One in a bucket is read in pieces of `PIECE` bytes, which the
readers of a tier share for a while (`disk.chunk_cache`).
"""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from kafkafs.disk.chunk_cache import ChunkCache
from kafkafs.disk.chunked_file import ChunkedFile
from kafkafs.disk.data_file import DataFile
from kafkafs.disk.objects import DirectoryObjects, Object, Objects
from kafkafs.disk.options import DiskOptions
from kafkafs.errors import CorruptData, DiskError, NotFound
from kafkafs.format.tiers.manifest import Manifest, unpacked_frame
from kafkafs.log.tier.upload import Upload

if TYPE_CHECKING:
    from kafkafs.format.tiers.cipher import Cipher

PIECE = 1 << 20
"""Bytes of a plain object that one request asks for."""


def plain_file(
    objects: Objects, found: Object | None, kind: str, upload: Upload, cache: ChunkCache, options: DiskOptions
) -> DataFile:
    """An object that is a file of the broker's. An index that is not there is empty."""
    if found is None:
        if kind == "log":
            raise NotFound(f"{upload.object!r} is not in the tier")
        return _empty(objects, upload, kind, cache, options)
    if isinstance(objects, DirectoryObjects):
        return objects.root.open_now(found.key)

    def piece(number: int) -> bytes:
        """Its bytes from there on."""
        at = number * PIECE
        return objects.read(found.key, at, min(PIECE, found.size - at))

    return ChunkedFile(found.key, objects.stat(found), PIECE, piece, cache, options)


def chunked_log(
    objects: Objects,
    upload: Upload,
    manifest: Manifest,
    cipher: "Cipher | None",
    cache: ChunkCache,
    options: DiskOptions,
) -> DataFile:
    """A log in chunks that may be compressed and encrypted; one that is neither is a plain file."""
    found, chunks = upload.files.get("log"), manifest.chunks
    if found is None:
        raise DiskError("its log is not in the tier, and its manifest is")
    if int(chunks.positions[-1]) != found.size:
        raise DiskError(f"{found.key!r} has {found.size} bytes, and its manifest tells of {chunks.positions[-1]}")
    if manifest.is_plain:
        return plain_file(objects, found, "log", upload, cache, options)
    unpack = _unpacked if manifest.is_compressed else _as_it_is

    def chunk(number: int) -> bytes:
        """Fetched, decrypted, unpacked."""
        position, size = chunks.place(number)
        piece = objects.read(found.key, position, size)
        return unpack(_clear(piece, cipher, found.key), chunks.length(number))

    return ChunkedFile(found.key, _sized(objects.stat(found), chunks.size), chunks.chunk_size, chunk, cache, options)


def index_of(
    objects: Objects, found: Object | None, kind: str, manifest: Manifest, cipher: "Cipher | None", cache: ChunkCache,
    options: DiskOptions,
) -> DataFile:  # fmt: skip
    """An index, which lies beside others in one object and is encrypted as a whole."""
    if found is None:
        raise NotFound(f"the indexes of segment {manifest.segment_id} are not in the tier")
    position, size = manifest.indexes.get(kind, (0, 0))
    if position + size > found.size:
        raise DiskError(f"{found.key!r} has {found.size} bytes, and its manifest tells of {position + size}")
    about = objects.stat(found)
    if cipher is None or size == 0:
        data: Callable[[int], bytes] = lambda _: objects.read(found.key, position, size)  # noqa: E731
        return ChunkedFile(f"{found.key}:{kind}", _sized(about, size), max(size, 1), data, cache, options)
    clear = _clear(objects.read(found.key, position, size), cipher, found.key)
    return ChunkedFile(
        f"{found.key}:{kind}", _sized(about, len(clear)), max(len(clear), 1), lambda _: clear, cache, options
    )


def _empty(objects: Objects, upload: Upload, kind: str, cache: ChunkCache, options: DiskOptions) -> DataFile:
    about = _sized(objects.stat(upload.files["log"]), 0)
    return ChunkedFile(f"{upload.object}:{kind}", about, 1, lambda _: b"", cache, options)


def _clear(piece: bytes, cipher: "Cipher | None", key: str) -> bytes:
    if cipher is None:
        return piece
    try:
        return cipher.decrypt(piece)
    except CorruptData as error:
        raise DiskError(f"{key!r}: {error}") from error


def _as_it_is(piece: bytes, _size: int) -> bytes:
    return piece


def _unpacked(piece: bytes, size: int) -> bytes:
    try:
        return unpacked_frame(piece, size)
    except CorruptData as error:
        raise DiskError(f"a chunk cannot be unpacked: {error}") from error


def _sized(about: os.stat_result, size: int) -> os.stat_result:
    """The same attributes of a file of another size."""
    seconds = about.st_mtime_ns / 1e9
    return os.stat_result(
        (about.st_mode, about.st_ino, about.st_dev, 1, about.st_uid, about.st_gid, size, seconds, seconds, seconds),
        {"st_mtime_ns": about.st_mtime_ns, "st_ctime_ns": about.st_ctime_ns, "st_blocks": -(-size // 512)},
    )
