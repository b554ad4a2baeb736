"""One open file of the broker's: its attributes, and reads that wait for nothing unless the thread may wait.

A `LocalFile` closes its descriptor when the last holder lets go, so an open handle keeps answering from the file it was
opened on while the cache of `directory` moves on.
"""

import errno
import os
import stat
import threading
from collections import deque
from collections.abc import Callable

from kafkafs.disk import page_cache
from kafkafs.disk.blocking import is_non_blocking, may_block
from kafkafs.disk.cached_value import ValidatedValue
from kafkafs.disk.data_file import DataFile, DiskOptions, is_settled
from kafkafs.disk.system_calls import access_list
from kafkafs.errors import DiskError, KafkafsError, NotFound, WouldBlock
from kafkafs.format.memory import pages

STREAM_SIZE = 1 << 20
"""The largest read that is answered from the calling thread's own buffer."""


class _Closing:
    """Closes a descriptor when its file is gone. Only the file holds it.

    Python calls a `__del__` of the file itself while weak references still lead there: a thread that took that way
    meanwhile would read from a number that is closed, or another file's by then.
    """

    __slots__ = ("_descriptor", "_remote")

    def __init__(self, descriptor: int, remote: "deque[int] | None") -> None:
        self._descriptor = descriptor
        self._remote = remote

    def __del__(self, close: Callable[[int], None] = os.close) -> None:  # as Python ends, `os` may be gone before
        if self._remote is None:
            close(self._descriptor)
        else:
            self._remote.append(self._descriptor)


class LocalFile(DataFile):
    """An open regular file of a directory."""

    __slots__ = ("_acl", "_closing", "_device", "_remote", "descriptor")

    def __init__(
        self, descriptor: int, name: str, inode: int, options: DiskOptions, remote: "deque[int] | None" = None
    ) -> None:
        """`remote`, of a remote file system: where to leave the descriptor in the end, as closing it may take long."""
        super().__init__(name, inode, options)
        self.descriptor = descriptor
        self._device = -1
        self._acl: ValidatedValue[tuple[bytes | None]] = ValidatedValue()
        self._remote = remote
        self._closing = _Closing(descriptor, remote)

    def stat(self) -> os.stat_result:
        """See `DataFile`."""
        if self._remote is not None:
            may_block()
        try:
            return os.fstat(self.descriptor)
        except OSError as error:
            raise _reading_failed(error, self.name) from error

    def acl(self, about: os.stat_result) -> bytes | None:
        """See `DataFile`."""
        changed_ns = about.st_ctime_ns
        known = self._acl.revalidated(changed_ns)
        if known is None:
            if self._remote is not None:
                may_block()
            settled = is_settled(changed_ns)
            known = self._acl.store((access_list(self.descriptor),), changed_ns if settled else None)
        return known[0]

    def read(self, position: int, size: int, *, passing: bool = False) -> bytes:
        """See `DataFile`: WouldBlock for a page on disk."""
        if size <= 0:
            return b""
        if size < page_cache.LONG_READ and not passing and not is_non_blocking():
            try:
                data = os.pread(self.descriptor, size, position)
                while len(data) < size and (more := os.pread(self.descriptor, size - len(data), position + len(data))):
                    data += more
            except OSError as error:
                raise _reading_failed(error, self.name) from error
            return data
        buffer = _own.short[:size] if size <= len(_own.short) else memoryview(bytearray(size))
        return bytes(buffer[: self.read_into(buffer, position, passing=passing)])

    def read_into(self, buffer: memoryview, position: int, *, passing: bool = False) -> int:
        """See `DataFile`."""
        try:
            if not is_non_blocking():
                return self._read_blocking(buffer, position, passing)
            got = os.preadv(self.descriptor, [buffer], position, os.RWF_NOWAIT)
        except OSError as error:
            raise _reading_failed(error, self.name) from error
        if got < len(buffer) and self._more_follows(position + got):
            raise WouldBlock("a page is not in memory")
        return got

    def stream(self, position: int, size: int) -> bytes | memoryview:
        """See `DataFile`."""
        if not is_non_blocking() or size > STREAM_SIZE:
            return self.read_long(position, size)
        view = _own.view[:size]
        try:
            if self._device < 0:
                self._device = os.fstat(self.descriptor).st_dev
            if (flags := page_cache.flags_at_once(self._device, size, self._options.cache_keep)) is None:
                raise WouldBlock("a worker must look which pages are in memory")
            got = os.preadv(self.descriptor, [view], position, os.RWF_NOWAIT | flags)
        except OSError as error:
            raise _reading_failed(error, self.name) from error
        if got < size and self._more_follows(position + got):
            raise WouldBlock("a page is not in memory")
        return view[:got]

    def next_data(self, position: int) -> int:
        """See `DataFile`."""
        try:
            return os.lseek(self.descriptor, position, os.SEEK_DATA)
        except OSError:
            return self.size

    def _read_blocking(self, buffer: memoryview, position: int, passing: bool) -> int:
        """What the disk gives; less than there is only for a moment, while the file grows."""
        keep = self._options.cache_keep
        got = page_cache.read_blocking(self.descriptor, buffer, position, keep=keep, passing=passing)
        while got < len(buffer) and self._more_follows(position + got):
            more = page_cache.read_blocking(self.descriptor, buffer[got:], position + got, keep=keep)
            if not more:
                raise DiskError(f"reading {self.name!r} gave nothing at {position + got}, where the file goes on")
            got += more
        return got

    def _more_follows(self, position: int) -> bool:
        return position < self.size


def regular_file(descriptor: int, name: str, options: DiskOptions, remote: "deque[int] | None" = None) -> LocalFile:
    """The file behind a descriptor that was just opened, which is its from now on; NotFound for what is no regular
    file."""
    opened = LocalFile(descriptor, name, 0, options, remote)
    about = opened.stat()
    if not stat.S_ISREG(about.st_mode):
        raise NotFound(f"{name!r} is no regular file")
    opened.inode = about.st_ino
    page_cache.opened(descriptor, about.st_dev, options.cache_keep)
    return opened


class _OwnBuffer(threading.local):
    def __init__(self) -> None:
        self.view = memoryview(pages(STREAM_SIZE))  # handed out by `stream`
        self.short = memoryview(bytearray(page_cache.LONG_READ))  # copied from by `read`


_own = _OwnBuffer()


def _reading_failed(error: OSError, name: str) -> KafkafsError:
    if is_non_blocking() and error.errno in (errno.EAGAIN, errno.EOPNOTSUPP):
        return WouldBlock("a page is not in memory, or the file system cannot tell")
    return DiskError(f"reading {name!r} failed: {error.strerror}")
