"""A copy of a data directory in a bucket, read by the same questions as a `Directory` of this machine.

A folder is listed once, and each object has to be as it was listed whenever some of it is read: the store is asked for
its version before and behind each read. A store that fails, and a copy that changes meanwhile, are a StoreError, which
no reader takes for damage or for a file that is not there. `store_session` remembers it.

Indexes and small files are fetched whole, logs in pieces (`chunked_file`).
"""

import logging
import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import NamedTuple, TypeVar, cast
from zlib import crc32

from kafkafs.disk import store_session
from kafkafs.disk.access import Access, access_of
from kafkafs.disk.blocking import ProcessLock, acquired, may_block
from kafkafs.disk.bucket import BucketObjects
from kafkafs.disk.cached_value import LruCache
from kafkafs.disk.chunked_file import ChunkedFile, ReadsAhead, inode_of
from kafkafs.disk.data_file import DataFile, DiskOptions
from kafkafs.disk.directory import Directory, Inside
from kafkafs.disk.objects import Object, Version, counted
from kafkafs.disk.stamps import Stamps
from kafkafs.disk.straight_file import Stream
from kafkafs.errors import DiskError, KafkafsError, NotFound, StoreError, Vanished
from kafkafs.format.memory import Bytes

PART = 1 << 20
"""Bytes of a log that are fetched for a point."""

WHOLE = 16 << 20
"""Bytes up to which anything but a log is fetched in one request: an index has 10 MiB at most, unless configured."""

LISTED_S = 10.0
"""For how long a mount takes a listing for that of now. A command sees what it has listed first."""

_SAME_S = 1.0
"""A listing may tell parts of a second of a time, and the object itself whole ones."""

_MOST_VERSIONS = 10_000
_SMALL = 1 << 16

Answer = TypeVar("Answer")
logger = logging.getLogger(__name__)


class SeenListings(NamedTuple):
    """A part of a copy as another process saw it: folders with their content, and small files."""

    folders: dict[str, tuple[list[str], list[Object]]]
    files: dict[str, tuple[Object, Version, bytes]]


@dataclass(frozen=True, slots=True)
class _Listing:
    """A folder as it was listed; `at` by the clock of the options."""

    files: dict[str, Object]
    folders: frozenset[str]
    about: os.stat_result
    at: float
    abouts: dict[str, os.stat_result] = field(default_factory=dict)  # of files, as far as somebody has asked


class _Entry:
    """The attributes that `os.scandir` gives for a name."""

    __slots__ = ("_about", "name")

    def __init__(self, name: str, about: os.stat_result | None) -> None:
        """`about` is None of a folder."""
        self.name = name
        self._about = about

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:  # noqa: ARG002 (there are no links)
        """True of a folder."""
        return self._about is None

    def is_file(self, *, follow_symlinks: bool = True) -> bool:  # noqa: ARG002
        """True of an object."""
        return self._about is not None

    def is_symlink(self) -> bool:
        """A bucket has no links."""
        return False

    def inode(self) -> int:
        """The number of that object, or folder."""
        return self.stat().st_ino

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:  # noqa: ARG002
        """The attributes; of a folder without its time."""
        return self._about or _attributes(stat.S_IFDIR | 0o500, inode_of(self.name), 0, 0, 0)


class _InsideBucket(Inside):
    """A folder, for questions about thousands of its files."""

    def __init__(self, root: "BucketDirectory", folder: str) -> None:
        self._root = root
        self._folder = folder

    def stat(self, name: str) -> os.stat_result:
        """See `Inside`."""
        return self._root.stat(f"{self._folder}/{name}")

    def attributes(self, name: str) -> tuple[os.stat_result, Access]:
        """See `Inside`."""
        return self._root.attributes(f"{self._folder}/{name}")

    def open(self, name: str) -> DataFile:
        """See `Inside`."""
        return self._root.open_now(f"{self._folder}/{name}")

    def read(self, name: str, position: int, size: int) -> bytes:
        """See `Inside`."""
        return self.open(name).read(position, size)


class BucketDirectory(Directory):
    """A folder of a bucket, by its address. `_lock` is held while a folder is listed, `_relisting` while the top is
    listed again; `_versions` need none."""

    is_far = True

    def __init__(self, address: str, options: DiskOptions) -> None:
        """The store is asked nothing yet. UsageError if nothing is known of such a place."""
        self.options = options
        self._objects = BucketObjects(address, "")
        self._device = inode_of(address)
        self._most_names = store_session.current.limits.names
        self._lock = ProcessLock()
        self._listings: dict[str, _Listing] = {}
        self._stamps = Stamps()  # of what was listed, by folder
        self._versions: dict[str, tuple[Object, Version]] = {}  # of what was read, by key
        self._files: LruCache[ChunkedFile] = LruCache()
        self._relisting = ProcessLock()
        self._before: SeenListings = store_session.current.seen_before.get(address, SeenListings({}, {}))
        for folder, (folders, objects) in self._before.folders.items():
            self._keep_listing(folder, folders, objects)

    def seen(self) -> SeenListings:
        """Return the listings, and the parts of small files that are in memory."""
        folders = {name: (list(known.folders), list(known.files.values())) for name, known in self._listings.items()}
        small = [each for each in self._versions.values() if each[0].size <= _SMALL]
        return SeenListings(folders, {
            found.key: (found, version, self._made(found, self._about(found)).read(0, found.size))
            for found, version in small
        })  # fmt: skip

    def stamp(self, folder: str) -> int | None:
        """The folder's stamp, if it was listed."""
        return self._stamps.get(folder)

    def expect(self, folder: str, stamp: int) -> None:
        """StoreError if the folder was listed with another stamp, now or if it is listed later."""
        if not self._stamps.settle(folder, stamp):
            raise self._failed(f"{folder!r} is not as it was listed before")

    def is_replaced(self) -> bool:
        """See `Directory`: an address stays that of one place."""
        return False

    def open(self, name: str, inode: int) -> DataFile:
        """See `Directory`. Vanished if it is another object by now, which only a mount finds out so."""
        file = self.open_now(name)
        if file.inode != inode:
            raise Vanished(f"{name!r} was replaced by another object; read again")
        return file

    def open_now(self, name: str) -> DataFile:
        """See `Directory`. Nothing is asked of the object before some of it is read."""
        folder, base = os.path.split(name)
        listing = self._listing(folder or ".")
        found = listing.files.get(base)
        if found is None:
            raise NotFound(f"there is no file {name!r} in {self._objects.shown_as}")
        about = self._about_in(listing, base)
        kept_as = f"{about.st_ino} {name}"
        return self._files.get(kept_as, lambda: self._made(found, about))

    def _made(self, found: Object, about: os.stat_result) -> ChunkedFile:
        is_piecemeal = found.key.endswith(".log") or found.size > WHOLE
        piece = PART if is_piecemeal else max(found.size, 1)

        def pieces(first: int, count: int) -> list[Bytes]:
            data = self._read(found, first * piece, min(count * piece, found.size - first * piece))
            return [data[at : at + piece] for at in range(0, len(data), piece)]

        def begin(count: int) -> bool:
            return self._objects.begin(found.key, 0, min(count * piece, found.size))

        def stream(position: int, size: int) -> Stream | None:
            return self._objects.stream(found.key, position, size, partial(self._check, found))

        ahead, cache = ReadsAhead(begin, stream), store_session.current.chunks()
        file = ChunkedFile(found.key, about, piece, pieces, cache, self.options, ahead)
        file.inode = about.st_ino
        return file

    @contextmanager
    def inside(self, name: str) -> Iterator[Inside]:
        """See `Directory`."""
        self._listing(name)
        yield _InsideBucket(self, name)

    @contextmanager
    def scan(self, name: str = ".") -> Iterator[Iterator["os.DirEntry[str]"]]:
        """See `Directory`."""
        listing = self._listing(name)

        def entries() -> Iterator[_Entry]:
            for folder in listing.folders:
                yield _Entry(folder, None)
            for base in listing.files:
                yield _Entry(base, self._about_in(listing, base))

        yield cast("Iterator[os.DirEntry[str]]", entries())

    def stat(self, name: str = ".") -> os.stat_result:
        """See `Directory`: what is listed is known."""
        folder, base = os.path.split(name)
        if name != ".":
            parent = self._listing(folder or ".")
            if base in parent.files:
                return self._about_in(parent, base)
        return self._listing(name).about

    def attributes_at_once(self, name: str = ".") -> tuple[os.stat_result, Access]:
        """See `Directory`. A folder has the time of the folder above: it need not be listed for its attributes."""
        above, base = os.path.split(name)
        parent = self._listing(above or ".")
        about = parent.about if name == "." or base in parent.folders else self.stat(name)
        return about, access_of(about, None)

    def sweep(self) -> None:
        """Forget listings after a while, so that a mount shows a later copy once it is complete.

        The listing of the top counts until there is a new one: a store that is slow or away takes no names away."""
        until = self.options.clock() - LISTED_S
        with self._lock:
            old = [folder for folder, listing in self._listings.items() if listing.at < until]
            for folder in old:
                self._stamps.forget(folder)
                if folder != ".":
                    del self._listings[folder]
        if "." in old and self._relisting.acquire(blocking=False):
            threading.Thread(target=self._list_again, name="listing", daemon=True).start()

    def _list_again(self) -> None:
        try:
            folders, objects = self._objects.entries("")
            with self._lock:
                self._keep_listing(".", folders, objects)
        except KafkafsError as error:
            logger.warning("%s", error)
            known = self._listings.get(".")
            if known is not None:  # asked again after the same while
                self._listings["."] = replace(known, at=self.options.clock())
        finally:
            self._relisting.release()

    def forget_cached(self) -> None:
        """See `Directory`: no file is held open."""

    def may_hold_more(self) -> bool:
        """See `Directory`: a file costs no descriptor."""
        return True

    def _listing(self, folder: str) -> _Listing:
        """The folder as it was listed first, or is now. NotFound if the one above has none of that name."""
        known = self._listings.get(folder)
        if known is not None:
            return known
        if folder != ".":
            above, base = os.path.split(folder)
            if base not in self._listing(above or ".").folders:
                raise NotFound(f"there is no folder {folder!r} in {self._objects.shown_as}")
        may_block()
        with acquired(self._lock):
            return self._listings.get(folder) or self._list(folder)

    def _list(self, folder: str) -> _Listing:
        key = "" if folder == "." else folder
        try:
            folders, objects = self._ask(lambda: self._objects.entries(key))
        except NotFound:
            if self._stamps.get(folder) is not None:
                raise self._failed(f"{folder!r} is not there any more") from None
            raise NotFound(f"there is nothing at {self._objects.shown_as}") from None
        return self._keep_listing(folder, folders, objects)

    def _keep_listing(self, folder: str, folders: list[str], objects: list[Object]) -> _Listing:
        text = repr((sorted(folders), sorted(objects)))
        stamp = crc32(text.encode("utf-8", "surrogateescape"))
        self.expect(folder, stamp)
        if sum(len(each.files) for each in self._listings.values()) + len(objects) > self._most_names:
            self._listings.clear()
        newest = max((each.mtime_ns for each in objects), default=0)
        changed_ns = newest // 10**9 * 10**9 + stamp % 10**9  # another one for each state
        about = _attributes(stat.S_IFDIR | 0o500, inode_of(f"{folder}/"), self._device, 0, changed_ns)
        files = {os.path.basename(each.key): each for each in objects}
        listing = _Listing(files, frozenset(folders), about, self.options.clock())
        self._listings[folder] = listing
        return listing

    def _about_in(self, listing: _Listing, base: str) -> os.stat_result:
        about = listing.abouts.get(base)
        if about is None:
            about = listing.abouts[base] = self._about(listing.files[base])
        return about

    def _about(self, found: Object) -> os.stat_result:
        inode = inode_of(f"{found.key}\0{found.size}\0{found.mtime_ns}")
        return _attributes(stat.S_IFREG | 0o400, inode, self._device, found.size, found.mtime_ns)

    def _read(self, found: Object, position: int, size: int) -> Bytes:
        """Those bytes of the object that was listed. StoreError if it is another one, before the read or behind it."""
        seen = self._before.files.get(found.key)
        if seen is not None and seen[0] == found and size == found.size:
            self._versions[found.key] = seen[:2]
            return seen[2]
        try:
            data, before, after = self._ask(lambda: self._objects.read_versioned(found.key, position, size))
        except NotFound:
            raise self._failed(f"{found.key!r} is not there any more") from None
        self._check(found, before, after)
        self._ask(lambda: counted(self._objects.called, found.key, len(data), size))
        return data

    def _check(self, found: Object, *versions: Version) -> None:
        """StoreError if these versions are not all those of the object that was listed, and that was read before."""
        known = self._versions.get(found.key)
        first = known[1] if known is not None and known[0] == found else versions[0]
        if any(first != each for each in versions) or not _is_of(found, first):
            raise self._failed(f"{found.key!r} was written while it was read")
        if len(self._versions) > _MOST_VERSIONS:
            self._versions.clear()  # the listing still tells size and time
        self._versions[found.key] = found, first

    def _ask(self, question: Callable[[], Answer]) -> Answer:
        try:
            return question()
        except DiskError as error:
            store_session.current.report(str(error))
            raise StoreError(str(error)) from error

    def _failed(self, what: str) -> StoreError:
        sentence = f"{self._objects.shown_as} changes while it is read: {what}; run again once the copy is complete"
        store_session.current.report(sentence)
        return StoreError(sentence)


def _is_of(found: Object, version: Version) -> bool:
    """True if that version is what was listed."""
    if version.size != found.size:
        return False
    if not version.written or not found.mtime_ns:
        return True
    written = datetime.fromisoformat(version.written).timestamp()
    return abs(written - found.mtime_ns / 1e9) < _SAME_S


def _attributes(mode: int, inode: int, device: int, size: int, mtime_ns: int) -> os.stat_result:
    """Attributes of an object. Its owner is the user that reads the store."""
    seconds = mtime_ns / 1e9
    return os.stat_result(
        (mode, inode, device, 1, os.geteuid(), os.getegid(), size, seconds, seconds, seconds),
        {"st_mtime_ns": mtime_ns, "st_ctime_ns": mtime_ns, "st_blocks": -(-size // 512)},
    )
