"""A remote segment (`Upload`), and its files as files that are read by range: whole objects, a log in chunks, an index
inside an object.

A plain object of a directory is a file like any other. One in a bucket is read in pieces of `PIECE` bytes, which the
readers of a tier share for a while (`disk.chunk_cache`).
"""

import os
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from kafkafs.disk.chunk_cache import ChunkCache
from kafkafs.disk.chunked_file import ChunkedFile
from kafkafs.disk.data_file import DataFile, DiskOptions
from kafkafs.disk.objects import DirectoryObjects, Object, Objects, attributes
from kafkafs.errors import CorruptData, Lost, NotFound
from kafkafs.format.tiers.manifest import Manifest, unpacked_frame

if TYPE_CHECKING:
    from kafkafs.format.tiers.cipher import Cipher

Fetch = Callable[[int, int], list[bytes]]
"""Fetches so many pieces of a file from the first one on."""

Epochs = tuple[tuple[int, int], ...]
"""Leader epochs with the first offset of each, ascending."""


class Upload(NamedTuple):
    """The known facts about one remote segment. Names tell where it begins; where it ends and whose it is, who reads
    more. None is what has not been read yet."""

    base_offset: int
    segment_id: str
    files: Mapping[str, Object]  # in the tier, by kind
    size: int | None = None  # bytes of its log
    end_offset: int | None = None  # the last record's offset
    epochs: Epochs | None = None
    largest: int | None = None  # timestamp of its records [ms]
    is_measured: bool = False  # size and end are those that the broker recorded: a shorter object would be noticed
    trouble: str = ""  # why nothing of it can be read, as far as that is known: it counts, and is an error

    @property
    def object(self) -> str:
        """The key of its log; what it is called in the metadata, where that is not in the tier. Empty if nothing is
        known of it."""
        found = self.files.get("log")
        if found is None and not self.segment_id:
            return ""
        name = f"{self.base_offset:020}-{self.segment_id}".rstrip("-")
        return f"{name}.log" if found is None else found.key

    def completed(self, other: "Upload") -> "Upload":
        """The upload, completed with the facts of `other`. Then only its log may be missing."""
        return self._replace(
            size=other.size, end_offset=other.end_offset, epochs=other.epochs, largest=other.largest,
            is_measured=other.is_measured, trouble=self.trouble if "log" not in self.files else "",
        )  # fmt: skip


PIECE = 1 << 20
"""Bytes of a plain object that are kept together."""

JOINED = 8 << 20
"""Bytes of an object of indexes that one request asks for: those of a segment of a gigabyte are 5 MiB."""


class ObjectFiles(NamedTuple):
    """Opens objects of a tier as files. `cache` has the pieces that readers share."""

    objects: Objects
    cache: ChunkCache
    options: DiskOptions

    def plain_file(self, found: Object | None, kind: str, upload: Upload) -> DataFile:
        """An object that is a file of the broker's. An index that is not there is empty."""
        if found is None:
            if kind == "log":
                raise NotFound(f"{upload.object!r} is not in the tier")
            beside = next(iter(upload.files.values()))
            return self._in_pieces(f"{upload.object}:{kind}", beside, 0, 1, lambda *_: [b""])
        if isinstance(self.objects, DirectoryObjects):
            return self.objects.root.open_now(found.key)

        def pieces(first: int, count: int) -> list[bytes]:
            at = first * PIECE
            data = memoryview(self.objects.read(found.key, at, min(count * PIECE, found.size - at)))
            return [bytes(data[at : at + PIECE]) for at in range(0, len(data), PIECE)]

        return ChunkedFile(found.key, self.objects.stat(found), PIECE, pieces, self.cache, self.options)

    def chunked_log(self, upload: Upload, manifest: Manifest, cipher: "Cipher | None") -> DataFile:
        """A log in chunks that may be compressed and encrypted; one that is neither is a plain file."""
        found, chunks = upload.files.get("log"), manifest.chunks
        if found is None:
            raise Lost("its log is not in the tier, and its manifest is")
        if int(chunks.positions[-1]) != found.size:
            raise Lost(f"{found.key!r} has {found.size} bytes, and its manifest says {chunks.positions[-1]}")
        if manifest.is_plain:
            return self.plain_file(found, "log", upload)
        unpack = _unpacked if manifest.is_compressed else _unchanged

        def fetched(first: int, count: int) -> list[bytes]:
            places = chunks.positions[first : first + count + 1].tolist()
            data = memoryview(self.objects.read(found.key, places[0], places[-1] - places[0]))
            return [
                unpack(_clear(data[at - places[0] : behind - places[0]], cipher, found.key), chunks.length(number))
                for number, (at, behind) in enumerate(pairwise(places), first)
            ]

        return self._in_pieces(found.key, found, chunks.size, chunks.chunk_size, _twice(fetched))

    def index_file(self, found: Object | None, kind: str, manifest: Manifest, cipher: "Cipher | None") -> DataFile:
        """An index: a piece, encrypted by itself, of an object that is fetched as a whole where it is small."""
        if found is None:
            raise NotFound(f"the indexes of segment {manifest.segment_id} are not in the tier")
        position, size = manifest.indexes.get(kind, (0, 0))
        if position + size > found.size:
            raise Lost(f"{found.key!r} has {found.size} bytes, and its manifest says {position + size}")

        def piece(_first: int, _count: int) -> list[bytes]:
            if found.size > JOINED:
                data = self.objects.read(found.key, position, size)
            else:
                whole = self.cache.get(found, lambda: self.objects.read(found.key, 0, found.size))
                data = bytes(whole[position : position + size])
            return [_clear(data, cipher, found.key)]

        clear_size = max(0, size - (0 if cipher is None else cipher.overhead))
        fetch = _twice(piece, lambda: self.cache.forget(found))
        return self._in_pieces(f"{found.key}:{kind}", found, clear_size, max(clear_size, 1), fetch)

    def _in_pieces(self, name: str, found: Object, size: int, piece_size: int, fetch: Fetch) -> DataFile:
        """A file of that size, with the attributes of an object."""
        return ChunkedFile(name, _sized(self.objects.stat(found), size), piece_size, fetch, self.cache, self.options)


def _twice(fetch: Fetch, before_the_second: Callable[[], object] = lambda: None) -> Fetch:
    """A `fetch` that tries again after Lost: a piece that arrived damaged may be sound in the store."""

    def tried(first: int, count: int) -> list[bytes]:
        try:
            return fetch(first, count)
        except Lost:
            before_the_second()
            return fetch(first, count)

    return tried


def _clear(piece: bytes | memoryview, cipher: "Cipher | None", key: str) -> bytes:
    if cipher is None:
        return bytes(piece)
    try:
        return cipher.decrypt(piece)
    except CorruptData as error:
        raise Lost(f"{key!r}: {error}") from error


def _unchanged(piece: bytes, _size: int) -> bytes:
    return piece


def _unpacked(piece: bytes, size: int) -> bytes:
    try:
        return unpacked_frame(piece, size)
    except CorruptData as error:
        raise Lost(f"a chunk cannot be unpacked: {error}") from error


def _sized(about: os.stat_result, size: int) -> os.stat_result:
    """The attributes `about`, with another size."""
    place, owner = (about.st_ino, about.st_dev), (about.st_uid, about.st_gid)
    return attributes(about.st_mode, size, about.st_mtime_ns, place, owner, about.st_ctime_ns)
