"""A copy of a data directory in a bucket, read by the same questions as a `Directory` of this machine.

Each object has to be as it was listed (`bucket_listings`) whenever some of it is read: the store is asked for its
version before and behind each read. A store that fails, and a copy that changes meanwhile, are a StoreError, which no
reader takes for damage or for a file that is not there.

Indexes and small files are fetched whole, logs in pieces (`chunked_file`).
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import NamedTuple, cast

from kafkafs.disk import store_session
from kafkafs.disk.access import Access, access_of
from kafkafs.disk.bucket import BucketObjects
from kafkafs.disk.bucket_listings import BucketListings, SeenFolders, asked, changed
from kafkafs.disk.cached_value import LruCache
from kafkafs.disk.chunked_file import ChunkedFile, ReadsAhead, inode_of
from kafkafs.disk.data_file import DataFile, DiskOptions
from kafkafs.disk.directory import Directory, Inside
from kafkafs.disk.objects import Object, Version, attributes, counted
from kafkafs.disk.straight_file import AskedRange
from kafkafs.errors import NotFound, Vanished
from kafkafs.format.memory import Bytes

PART = 1 << 20
"""Bytes of a log that are fetched for a point."""

WHOLE = 16 << 20
"""Bytes up to which anything but a log is fetched in one request: an index has 10 MiB at most, unless configured."""

_SAME_S = 1.0
"""A listing may tell parts of a second of a time, and the object itself whole ones."""

_MOST_VERSIONS = 10_000
_SMALL = 1 << 16


class SeenListings(NamedTuple):
    """A part of a copy as another process saw it: folders with their content, and small files."""

    folders: SeenFolders
    files: dict[str, tuple[Object, Version, bytes]]


class _Entry(NamedTuple):
    """The attributes that `os.scandir` gives for a name."""

    name: str
    about: os.stat_result | None  # None for a folder

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:  # noqa: ARG002 (there are no links)
        """True of a folder."""
        return self.about is None

    def is_file(self, *, follow_symlinks: bool = True) -> bool:  # noqa: ARG002
        """True of an object."""
        return self.about is not None

    def is_symlink(self) -> bool:
        """A bucket has no links."""
        return False

    def inode(self) -> int:
        """The number of that object, or folder."""
        return self.stat().st_ino

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:  # noqa: ARG002
        """The attributes; of a folder without its time."""
        return self.about or attributes(stat.S_IFDIR | 0o500, 0, 0, (inode_of(self.name), 0))


class BucketDirectory(Directory):
    """A folder of a bucket, by its address, which stays that of one place. A file of it costs no descriptor.
    `_versions` need no lock."""

    is_far = True

    def __init__(self, address: str, options: DiskOptions) -> None:
        """The store is asked nothing yet. UsageError if nothing is known of such a place."""
        self.options = options
        self._objects = BucketObjects(address, "")
        self._before: SeenListings = store_session.current.seen_before.get(address, SeenListings({}, {}))
        self.listings = BucketListings(self._objects, address, options.clock, self._before.folders)
        self._versions: dict[str, tuple[Object, Version]] = {}  # versions that were read, by key
        self._files: LruCache[ChunkedFile] = LruCache()

    def seen(self) -> SeenListings:
        """Return the listings, and the parts of small files that are in memory."""
        small = [each for each in self._versions.values() if each[0].size <= _SMALL]
        return SeenListings(self.listings.seen(), {
            found.key: (found, version, self.open_now(found.key).read(0, found.size)) for found, version in small
        })  # fmt: skip

    def open(self, name: str, inode: int) -> DataFile:
        """See `Directory`. Vanished if it is another object by now, which only a mount finds out so."""
        file = self.open_now(name)
        if file.inode != inode:
            raise Vanished(f"{name!r} was replaced by another object; read again")
        return file

    def open_now(self, name: str) -> DataFile:
        """See `Directory`. Nothing is asked of the object before some of it is read."""
        listed = self.listings.find(name)
        if listed is None:
            raise NotFound(f"there is no file {name!r} in {self._objects.shown_as}")
        return self._files.get(f"{listed.about.st_ino} {name}", lambda: self._made(*listed))

    def _made(self, found: Object, about: os.stat_result) -> ChunkedFile:
        is_piecemeal = found.key.endswith(".log") or found.size > WHOLE
        piece = PART if is_piecemeal else max(found.size, 1)

        def pieces(first: int, count: int) -> list[Bytes]:
            data = self._read(found, first * piece, min(count * piece, found.size - first * piece))
            return [data[at : at + piece] for at in range(0, len(data), piece)]

        def begin(count: int) -> bool:
            return self._objects.begin(found.key, 0, min(count * piece, found.size))

        def stream(position: int, size: int) -> AskedRange | None:
            return self._objects.stream(found.key, position, size, partial(self._check, found))

        ahead, cache = ReadsAhead(begin, stream), store_session.current.chunks()
        file = ChunkedFile(found.key, about, piece, pieces, cache, self.options, ahead)
        file.inode = about.st_ino
        return file

    @contextmanager
    def inside(self, name: str) -> Iterator[Inside]:
        """See `Directory`."""
        self.listings.of(name)
        yield Inside(self, name)

    @contextmanager
    def scan(self, name: str = ".") -> Iterator[Iterator["os.DirEntry[str]"]]:
        """See `Directory`."""
        listing = self.listings.of(name)

        def entries() -> Iterator[_Entry]:
            for folder in listing.folders:
                yield _Entry(folder, None)
            for base in listing.objects:
                yield _Entry(base, self.listings.about_in(listing, base))

        yield cast("Iterator[os.DirEntry[str]]", entries())

    def stat(self, name: str = ".") -> os.stat_result:
        """See `Directory`: what is listed is known."""
        found = self.listings.find(name)
        return self.listings.of(name).about if found is None else found.about

    def attributes_at_once(self, name: str = ".") -> tuple[os.stat_result, Access]:
        """See `Directory`. A folder has the time of the folder above: it need not be listed for its attributes."""
        above, base = os.path.split(name)
        parent = self.listings.of(above or ".")
        about = parent.about if base in parent.folders else self.stat(name)
        return about, access_of(about, None)

    def sweep(self) -> None:
        """See `Directory`, and `BucketListings`."""
        self.listings.sweep()

    def _read(self, found: Object, position: int, size: int) -> Bytes:
        """The bytes of the object that was listed. StoreError if it is another one, before the read or behind it."""
        seen = self._before.files.get(found.key)
        if seen is not None and seen[0] == found and size == found.size:
            self._versions[found.key] = seen[:2]
            return seen[2]
        try:
            data, before, after = asked(lambda: self._objects.read_versioned(found.key, position, size))
        except NotFound:
            raise changed(self._objects, f"{found.key!r} is not there any more") from None
        self._check(found, before, after)
        return asked(lambda: counted(self._objects.called, found.key, data, size))

    def _check(self, found: Object, *versions: Version) -> None:
        """StoreError if these versions are not all those of the object that was listed, and that was read before."""
        known = self._versions.get(found.key)
        first = known[1] if known is not None and known[0] == found else versions[0]
        if any(first != each for each in versions) or not _is_of(found, first):
            raise changed(self._objects, f"{found.key!r} was written while it was read")
        if len(self._versions) > _MOST_VERSIONS:
            self._versions.clear()  # the listing still tells size and time
        self._versions[found.key] = found, first


def _is_of(found: Object, version: Version) -> bool:
    """True if that version is what was listed."""
    if version.size != found.size:
        return False
    if not version.written or not found.mtime_ns:
        return True
    written = datetime.fromisoformat(version.written).timestamp()
    return abs(written - found.mtime_ns / 1e9) < _SAME_S
