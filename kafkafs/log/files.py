"""Descriptors of broker files: opened read-only, without following links, few at a time, and read without waiting.

This is the one module that opens files of a data directory. A `DataFile` closes its descriptor when the last one who
holds it lets go, so an open handle keeps answering from the file it was opened on while the cache moves on. The cache
itself lets go of what nobody has asked for in a while, and of what was deleted: an open file keeps its disk space.
"""

import ctypes
import errno
import functools
import os
import resource
import stat
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from weakref import WeakValueDictionary

from kafkafs.errors import Denied, DiskError, Exhausted, KafkafsError, NotFound, Unsupported, Vanished, WouldBlock
from kafkafs.format.buffers import Buffers, pages
from kafkafs.format.room import ROOM
from kafkafs.log import page_cache
from kafkafs.log.patience import is_impatient, patience_needed

OPEN_FILES = 4096
"""Descriptors that the cache keeps at most, the three files of a thousand segments; files that handles hold open come
on top. To open one takes longer than to answer from it."""

IDLE_S = 2.0
"""For how long the cache keeps a file that nobody asks for."""

STREAM_SIZE = 1 << 20
"""The largest read that is answered from the calling thread's own buffer."""

LATELY_S = 0.1
"""For how long the attributes of a file count as those of now, for who only shows them."""

SETTLED_AFTER_NS = 50_000_000
"""A file or directory changed so recently may change again within the same tick of the file system's clock."""

_OPEN_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_SYS_OPENAT2 = 437
_RESOLVE = 0x01 | 0x04 | 0x08  # NO_XDEV, NO_SYMLINKS, BENEATH
_CACHED = 0x20  # Linux 5.12: nothing is looked up on the disk
_libc = ctypes.CDLL(None, use_errno=True)


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


class _Closing:
    """Closes a descriptor when its file is gone. Only the file holds it.

    Python calls a `__del__` of the file itself while weak references still lead there: whoever took that way meanwhile
    would read from a number that is closed, or another file's by then.
    """

    __slots__ = ("_descriptor", "_far")

    def __init__(self, descriptor: int, far: "deque[int] | None") -> None:
        self._descriptor = descriptor
        self._far = far

    def __del__(self) -> None:
        if self._far is None:
            os.close(self._descriptor)
        else:
            self._far.append(self._descriptor)


class DataFile:
    """An open regular file. Reads are positional, so any number of threads may share it."""

    __slots__ = (
        *("__weakref__", "_acl", "_acl_as_of_ns", "_closing", "_device", "_far", "_lately", "_lately_until"),
        *("descriptor", "inode", "name", "used"),
    )

    def __init__(self, descriptor: int, name: str, inode: int, far: "deque[int] | None" = None) -> None:
        """`far` is where to leave the descriptor in the end if closing it might take long."""
        self.descriptor = descriptor
        self.name = name
        self.inode = inode
        self._device = -1
        self._acl: bytes | None = None
        self._acl_as_of_ns = -1
        self._lately: os.stat_result | None = None
        self._lately_until = 0.0
        self.used = 0.0
        self._far = far
        self._closing = _Closing(descriptor, far)

    def stat(self) -> os.stat_result:
        """The file's own attributes, whatever it is called by now."""
        if self._far is not None:
            patience_needed()
        try:
            return os.fstat(self.descriptor)
        except OSError as error:
            raise _reading_failed(error, self.name) from error

    def stat_lately(self) -> os.stat_result:
        """As `stat`, of now or a moment ago."""
        about = self._lately
        if about is None or time.monotonic() >= self._lately_until:
            about = self.stat()
            self.note(about)
        return about

    def note(self, about: os.stat_result) -> None:
        """These are its attributes now."""
        self._lately, self._lately_until = about, time.monotonic() + LATELY_S

    @property
    def size(self) -> int:
        return self.stat().st_size

    def acl(self, about: os.stat_result) -> bytes | None:
        """The access control list, as the kernel stores it; None where the file has none.

        `about` is what `stat` has just said: a list that was read under the same change time is the one.
        """
        changed_ns = about.st_ctime_ns
        if changed_ns != self._acl_as_of_ns:
            if self._far is not None:
                patience_needed()
            settled = time.time_ns() - changed_ns > SETTLED_AFTER_NS
            self._acl, self._acl_as_of_ns = _acl(self.descriptor), changed_ns if settled else -1
        return self._acl

    def read(self, position: int, size: int, *, passing: bool = False) -> bytes:
        """The bytes at `position`, fewer only at the end. An impatient thread gets WouldBlock for a page on disk.

        `passing`: a short read in the midst of long ones, which leaves no page in memory either.
        """
        if size <= 0:
            return b""
        buffer = memoryview(bytearray(size))
        return bytes(buffer[: self.read_into(buffer, position, passing=passing)])

    def read_long(self, position: int, size: int) -> memoryview:
        """Like `read`, into a large buffer that is used again once nobody holds a view of it."""
        buffer = _buffers.take()[:size].data if size <= _buffers.size else ROOM.take(size).data
        return buffer[: self.read_into(buffer, position)]

    def read_into(self, buffer: memoryview, position: int, *, passing: bool = False) -> int:
        """Like `read`, into the caller's buffer: how many bytes came."""
        try:
            if not is_impatient():
                return self._read_patiently(buffer, position, passing)
            got = os.preadv(self.descriptor, [buffer], position, os.RWF_NOWAIT)
        except OSError as error:
            raise _reading_failed(error, self.name) from error
        if got < len(buffer) and self._more_follows(position + got):
            raise WouldBlock("a page is not in memory")
        return got

    def stream(self, position: int, size: int) -> bytes | memoryview:
        """Like `read`, for handing on: an impatient thread gets a view of its own buffer, good until its next call."""
        if not is_impatient() or size > STREAM_SIZE:
            return self.read_long(position, size)
        view = _own.view[:size]
        try:
            if self._device < 0:
                self._device = os.fstat(self.descriptor).st_dev
            if (flags := page_cache.flags_at_once(self._device, size)) is None:
                raise WouldBlock("a worker must look which pages are in memory")
            got = os.preadv(self.descriptor, [view], position, os.RWF_NOWAIT | flags)
        except OSError as error:
            raise _reading_failed(error, self.name) from error
        if got < size and self._more_follows(position + got):
            raise WouldBlock("a page is not in memory")
        return view[:got]

    def _read_patiently(self, buffer: memoryview, position: int, passing: bool) -> int:
        """What the disk gives; less than there is only for a moment, while the file grows."""
        got = page_cache.read_patiently(self.descriptor, buffer, position, passing=passing)
        while got < len(buffer) and self._more_follows(position + got):
            more = page_cache.read_patiently(self.descriptor, buffer[got:], position + got)
            if not more:
                raise DiskError(f"reading {self.name!r} gave nothing at {position + got}, where the file goes on")
            got += more
        return got

    def _more_follows(self, position: int) -> bool:
        return position < self.size


class _OwnBuffer(threading.local):
    def __init__(self) -> None:
        self.view = memoryview(pages(STREAM_SIZE))


_own = _OwnBuffer()
_buffers = Buffers(STREAM_SIZE, keep=8)


def _reading_failed(error: OSError, name: str) -> KafkafsError:
    if is_impatient() and error.errno in (errno.EAGAIN, errno.EOPNOTSUPP):
        return WouldBlock("a page is not in memory, or the file system cannot tell")
    return DiskError(f"reading {name!r} failed: {error.strerror}")


class Directory:
    """A data directory's root, held open: everything below is opened relative to it, never through a link."""

    def __init__(self, path: str) -> None:
        self.descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._far: deque[int] | None = deque() if _is_far(self.descriptor) else None
        self._cache: OrderedDict[str, DataFile] = OrderedDict()
        self._open: WeakValueDictionary[tuple[str, int], DataFile] = WeakValueDictionary()
        self._lock = threading.Lock()

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):
            os.close(self.descriptor)

    def open(self, name: str, inode: int) -> DataFile:
        """The file `name` (a path from here) if it still is the one with this inode, else Vanished: list anew.

        What somebody has open is answered at once; an impatient thread gets WouldBlock for what would take a look at
        the disk. A file that the broker has set aside for deletion, or put in its place, is found under its new name.
        """
        with self._lock:
            known = self._cache.get(name)
            if known is not None and known.inode == inode:
                known.used = time.monotonic()
                self._cache.move_to_end(name)
                return known
            known = self._open.get((name, inode))
        if known is None:
            known = self._open_at_once(name, inode) if is_impatient() else self._open_renamed(name, inode)
        return self._keep(known, name)

    def _open_at_once(self, name: str, inode: int) -> DataFile:
        """The file, where the kernel has its name and inode in memory; WouldBlock for whatever is not as simple."""
        if self._far is None:
            with suppress(OSError):
                opened = DataFile(_openat2(self.descriptor, name, _OPEN_FLAGS | os.O_NOATIME, _CACHED), name, inode)
                about = os.fstat(opened.descriptor)
                if about.st_ino == inode and stat.S_ISREG(about.st_mode):
                    opened.note(about)
                    return opened
        raise WouldBlock("a file is to be opened")

    def _keep(self, file: DataFile, name: str) -> DataFile:
        evicted = []
        with self._lock:
            file = self._open.setdefault((name, file.inode), file)
            file.used = time.monotonic()
            evicted.append(self._cache.get(name))
            self._cache[name] = file
            self._cache.move_to_end(name)
            while len(self._cache) > min(OPEN_FILES, _descriptor_limit() // 4):
                evicted.append(self._cache.popitem(last=False)[1])
        evicted.clear()  # the lock is free by now
        return file

    def _open_renamed(self, name: str, inode: int) -> DataFile:
        for candidate in (name, name + ".deleted", name.removesuffix(".swap")):
            try:
                opened = self.open_now(candidate)
            except NotFound:
                continue
            if opened.inode == inode:
                return opened
        raise Vanished(f"{name!r} was deleted, renamed or replaced by another file; read again")

    def may_hold_more(self) -> bool:
        """Whether handles may hold more files open for as long as they live: half of all descriptors at most."""
        return len(self._open) < _descriptor_limit() // 2

    def sweep(self) -> None:
        """Let go of files that nobody asks for, or that were deleted. Called a few times a second."""
        patience_needed()
        idle_since = time.monotonic() - IDLE_S
        with self._lock:
            files = list(self._cache.items())
        for name, file in files:
            if file.used < idle_since or not file.stat().st_nlink:
                with self._lock:
                    if self._cache.get(name) is file:
                        del self._cache[name]
        del files
        self._close_abandoned()

    def _close_abandoned(self) -> None:
        with suppress(IndexError):
            while self._far:
                os.close(self._far.popleft())

    def open_now(self, name: str) -> DataFile:
        """The file that is called `name` now, not kept in the cache."""
        patience_needed()
        self._close_abandoned()
        descriptor = self._descriptor(name, _OPEN_FLAGS)
        opened = DataFile(descriptor, name, 0, self._far)
        about = opened.stat()
        if not stat.S_ISREG(about.st_mode):
            raise NotFound(f"{name!r} is no regular file")
        opened.inode = about.st_ino
        page_cache.opened(descriptor, about.st_dev)
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
            held = list(self._cache.values())
            self._cache.clear()
        held.clear()
        self._close_abandoned()

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


_NEAR = {
    0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0xF2F52010, 0x2FC12FC1, 0x794C7630,
}  # fmt: skip
"""ext4, xfs, btrfs, tmpfs, f2fs, zfs, overlayfs: they answer `fstat` and `close` from memory. NFS and FUSE may not."""


def _is_far(descriptor: int) -> bool:
    """Whether a file system may have to ask somebody else even for the attributes of an open file."""
    buffer = ctypes.create_string_buffer(256)
    if _libc.fstatfs(descriptor, buffer):
        return True
    return int.from_bytes(buffer.raw[:8], "little") not in _NEAR


def _descriptor_limit() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def _acl(descriptor: int) -> bytes | None:
    try:
        return os.getxattr(descriptor, "system.posix_acl_access")
    except OSError as error:
        if error.errno in (errno.ENODATA, errno.EOPNOTSUPP):
            return None
        raise DiskError(f"an access control list cannot be read: {error.strerror}") from error


@functools.cache
def _how(flags: int, resolve: int) -> tuple[object, int]:
    """An `open_how`, and its size."""
    return ctypes.byref(_OpenHow(flags, 0, _RESOLVE | resolve)), ctypes.sizeof(_OpenHow)


def _openat2(root: int, name: str, flags: int, resolve: int = 0) -> int:
    got: int = _libc.syscall(_SYS_OPENAT2, root, os.fsencode(name), *_how(flags, resolve))
    if got >= 0:
        return got
    code = ctypes.get_errno()
    if code == errno.ENOSYS and not resolve:  # Linux before 5.6: a link in the middle of a path would be followed there
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
