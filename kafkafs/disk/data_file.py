"""One open file of the broker's: its attributes, and reads that wait for nothing unless the thread may wait.

A `DataFile` closes its descriptor when the last holder lets go, so an open handle keeps answering from the file it was
opened on while the cache of `directory` moves on.
"""

import errno
import os
import threading
import time
from collections import deque
from collections.abc import Callable

from kafkafs.disk import page_cache
from kafkafs.disk.blocking import is_non_blocking, may_block
from kafkafs.disk.cached_value import CachedValue, ValidatedValue
from kafkafs.disk.options import DiskOptions
from kafkafs.disk.system_calls import access_list
from kafkafs.errors import DiskError, KafkafsError, WouldBlock
from kafkafs.format.buffers import Buffers, pages
from kafkafs.format.memory import Memory

STREAM_SIZE = 1 << 20
"""The largest read that is answered from the calling thread's own buffer."""

LATELY_S = 0.1
"""For how long the attributes of a file count as those of now, where they are only shown."""

SETTLED_AFTER_NS = 50_000_000
"""A file or directory changed so recently may change again within the same tick of the file system's clock."""


def is_settled(changed_ns: int) -> bool:
    """Whether a later change of what changed then would show in its time of change."""
    return time.time_ns() - changed_ns > SETTLED_AFTER_NS


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


class DataFile:
    """An open regular file. Reads are positional, so any number of threads may share it."""

    __slots__ = (
        *("__weakref__", "_about", "_acl", "_closing", "_device", "_remote", "_options"),
        *("descriptor", "inode", "name", "used"),
    )

    def __init__(
        self, descriptor: int, name: str, inode: int, options: DiskOptions, remote: "deque[int] | None" = None
    ) -> None:
        """`remote`, of a remote file system: where to leave the descriptor in the end, as closing it may take long."""
        self._options = options
        self.descriptor = descriptor
        self.name = name
        self.inode = inode
        self._device = -1
        self._acl: ValidatedValue[tuple[bytes | None]] = ValidatedValue()
        self._about: CachedValue[os.stat_result] = CachedValue(LATELY_S, options.clock)
        self.used = 0.0
        self._remote = remote
        self._closing = _Closing(descriptor, remote)

    def stat(self) -> os.stat_result:
        """The file's own attributes, whatever it is called by now."""
        if self._remote is not None:
            may_block()
        try:
            return os.fstat(self.descriptor)
        except OSError as error:
            raise _reading_failed(error, self.name) from error

    def stat_lately(self) -> os.stat_result:
        """As `stat`, of now or a moment ago."""
        return self._about.fresh() or self._about.store(self.stat())

    def note(self, about: os.stat_result) -> None:
        """These are its attributes now."""
        self._about.store(about)

    def touch(self) -> None:
        """It is used now."""
        self.used = self._options.clock()

    @property
    def size(self) -> int:
        """Bytes as of now, asked of the system."""
        return self.stat().st_size

    def acl(self, about: os.stat_result) -> bytes | None:
        """The access control list, as the kernel stores it; None where the file has none.

        `about` is what `stat` has just said: a list that was read under the same change time is the one.
        """
        changed_ns = about.st_ctime_ns
        known = self._acl.revalidated(changed_ns)
        if known is None:
            if self._remote is not None:
                may_block()
            settled = is_settled(changed_ns)
            known = self._acl.store((access_list(self.descriptor),), changed_ns if settled else None)
        return known[0]

    @property
    def memory(self) -> Memory:
        """Where large buffers for what is read or unpacked of it come from."""
        return self._options.memory

    def read(self, position: int, size: int, *, passing: bool = False) -> bytes:
        """The bytes at `position`, fewer only at the end. A non-blocking thread gets WouldBlock for a page on disk.

        `passing`: a short read in the midst of long ones, which leaves no page in memory either.
        """
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

    def read_long(self, position: int, size: int) -> memoryview:
        """Like `read`, into a large buffer that is used again once no view of it is held."""
        buffer = _buffers.take()[:size].data if size <= _buffers.size else self._options.memory.take(size).data
        return buffer[: self.read_into(buffer, position)]

    def read_into(self, buffer: memoryview, position: int, *, passing: bool = False) -> int:
        """Like `read`, into the caller's buffer: how many bytes came."""
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
        """Like `read`, for handing on: a non-blocking thread gets a view of its own buffer, good until its next."""
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


class _OwnBuffer(threading.local):
    def __init__(self) -> None:
        self.view = memoryview(pages(STREAM_SIZE))  # handed out by `stream`
        self.short = memoryview(bytearray(page_cache.LONG_READ))  # copied from by `read`


_own = _OwnBuffer()
_buffers = Buffers(STREAM_SIZE, keep=8)


def _reading_failed(error: OSError, name: str) -> KafkafsError:
    if is_non_blocking() and error.errno in (errno.EAGAIN, errno.EOPNOTSUPP):
        return WouldBlock("a page is not in memory, or the file system cannot tell")
    return DiskError(f"reading {name!r} failed: {error.strerror}")
