"""The place of a remote tier's objects: a directory of this machine, or a bucket (`bucket`). `sources` opens either.

Two makers, one question: the bytes of an object by range. In a directory an object is a file, read like any other of
Kafka's (`directory`). In a bucket each read is one request; a store that does not answer is given up in time.
"""

import os
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kafkafs.disk.data_file import DiskOptions
from kafkafs.disk.local_directory import LocalDirectory
from kafkafs.errors import DiskError, NotFound, UsageError
from kafkafs.format.memory import Bytes

if TYPE_CHECKING:
    from urllib.parse import SplitResult

Data = TypeVar("Data", bound=Bytes)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class _Fetched(threading.local):
    requests = size = 0


_fetched = _Fetched()


def fetched() -> tuple[int, int]:
    """Reads that this thread has made of objects, and the bytes that came; not those of a directory's own files."""
    return _fetched.requests, _fetched.size


class Object(NamedTuple):
    """An object by its key, which is a path from the tier's top."""

    key: str
    size: int
    mtime_ns: int


class Names(NamedTuple):
    """The names in a folder of a bucket. `is_there`: the folder has an object of its own, or a name in it."""

    folders: list[str]
    objects: list[Object]
    is_there: bool


class Version(NamedTuple):
    """An object as it was at one moment: two versions that are equal have the same bytes."""

    size: int
    written: str  # as the store says; empty if it does not
    tag: tuple[bytes, ...]


class VersionedBytes(NamedTuple):
    """Some bytes of an object, and its version before and behind the read: if both are equal, the bytes are of it."""

    data: Bytes
    before: Version
    after: Version


class Objects(ABC):
    """A tier's objects. Every error is one sentence, without what an address may hold of keys and passwords."""

    shown_as: str

    @abstractmethod
    def folders(self, folder: str = "") -> list[str]:
        """The names of the folders in a folder, sorted; none if it is not there."""

    @abstractmethod
    def files(self, folder: str) -> Iterator[Object]:
        """The objects in a folder itself; none if it is not there."""

    @abstractmethod
    def read(self, key: str, position: int, size: int) -> bytes:
        """The bytes of an object, all of them: NotFound if there is no object, DiskError if it is shorter."""

    @abstractmethod
    def stat(self, found: Object) -> os.stat_result:
        """Owner, mode, size and times of an object."""


class DirectoryObjects(Objects):
    """The objects of a directory, opened below it as a broker's files are: never through a link."""

    def __init__(self, path: str, options: DiskOptions) -> None:
        """UsageError if `path` is no directory that may be read."""
        self.shown_as = path
        try:
            self.root = LocalDirectory(path, options)
        except OSError as error:
            raise UsageError(f"the tier {path!r} cannot be opened: {error.strerror}") from error

    def folders(self, folder: str = "") -> list[str]:
        """See `Objects`."""
        try:
            with self.root.scan(folder or ".") as entries:
                return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
        except NotFound:
            return []

    def files(self, folder: str) -> Iterator[Object]:
        """See `Objects`."""
        try:
            with self.root.scan(folder or ".") as entries:
                for entry in entries:
                    if entry.is_file(follow_symlinks=False):
                        about = entry.stat(follow_symlinks=False)
                        yield Object(f"{folder}/{entry.name}", about.st_size, about.st_mtime_ns)
        except (NotFound, FileNotFoundError):
            return  # a broker deletes segments while they are listed

    def read(self, key: str, position: int, size: int) -> bytes:
        """See `Objects`."""
        data = self.root.open_now(key).read(position, size)
        return counted(f"the tier {self.shown_as}", key, data, size)

    def stat(self, found: Object) -> os.stat_result:
        """See `Objects`."""
        return self.root.open_now(found.key).stat()


def attributes(
    mode: int, size: int, mtime_ns: int, place: tuple[int, int] = (0, 0), owner: tuple[int, int] | None = None,
    ctime_ns: int | None = None,
) -> os.stat_result:  # fmt: skip
    """Attributes of something in a store; `place`: its inode and device. By default its owner is the user that reads
    the store, and it has one time."""
    seconds, owner = mtime_ns / 1e9, owner or (os.geteuid(), os.getegid())
    return os.stat_result(
        (mode, *place, 1, *owner, size, seconds, seconds, seconds),
        {"st_mtime_ns": mtime_ns, "st_ctime_ns": ctime_ns or mtime_ns, "st_blocks": -(-size // 512)},
    )


def check_pyarrow(what: str) -> None:
    """UsageError if pyarrow is not installed. It is loaded later, by the first bucket that needs it."""
    with suppress(ImportError):
        if find_spec("pyarrow") is not None:
            return
    raise UsageError(f"{what} in a bucket takes pyarrow; install kafkafs with its extra [tiered], which brings it")


def is_bucket(place: str) -> bool:
    """True if that is the address of a bucket, and not a path."""
    return bool(_SCHEME.match(place))


def places_of(text: str) -> list[str]:
    """The places that commas separate. A comma belongs to an address, unless an address, an absolute path or a path
    that exists here follows it."""
    places: list[str] = []
    for part in text.split(","):
        word = address_of(part.strip())
        is_of_its_own = not word or is_bucket(word) or os.path.isabs(word) or os.path.exists(word)
        if places and is_bucket(places[-1].strip()) and not is_of_its_own:
            places[-1] += f",{part}"
        else:
            places.append(part)
    return places


def address_of(word: str) -> str:
    """The address of a bucket, as pyarrow knows it, or a path as it was given, without `file:`."""
    return re.sub(r"^s3[an]?:/{1,2}(?=[^/])", "s3://", re.sub(r"^file:(//(localhost)?)?(?=/)", "", word))


def place_of(source: str) -> str:
    """The address of a bucket, as pyarrow knows it, or an absolute path."""
    address = address_of(source)
    return address if is_bucket(address) else os.path.abspath(address)


def parts_of(uri: str) -> "SplitResult":
    """The parts of the address of a bucket. UsageError if it names no bucket, or none that a host could have."""
    from urllib.parse import urlsplit  # 2 ms, which dumps of files do without

    try:
        parts = urlsplit(uri, allow_fragments=False)  # a folder may have a #
        named = parts.netloc.rpartition("@")[2] or parts.scheme == "hdfs"
    except ValueError:
        named = ""
    if not named:
        scheme = uri.partition(":")[0]
        raise UsageError(f"the address {shown(uri)!r} names no bucket; write {scheme}://BUCKET/FOLDER")
    return parts


def shown(uri: str) -> str:
    """The address of a bucket without what opens it: credentials, and where its store is."""
    return re.sub(r"//[^/@]*@|\?.*", lambda cut: "//" if cut[0][0] == "/" else "", uri)


def counted(place: str, key: str, data: Data, size: int) -> Data:
    """Return the bytes that a read of an object has given, counted. Raise DiskError if they are too few."""
    _fetched.requests += 1
    _fetched.size += len(data)
    if len(data) != size:
        raise DiskError(f"{key!r} in {place} ends {size - len(data)} bytes before it should")
    return data
