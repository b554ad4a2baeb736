"""Where a remote tier's objects lie: a directory of this machine, or a bucket that `pyarrow.fs` opens.

Two makers, one question: the bytes of an object by range. In a directory an object is a file, read like any other of
Kafka's (`directory`). In a bucket each read is one request; a store that does not answer is given up in time.
"""

import os
import re
import stat
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from kafkafs.disk.blocking import may_block
from kafkafs.disk.directory import Directory
from kafkafs.disk.options import DiskOptions
from kafkafs.errors import DiskError, NotFound, UsageError

CONNECT_S, REQUEST_S = 5.0, 20.0
"""How long a store may take to answer at all, and to answer one request."""

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
Answer = TypeVar("Answer")


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


class Objects(ABC):
    """A tier's objects. Every error is one sentence, without what an address may hold of keys and passwords."""

    shown_as: str

    @abstractmethod
    def folders(self, folder: str = "") -> list[str]:
        """The names of the folders in a folder, sorted; none where it is not there."""

    @abstractmethod
    def files(self, folder: str) -> Iterator[Object]:
        """The objects in a folder itself; none where it is not there."""

    @abstractmethod
    def read(self, key: str, position: int, size: int) -> bytes:
        """Those bytes of an object, all of them: NotFound where there is no object, DiskError where it is shorter."""

    @abstractmethod
    def stat(self, found: Object) -> os.stat_result:
        """Owner, mode, size and times of an object."""


class DirectoryObjects(Objects):
    """Those of a directory, opened below it as a broker's files are: never through a link."""

    def __init__(self, path: str, options: DiskOptions) -> None:
        """UsageError where `path` is no directory that may be read."""
        self.shown_as = path
        try:
            self.root = Directory(path, options)
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
        return _whole(self.shown_as, key, data, size)

    def stat(self, found: Object) -> os.stat_result:
        """See `Objects`."""
        return self.root.open_now(found.key).stat()


class BucketObjects(Objects):
    """Those of a bucket."""

    def __init__(self, uri: str) -> None:
        """UsageError where nothing is known of such a place, or where it does not answer."""
        from pyarrow import fs  # 100 ms: only a tier needs it

        self._kinds, self._selector = fs.FileType, fs.FileSelector
        self._system: Any
        self._top: str
        self.shown_as = re.sub(r"//[^/@]*@|\?.*", lambda cut: "//" if cut[0][0] == "/" else "", uri)
        try:
            self._system, self._top = _s3(uri) if uri.startswith("s3://") else fs.FileSystem.from_uri(uri)
        except (ValueError, OSError) as error:
            raise UsageError(f"the tier {self.shown_as} cannot be opened: {str(error).splitlines()[0]}") from error

    def folders(self, folder: str = "") -> list[str]:
        """See `Objects`."""
        return sorted(each.base_name for each in self._listed(folder) if each.type == self._kinds.Directory)

    def files(self, folder: str) -> Iterator[Object]:
        """See `Objects`."""
        for each in self._listed(folder):
            if each.type == self._kinds.File:
                yield Object(f"{folder}/{each.base_name}", each.size or 0, each.mtime_ns or 0)

    def read(self, key: str, position: int, size: int) -> bytes:
        """See `Objects`."""

        def get() -> bytes:
            """One question about the object, and one for its bytes."""
            with self._system.open_input_file(self._place(key)) as file:
                return bytes(file.read_at(size, position))

        return _whole(self.shown_as, key, self._asked(get, key), size)

    def stat(self, found: Object) -> os.stat_result:
        """See `Objects`: owned by who reads the store."""
        seconds = found.mtime_ns / 1e9
        mode = stat.S_IFREG | 0o400
        return os.stat_result(
            (mode, 0, 0, 1, os.geteuid(), os.getegid(), found.size, seconds, seconds, seconds),
            {"st_mtime_ns": found.mtime_ns, "st_ctime_ns": found.mtime_ns, "st_blocks": -(-found.size // 512)},
        )

    def _listed(self, folder: str) -> list[Any]:
        place = self._place(folder)
        return self._asked(
            lambda: self._system.get_file_info(self._selector(place, allow_not_found=True)), folder or "its top"
        )

    def _place(self, key: str) -> str:
        return f"{self._top}/{key}".rstrip("/")

    def _asked(self, question: Callable[[], Answer], what: str) -> Answer:
        may_block()
        try:
            return question()
        except FileNotFoundError as error:
            raise NotFound(f"there is no {what!r} in the tier {self.shown_as}") from error
        except OSError as error:
            raise DiskError(f"{what!r} of the tier {self.shown_as} cannot be read: {_reason(error)}") from error


def open_objects(source: str, options: DiskOptions) -> Objects:
    """The objects of a tier that a user names: a path, or a URI. UsageError where there are none."""
    path = re.sub(r"^file:(//(localhost)?)?(?=/)", "", source)
    if not SCHEME.match(path):
        return DirectoryObjects(path, options)
    try:
        return BucketObjects(re.sub(r"^s3[an]://", "s3://", path))
    except ImportError as error:
        raise UsageError("a tier in a bucket takes pyarrow: pip install 'kafkafs[tiered]'") from error


def read_keys(files: Iterable[tuple[str, Path]]) -> dict[str, bytes]:
    """The contents of key files that a user names, by their ids. UsageError where one cannot be read."""
    found = {}
    for key_id, path in files:
        try:
            found[key_id] = path.read_bytes()
        except OSError as error:
            raise UsageError(f"the key file {str(path)!r} cannot be read: {error.strerror}") from error
    return found


def _s3(uri: str) -> tuple[Any, str]:
    """S3 with limits of time, which no part of its address can set; credentials are those of the environment."""
    from urllib.parse import parse_qsl, urlsplit  # every command would wait for it, and few read buckets

    from pyarrow import fs

    parts = urlsplit(uri)
    given = dict(parse_qsl(parts.query))
    known: dict[str, Any] = {name: given[name] for name in ("scheme", "endpoint_override", "region") if name in given}
    if parts.username:
        known |= {"access_key": parts.username, "secret_key": parts.password or ""}
    system = fs.S3FileSystem(connect_timeout=CONNECT_S, request_timeout=REQUEST_S, **known)
    return system, f"{parts.hostname}{parts.path}".rstrip("/")


def _whole(tier: str, key: str, data: bytes, size: int) -> bytes:
    _fetched.requests += 1
    _fetched.size += len(data)
    if len(data) != size:
        raise DiskError(f"{key!r} in the tier {tier} ends {size - len(data)} bytes before it should")
    return data


def _reason(error: OSError) -> str:
    return str(error.strerror or str(error).splitlines()[0])
