"""Descriptors of broker files: opened read-only, without following links, few at a time, and read without waiting.

This is the one module that opens files of a data directory. A `DataFile` closes its descriptor when the last one who
holds it lets go, so an open handle keeps answering from the file it was opened on while the cache moves on.
"""

import ctypes
import errno
import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from kafkafs.errors import Denied, DiskError, Exhausted, KafkafsError, NotFound, Unsupported, Vanished, WouldBlock
from kafkafs.log.page_cache import read_flags, read_patiently
from kafkafs.log.patience import is_impatient, patience_needed

OPEN_FILES = 192
"""Descriptors that the cache keeps; files that handles hold open come on top."""

STREAM_SIZE = 1 << 20
"""The largest read that is answered from the calling thread's own buffer."""

_OPEN_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_SYS_OPENAT2 = 437
_RESOLVE = 0x01 | 0x04 | 0x08  # NO_XDEV, NO_SYMLINKS, BENEATH
_libc = ctypes.CDLL(None, use_errno=True)


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


class DataFile:
    """An open regular file. Reads are positional, so any number of threads may share it."""

    __slots__ = ("__weakref__", "descriptor", "inode", "name")

    def __init__(self, descriptor: int, name: str, inode: int) -> None:
        self.descriptor = descriptor
        self.name = name
        self.inode = inode

    def __del__(self) -> None:
        os.close(self.descriptor)

    def stat(self) -> os.stat_result:
        """The file's own attributes, whatever it is called by now."""
        return os.fstat(self.descriptor)

    @property
    def size(self) -> int:
        return os.fstat(self.descriptor).st_size

    def acl(self) -> bytes | None:
        """The access control list, as the kernel stores it; None where the file has none."""
        return _acl(self.descriptor)

    def read(self, position: int, size: int) -> bytes:
        """The bytes at `position`, fewer only at the end. An impatient thread gets WouldBlock for a page on disk."""
        if size <= 0:
            return b""
        try:
            if not is_impatient():
                return read_patiently(self.descriptor, position, size)
            buffer = bytearray(size)
            got = os.preadv(self.descriptor, [buffer], position, os.RWF_NOWAIT)
        except OSError as error:
            raise _reading_failed(error, self.name) from error
        if got < size and got and self._more_follows(position + got):
            raise WouldBlock("a page is not in memory")
        return bytes(memoryview(buffer)[:got])

    def stream(self, position: int, size: int) -> bytes | memoryview:
        """Like `read`, for handing on: an impatient thread gets a view of its own buffer, good until its next call."""
        if not is_impatient() or size > STREAM_SIZE:
            return self.read(position, size)
        view = _own.view[:size]
        try:
            got = os.preadv(self.descriptor, [view], position, os.RWF_NOWAIT | read_flags(self.descriptor))
        except OSError as error:
            raise _reading_failed(error, self.name) from error
        if got < size and got and self._more_follows(position + got):
            raise WouldBlock("a page is not in memory")
        return view[:got]

    def _more_follows(self, position: int) -> bool:
        return position < self.size


class _OwnBuffer(threading.local):
    def __init__(self) -> None:
        self.view = memoryview(bytearray(STREAM_SIZE))


_own = _OwnBuffer()


def _reading_failed(error: OSError, name: str) -> KafkafsError:
    if error.errno in (errno.EAGAIN, errno.EOPNOTSUPP):
        return WouldBlock("a page is not in memory, or the file system cannot tell")
    return DiskError(f"reading {name!r} failed: {error.strerror}")


class Directory:
    """A data directory's root, held open: everything below is opened relative to it, never through a link."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._cache: OrderedDict[str, DataFile] = OrderedDict()
        self._lock = threading.Lock()

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):
            os.close(self.descriptor)

    def open(self, name: str, inode: int) -> DataFile:
        """The file `name` (a path from here) if it still is the one with this inode, else Vanished: list anew.

        What was open already is answered at once; an impatient thread gets WouldBlock for the rest.
        """
        with self._lock:
            known = self._cache.get(name)
            if known is not None:
                self._cache.move_to_end(name)
        if known is not None and known.inode == inode:
            return known
        patience_needed()
        try:
            opened = self.open_now(name)
        except NotFound as error:
            raise Vanished(f"{name!r} was deleted or renamed; read again") from error
        if opened.inode != inode:
            raise Vanished(f"{name!r} was replaced by another file; read again")
        with self._lock:
            self._cache[name] = opened
            while len(self._cache) > OPEN_FILES:
                self._cache.popitem(last=False)
        return opened

    def open_now(self, name: str) -> DataFile:
        """The file that is called `name` now, not kept in the cache."""
        patience_needed()
        descriptor = self._descriptor(name, _OPEN_FLAGS)
        about = os.fstat(descriptor)
        opened = DataFile(descriptor, name, about.st_ino)
        if not stat.S_ISREG(about.st_mode):
            raise NotFound(f"{name!r} is no regular file")
        return opened

    def read_whole(self, name: str, limit: int = 16 << 20) -> bytes:
        """A small file's bytes; NotFound where there is none."""
        opened = self.open_now(name)
        return opened.read(0, min(opened.size, limit))

    @contextmanager
    def scan(self, name: str = ".") -> Iterator[Iterator[os.DirEntry[str]]]:
        """The entries of a directory below, unsorted, good inside the `with`."""
        patience_needed()
        descriptor = self._descriptor(name, _OPEN_FLAGS | os.O_DIRECTORY)
        try:
            with os.scandir(descriptor) as entries:
                yield entries
        except OSError as error:
            raise _opening_failed(error, name) from error
        finally:
            os.close(descriptor)

    def stat(self, name: str = ".") -> os.stat_result:
        """The attributes of what is called `name` now; a link's own."""
        patience_needed()
        try:
            return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except OSError as error:
            raise _opening_failed(error, name) from error

    def acl(self, name: str = ".") -> bytes | None:
        """The access control list of a directory below; None where it has none."""
        patience_needed()
        descriptor = self._descriptor(name, _OPEN_FLAGS | os.O_DIRECTORY)
        try:
            return _acl(descriptor)
        finally:
            os.close(descriptor)

    def forget_cached(self) -> None:
        """Let go of what the cache holds, so that descriptors are free for others."""
        with self._lock:
            self._cache.clear()

    def _descriptor(self, name: str, flags: int) -> int:
        for attempt in range(2):
            try:
                try:
                    return _openat2(self.descriptor, name, flags | os.O_NOATIME)
                except PermissionError:  # not the owner: reading may then move the access time, as any reader does
                    return _openat2(self.descriptor, name, flags)
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE) and attempt == 0:
                    self.forget_cached()
                    continue
                raise _opening_failed(error, name) from error
        raise AssertionError("the second attempt returns or raises")


def _acl(descriptor: int) -> bytes | None:
    try:
        return os.getxattr(descriptor, "system.posix_acl_access")
    except OSError:
        return None


def _openat2(root: int, name: str, flags: int) -> int:
    how = _OpenHow(flags, 0, _RESOLVE)
    got: int = _libc.syscall(_SYS_OPENAT2, root, os.fsencode(name), ctypes.byref(how), ctypes.sizeof(how))
    if got >= 0:
        return got
    code = ctypes.get_errno()
    if code == errno.ENOSYS:  # Linux before 5.6: a link in the middle of a path would be followed there
        return os.open(name, flags, dir_fd=root)
    raise OSError(code, os.strerror(code))


def _opening_failed(error: OSError, name: str) -> KafkafsError:
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR | errno.ELOOP | errno.EXDEV | errno.ENXIO | errno.ENAMETOOLONG:
            return NotFound(f"there is no file {name!r} to serve: {error.strerror}")
        case errno.EACCES | errno.EPERM:
            return Denied(f"the daemon may not read {name!r}; run it as the owner of the data directory")
        case errno.EMFILE | errno.ENFILE | errno.ENOMEM:
            return Exhausted(f"no descriptor is left to open {name!r}; raise the limit or close some readers")
        case errno.EOPNOTSUPP:
            return Unsupported(f"{name!r} cannot be opened: {error.strerror}")
        case _:
            return DiskError(f"opening {name!r} failed: {error.strerror}")
