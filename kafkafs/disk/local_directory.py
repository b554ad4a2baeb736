"""Descriptors of broker files: opened read-only, without following links, few at a time.

This is the one module that opens files of a data directory, each as a `LocalFile`. Its `KeptFiles` close what was not
asked for in a while, and of what was deleted: an open file keeps its disk space.
"""

import errno
import os
import stat
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from kafkafs.disk.access import Access, access_to
from kafkafs.disk.blocking import is_non_blocking, may_block
from kafkafs.disk.data_file import DataFile, DiskOptions, LocalFile, regular_file
from kafkafs.disk.directory import DEFAULT_OPTIONS, Directory, Inside
from kafkafs.disk.kept_files import KeptFiles
from kafkafs.disk.system_calls import CACHED, Closing, is_remote, open_in_memory, openat2
from kafkafs.errors import Denied, DiskError, Exhausted, KafkafsError, NotFound, Unsupported, Vanished, WouldBlock

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK

IDLE_S = 2.0
"""For how long a file is kept that is not asked for."""

Answer = TypeVar("Answer")


class LocalInside(Inside):
    """See `Inside`. `LocalDirectory.inside` holds `descriptor` open as long as it is good."""

    def __init__(self, root: "LocalDirectory", folder: str, descriptor: int) -> None:
        super().__init__(root, folder)
        self._descriptor = descriptor

    def stat(self, name: str) -> os.stat_result:
        """See `Inside`."""
        try:
            return os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
        except OSError as error:
            raise _opening_failed(error, name) from error

    def attributes(self, name: str) -> tuple[os.stat_result, Access]:
        """See `Inside`."""
        descriptor = self._open(name)
        try:
            about = os.fstat(descriptor)
            return about, access_to(descriptor, about)
        finally:
            os.close(descriptor)

    def open(self, name: str) -> DataFile:
        """See `Inside`."""
        return regular_file(self._open(name), name, self._root.options)

    def read(self, name: str, position: int, size: int) -> bytes:
        """See `Inside`."""
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


class LocalDirectory(Directory):
    """See `Directory`."""

    def __init__(self, path: str, options: DiskOptions = DEFAULT_OPTIONS) -> None:
        """Raises OSError if `path` is no directory that may be read."""
        self.options = options
        self._path = os.path.abspath(path)
        self.descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._closing = Closing(self.descriptor)
        # descriptors that are to be closed, if the file system is remote
        self._remote: deque[int] | None = deque() if is_remote(self.descriptor) else None
        self.files = KeptFiles()
        self._swept = options.clock()
        options.descriptors.share_with(self.files)

    def is_replaced(self) -> bool:
        """See `Directory`."""
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

    def open(self, name: str, inode: int) -> DataFile:
        """See `Directory`. A file that the broker has set aside for deletion, or put in its place, is found under its
        new name."""
        known = self.files.known(name, inode)
        if known is not None:
            return known
        file = self.files.held(name, inode)
        if file is None:
            file = self._open_at_once(name, inode) if is_non_blocking() else self._open_renamed(name, inode)
        file = self.files.keep(file, name)
        self.options.descriptors.trim()
        return file

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
        """See `Directory`."""
        return self.options.descriptors.may_hold_more()

    def sweep(self) -> None:
        """See `Directory`."""
        may_block()
        now = self._swept = self.options.clock()
        self.files.forget_if(lambda file: file.idle_s(now) > IDLE_S or _is_deleted(file))
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
        """See `Directory`."""
        may_block()
        self._close_abandoned()
        return regular_file(self._descriptor(name, _FLAGS), name, self.options, self._remote)

    @contextmanager
    def inside(self, name: str) -> Iterator[Inside]:
        """See `Directory`."""
        may_block()
        descriptor = self._descriptor(name, _FLAGS | os.O_DIRECTORY)
        try:
            yield LocalInside(self, name, descriptor)
        finally:
            os.close(descriptor)

    @contextmanager
    def scan(self, name: str = ".") -> Iterator[Iterator[os.DirEntry[str]]]:
        """See `Directory`."""
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
        """See `Directory`: the kernel may have it in memory."""
        if not is_non_blocking():
            self._sweep_if_due()
            try:
                return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
            except OSError as error:
                raise _opening_failed(error, name) from error
        with self._asked_at_once(name):
            if name == ".":
                return os.fstat(self.descriptor)
            descriptor = openat2(self.descriptor, name, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW, CACHED)
            try:
                return os.fstat(descriptor)
            finally:
                os.close(descriptor)

    def attributes(self, name: str) -> tuple[os.stat_result, Access]:
        """See `Directory`: of one that we may not read, too."""
        try:
            return super().attributes(name)
        except Denied as refused:
            return self._attributes_alone(name, refused)

    def _attributes_alone(self, name: str, refused: Denied) -> tuple[os.stat_result, Access]:
        try:
            descriptor = openat2(self.descriptor, name, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            raise _opening_failed(error, name) from error
        try:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode):
                raise refused
            return about, access_to(f"/proc/self/fd/{descriptor}", about)  # an O_PATH descriptor has no access list
        finally:
            os.close(descriptor)

    def attributes_at_once(self, name: str = ".") -> tuple[os.stat_result, Access]:
        """See `Directory`."""
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
        """See `Directory`."""
        self.files.forget_cached()

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
    """The attributes of an absolute path, through links too; BlockingIOError if the disk has to be asked."""
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
            return Exhausted(f"no descriptor is left to open {name!r}; raise the limit (`ulimit -n`), or close readers")
        case errno.EOPNOTSUPP:
            return Unsupported(f"{name!r} cannot be opened: {error.strerror}")
        case _:
            return DiskError(f"opening {name!r} failed: {error.strerror}")
