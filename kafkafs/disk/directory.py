"""Descriptors of broker files: opened read-only, without following links, few at a time.

This is the one module that opens files of a data directory, each as a `LocalFile`. Its cache closes what was not
asked for in a while, and of what was deleted: an open file keeps its disk space.
"""

import errno
import os
import stat
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar
from weakref import WeakValueDictionary

from kafkafs.disk.access import Access, access_to
from kafkafs.disk.blocking import is_non_blocking, may_block
from kafkafs.disk.data_file import DataFile, DiskOptions, LocalFile, regular_file
from kafkafs.disk.system_calls import CACHED, is_remote, open_in_memory, openat2
from kafkafs.errors import Denied, DiskError, Exhausted, KafkafsError, NotFound, Unsupported, Vanished, WouldBlock

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class Inside:
    """One directory below a data directory, held open for questions about thousands of its files: none of them stays
    open. `Directory.inside` makes it, and holds `descriptor` open as long as it is good. For workers.

    A partition can have 20,000 segments. To reach each file from the data directory takes three times as long, and
    files that a directory keeps would push out those that others ask for.

    Names have no directory in them, and no link is followed.
    """

    def __init__(self, descriptor: int, options: DiskOptions) -> None:
        self._descriptor = descriptor
        self._options = options

    def stat(self, name: str) -> os.stat_result:
        """The attributes of what is called `name` now; a link's own."""
        try:
            return os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
        except OSError as error:
            raise _opening_failed(error, name) from error

    def attributes(self, name: str) -> tuple[os.stat_result, Access]:
        """Those of a file, and who may read it."""
        descriptor = self._open(name)
        try:
            about = os.fstat(descriptor)
            return about, access_to(descriptor, about)
        finally:
            os.close(descriptor)

    def open(self, name: str) -> DataFile:
        """A file, open for as long as the caller holds it. NotFound for what is no regular file."""
        return regular_file(self._open(name), name, self._options)

    def read(self, name: str, position: int, size: int) -> bytes:
        """Some bytes of a file, which is open for that long; fewer behind its end."""
        descriptor = self._open(name)
        try:
            return os.pread(descriptor, size, position)
        except OSError as error:
            raise _opening_failed(error, name) from error
        finally:
            os.close(descriptor)

    def _open(self, name: str) -> int:
        try:
            try:
                return os.open(name, _FLAGS | os.O_NOATIME, dir_fd=self._descriptor)
            except PermissionError:  # not the owner: reading may then move the access time, as any reader does
                return os.open(name, _FLAGS, dir_fd=self._descriptor)
        except OSError as error:
            raise _opening_failed(error, name) from error


IDLE_S = 2.0
"""For how long the cache keeps a file that is not asked for."""

DEFAULT_OPTIONS = DiskOptions()

Answer = TypeVar("Answer")


class Directory:
    """A data directory's root, held open: everything below is opened relative to it, never through a link. `_lock` is
    held around `_cache` and `_open`, never while a file is opened or closed."""

    is_far = False  # True if each read of a file is a request to a store

    def __init__(self, path: str, options: DiskOptions = DEFAULT_OPTIONS) -> None:
        """Raises OSError if `path` is no directory that may be read."""
        self.options = options
        self._path = os.path.abspath(path)
        self.descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        # of a remote file system, the descriptors that are to be closed
        self._remote: deque[int] | None = deque() if is_remote(self.descriptor) else None
        self._cache: OrderedDict[str, LocalFile] = OrderedDict()
        self._open: WeakValueDictionary[tuple[str, int], LocalFile] = WeakValueDictionary()
        self._lock = threading.Lock()
        self._swept = options.clock()
        options.descriptors.share_with(self)

    def is_replaced(self) -> bool:
        """True if another directory is at the path by now. False if none does, or none that can be looked at.

        A non-blocking thread gets WouldBlock if the kernel has not got the way there in memory.
        """
        try:
            if is_non_blocking():
                if self._remote is not None:
                    raise WouldBlock("another host must be asked for attributes")
                about = _attributes_in_memory(self._path)
            else:
                about = os.stat(self._path)
            own = os.fstat(self.descriptor)
        except OSError as error:
            if is_non_blocking() and error.errno == errno.EAGAIN:
                raise WouldBlock("a path is to be looked up on the disk") from error
            return False
        return stat.S_ISDIR(about.st_mode) and not os.path.samestat(about, own)

    def __del__(self, close: Callable[[int], None] = os.close) -> None:  # as Python ends, `os` may be gone before
        if hasattr(self, "descriptor"):
            close(self.descriptor)

    def open(self, name: str, inode: int) -> DataFile:
        """The file `name` (a path from here) if it still is the one with this inode, else Vanished: list again.

        Questions about open files are answered at once. A non-blocking thread gets WouldBlock for a look at the disk.
        A file that the broker has set aside for deletion, or put in its place, is found under its new name.
        """
        with self._lock:
            known = self._cache.get(name)
            if known is not None and known.inode == inode:
                known.is_used = True
                self._cache.move_to_end(name)
                return known
            known = self._open.get((name, inode))
        if known is None:
            known = self._open_at_once(name, inode) if is_non_blocking() else self._open_renamed(name, inode)
        return self._keep(known, name)

    def _open_at_once(self, name: str, inode: int) -> LocalFile:
        """The file, where the kernel has its name and inode in memory; WouldBlock for whatever is not as simple."""
        if self._remote is None:
            with suppress(OSError):
                descriptor = openat2(self.descriptor, name, _FLAGS | os.O_NOATIME, CACHED)
                opened = LocalFile(descriptor, name, inode, self.options)
                about = os.fstat(opened.descriptor)
                is_it = about.st_ino == inode and stat.S_ISREG(about.st_mode)
                page_cache = self.options.hints.page_cache
                if is_it and page_cache.opened_at_once(descriptor, about.st_dev, self.options.cache_keep):
                    opened.note(about)
                    opened.device = about.st_dev
                    return opened
        raise WouldBlock("a file is to be opened")

    def _keep(self, file: LocalFile, name: str) -> LocalFile:
        evicted = []
        with self._lock:
            file = self._open.setdefault((name, file.inode), file)
            file.is_used = True
            evicted.append(self._cache.get(name))
            self._cache[name] = file
            self._cache.move_to_end(name)
        evicted.clear()  # the lock is free by now
        self.options.descriptors.trim()
        return file

    def _open_renamed(self, name: str, inode: int) -> LocalFile:
        for candidate in (name, name + ".deleted", name.removesuffix(".swap")):
            try:
                opened = regular_file(self._descriptor(candidate, _FLAGS), candidate, self.options, self._remote)
            except NotFound:
                continue
            if opened.inode == inode:
                return opened
        raise Vanished(f"{name!r} was deleted, renamed or replaced by another file; read again")

    def may_hold_more(self) -> bool:
        """True if handles may hold more files open for as long as they live."""
        return self.options.descriptors.may_hold_more()

    @property
    def kept(self) -> int:
        """See `FileKeeper`."""
        return len(self._cache)

    @property
    def open_files(self) -> int:
        """See `FileKeeper`."""
        return len(self._open)

    def evict(self) -> None:
        """See `FileKeeper`."""
        with self._lock:
            evicted = self._cache.popitem(last=False) if self._cache else None
        del evicted  # the lock is free by now

    def sweep(self) -> None:
        """Close files that are not in use, or that were deleted. A mount calls it a few times a second."""
        may_block()
        self._swept = self.options.clock()
        with self._lock:
            files = list(self._cache.items())
        for name, file in files:
            if file.idle_s(self._swept) > IDLE_S or _is_deleted(file):
                with self._lock:
                    if self._cache.get(name) is file:
                        del self._cache[name]
        del files
        self._close_abandoned()

    def _sweep_if_due(self) -> None:
        """Without a mount that sweeps, every request sweeps: a deleted file keeps its space on the disk."""
        if self.options.clock() - self._swept >= IDLE_S:
            self.sweep()

    def _close_abandoned(self) -> None:
        with suppress(IndexError):
            while self._remote:
                os.close(self._remote.popleft())

    def open_now(self, name: str) -> DataFile:
        """The file that is called `name` now, not kept in the cache."""
        may_block()
        self._close_abandoned()
        return regular_file(self._descriptor(name, _FLAGS), name, self.options, self._remote)

    @contextmanager
    def inside(self, name: str) -> Iterator[Inside]:
        """A directory below, for questions about many of its files, good inside the `with`; NotFound."""
        may_block()
        descriptor = self._descriptor(name, _FLAGS | os.O_DIRECTORY)
        try:
            yield Inside(descriptor, self.options)
        finally:
            os.close(descriptor)

    def read_whole(self, name: str, limit: int = 16 << 20) -> bytes:
        """A small file's bytes, the first `limit` of a larger one's; NotFound if it does not exist."""
        opened = self.open_now(name)
        return opened.read(0, min(opened.size, limit))

    @contextmanager
    def scan(self, name: str = ".") -> Iterator[Iterator[os.DirEntry[str]]]:
        """The entries of a directory below, unsorted, good inside the `with`."""
        may_block()
        descriptor = self._descriptor(name, _FLAGS | os.O_DIRECTORY)
        try:
            with self._with_room(lambda: os.scandir(descriptor)) as entries:  # it has one of its own
                yield entries
        except OSError as error:
            raise _opening_failed(error, name) from error
        finally:
            os.close(descriptor)

    def stat(self, name: str = ".") -> os.stat_result:
        """The attributes of what is called `name` now; a link's own."""
        may_block()
        self._sweep_if_due()
        try:
            return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except OSError as error:
            raise _opening_failed(error, name) from error

    def stat_at_once(self, name: str = ".") -> os.stat_result:
        """As `stat`; a non-blocking thread has an answer too, where the kernel has what is called that in memory."""
        if not is_non_blocking():
            return self.stat(name)
        with self._asked_at_once(name):
            if name == ".":
                return os.fstat(self.descriptor)
            descriptor = openat2(self.descriptor, name, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW, CACHED)
            try:
                return os.fstat(descriptor)
            finally:
                os.close(descriptor)

    def attributes(self, name: str) -> tuple[os.stat_result, Access]:
        """The attributes of the file that is called `name` now, and who may read it: of one that we may not, too."""
        try:
            file = self.open_now(name)
        except Denied as refused:
            return self._attributes_alone(name, refused)
        about = file.stat()
        return about, file.access(about)

    def _attributes_alone(self, name: str, refused: Denied) -> tuple[os.stat_result, Access]:
        try:
            descriptor = openat2(self.descriptor, name, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            raise _opening_failed(error, name) from error
        try:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode):
                raise refused
            return about, access_to(f"/proc/self/fd/{descriptor}", about)  # what is open as a path only has no list
        finally:
            os.close(descriptor)

    def attributes_at_once(self, name: str = ".") -> tuple[os.stat_result, Access]:
        """The attributes of a directory below, and whom it lets in: one look for both.

        A non-blocking thread has an answer too, where the kernel has that directory in memory.
        """
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_DIRECTORY  # nothing is read: no time of access moves
        if is_non_blocking():
            with self._asked_at_once(name):
                descriptor = openat2(self.descriptor, name, flags, CACHED)
        else:
            descriptor = self._descriptor(name, flags)
        try:
            about = os.fstat(descriptor)
            return about, access_to(descriptor, about)
        except OSError as error:
            raise _opening_failed(error, name) from error
        finally:
            os.close(descriptor)

    @contextmanager
    def _asked_at_once(self, name: str) -> Iterator[None]:
        """Requests for a name's target are made in the `with`. A thread that would have to wait gets WouldBlock."""
        if self._remote is not None:
            raise WouldBlock("another host must be asked for attributes")
        try:
            yield
        except FileNotFoundError as error:
            raise _opening_failed(error, name) from error
        except OSError as error:
            raise WouldBlock("a name is to be looked up on the disk") from error

    def forget_cached(self) -> None:
        """Close the files in the cache."""
        with self._lock:
            held = list(self._cache.values())
            self._cache.clear()
        held.clear()

    def _descriptor(self, name: str, flags: int) -> int:
        self._sweep_if_due()
        try:
            return self._with_room(lambda: self._openat(name, flags))
        except OSError as error:
            raise _opening_failed(error, name) from error

    def _openat(self, name: str, flags: int) -> int:
        try:
            return openat2(self.descriptor, name, flags | os.O_NOATIME)
        except PermissionError:  # not the owner: reading may then move the access time, as any reader does
            return openat2(self.descriptor, name, flags)

    def _with_room(self, take: Callable[[], Answer]) -> Answer:
        """Do something that takes a descriptor. If none is left, caches release theirs, and it is done once more."""
        try:
            return take()
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
        self.options.descriptors.release()
        self._close_abandoned()
        return take()


def _is_deleted(file: LocalFile) -> bool:
    """True also if this is unknown: an NFS server keeps no information about deleted files."""
    try:
        return file.stat().st_nlink == 0
    except DiskError:
        return True


def _attributes_in_memory(path: str) -> os.stat_result:
    """Those of what is at an absolute path, through links too; BlockingIOError where the disk has to be asked."""
    descriptor = open_in_memory(path, os.O_PATH | os.O_CLOEXEC)
    try:
        return os.fstat(descriptor)
    finally:
        os.close(descriptor)


def _opening_failed(error: OSError, name: str) -> KafkafsError:
    match error.errno:
        case errno.ELOOP:
            return NotFound(f"{name!r} is a symbolic link, which kafkafs does not follow")
        case errno.ENOENT | errno.ENOTDIR | errno.EXDEV | errno.ENXIO | errno.ENAMETOOLONG:
            return NotFound(f"there is no file {name!r}: {error.strerror}")
        case errno.EACCES | errno.EPERM:
            return Denied(f"{name!r} may not be read; run kafkafs as the owner of the data directory")
        case errno.EMFILE | errno.ENFILE | errno.ENOMEM:
            return Exhausted(f"no descriptor is left to open {name!r}; raise the limit or close some readers")
        case errno.EOPNOTSUPP:
            return Unsupported(f"{name!r} cannot be opened: {error.strerror}")
        case _:
            return DiskError(f"opening {name!r} failed: {error.strerror}")
