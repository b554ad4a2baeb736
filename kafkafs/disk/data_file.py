"""One open file: attributes, and reads by range that wait for nothing unless the thread may wait.

A `DataFile` is what all who read a segment hold, wherever its bytes come from (`chunked_file` has those of a tier). A
`LocalFile` is one of the broker's. It closes its descriptor when the last holder lets go, so an open handle goes on
answering from the file it was opened on while the cache of `directory` moves on.
"""

import os
import stat
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from kafkafs.disk.access import Access, access_to
from kafkafs.disk.blocking import is_non_blocking, may_block
from kafkafs.disk.budget import DescriptorBudget
from kafkafs.disk.cached_value import CachedValue, ValidatedValue
from kafkafs.disk.hints import Hints
from kafkafs.disk.page_cache import LONG_READ
from kafkafs.disk.system_calls import Closing
from kafkafs.errors import DiskError, NotFound
from kafkafs.format.memory import UNLIMITED, Buffers, Memory, pages

LATELY_S = 0.1
"""For how long the attributes of a file count as those of now, where they are only shown."""

SETTLED_AFTER_NS = 50_000_000
"""A file or directory changed so recently may change again within the same tick of the file system's clock."""

LONG_SIZE = 1 << 20
"""Bytes that are read at a time where much is read."""

BUFFER_SIZE = 2 << 20
"""Bytes that `read_long` has a buffer for, which it uses again."""

STREAM_SIZE = 1 << 20
"""The largest read that is answered from the calling thread's own buffer."""


def is_settled(changed_ns: int) -> bool:
    """True if a later change of the things that changed then would show in its time of change."""
    return time.time_ns() - changed_ns > SETTLED_AFTER_NS


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskOptions:
    """The effects that a reader may have on a broker's machine. Readers hand this value down, so that two readers in
    one process may differ. The defaults leave the page cache as it is, count no memory, and share descriptors with no
    other value. `log.read_options.ReadOptions` adds what is about Kafka."""

    cache_keep: bool = False  # leave pages that a read brought in in the page cache
    memory: Memory = field(default=UNLIMITED, compare=False, repr=False)  # the source of large buffers
    descriptors: DescriptorBudget = field(default_factory=DescriptorBudget, compare=False, repr=False)  # for open files
    clock: Callable[[], float] = field(default=time.monotonic, compare=False, repr=False)  # seconds, for freshness
    hints: Hints = field(default_factory=Hints, compare=False, repr=False)


class DataFile(ABC):
    """An open file. Reads are positional, so any number of threads may share it."""

    __slots__ = ("__weakref__", "_about", "_options", "_unused_since", "inode", "is_used", "name")

    def __init__(self, name: str, inode: int, options: DiskOptions) -> None:
        self.name = name
        self.inode = inode
        self._options = options
        self._about: CachedValue[os.stat_result] = CachedValue(LATELY_S, options.clock)
        self.is_used = True
        """True if somebody asked for the file since its directory last closed unused files."""
        self._unused_since = 0.0

    @abstractmethod
    def stat(self) -> os.stat_result:
        """The file's own attributes, whatever it is called by now."""

    @abstractmethod
    def access(self, about: os.stat_result) -> Access:
        """The rights to read it.

        `about` is what `stat` has just said: an earlier answer for the same change time is still valid.
        """

    @abstractmethod
    def read(self, position: int, size: int, *, passing: bool = False) -> bytes:
        """The bytes at `position`, fewer only at the end. A non-blocking thread gets WouldBlock for what it waited for.

        `passing`: a short read in the middle of long ones, which leaves no page in memory either.
        """

    @abstractmethod
    def read_into(self, buffer: memoryview, position: int, *, passing: bool = False, straight: bool = False) -> int:
        """Like `read`, into the caller's buffer: how many bytes came. `straight`: as much again will be read from there
        on, and more, so that the disk may read ahead."""

    def stream(self, position: int, size: int) -> bytes | memoryview:
        """Like `read`, for handing on: a non-blocking thread may get a view of its own buffer, good until its next."""
        return self.read_long(position, size)

    @abstractmethod
    def next_data(self, position: int) -> int:
        """`position`, or the next one that is not in a hole; the end of the file where only holes follow."""

    def fetch(self, position: int, size: int) -> None:  # noqa: B027 (a file on the disk has nothing to do)
        """Announce that these bytes will be read, one after the other. If each read is a request, send one for all."""

    def fetch_soon(self) -> None:  # noqa: B027
        """Announce that the file will be read from its start. If each read is a request, send one now, without
        waiting."""

    def straight(self, position: int, end: int, *, is_whole: bool = False) -> "DataFile":  # noqa: ARG002
        """The file, for a reader of its own that goes straight from `position` to about `end`. `is_whole`: it will read
        all of that, else it may stop before."""
        return self

    def forget(self, position: int, size: int) -> bool:  # noqa: ARG002 (a file on the disk is read each time)
        """Drops what is kept of these bytes, which are not what was written: the next read fetches them again. True if
        anything was dropped."""
        return False

    def stat_lately(self) -> os.stat_result:
        """As `stat`, of now or a moment ago."""
        return self._about.fresh() or self._about.store(self.stat())

    def note(self, about: os.stat_result) -> None:
        """Store the file's present attributes."""
        self._about.store(about)

    def idle_s(self, now: float) -> float:
        """The time for which sweeps have found the file unused [s]: 0 if it was used since the last one."""
        if self.is_used:
            self.is_used, self._unused_since = False, now
        return now - self._unused_since

    @property
    def size(self) -> int:
        """Bytes as of now, asked of the system."""
        return self.stat().st_size

    @property
    def hints(self) -> Hints:
        """The findings that its reader has remembered."""
        return self._options.hints

    @property
    def memory(self) -> Memory:
        """The source of large buffers for bytes that are read or unpacked."""
        return self._options.memory

    def read_long(self, position: int, size: int) -> memoryview:
        """Like `read`, without a copy. A large buffer is used again once no view of it is held."""
        is_pooled = LONG_READ <= size <= _buffers.size
        buffer = (_buffers.take()[:size] if is_pooled else self._options.memory.take(size)).data
        return buffer[: self.read_into(buffer, position)]


_buffers = Buffers(BUFFER_SIZE, keep=8)


class LocalFile(DataFile):
    """An open regular file of a directory."""

    __slots__ = ("_access", "_closing", "_remote", "_straight", "descriptor", "device")

    def __init__(
        self, descriptor: int, name: str, inode: int, options: DiskOptions, remote: "deque[int] | None" = None
    ) -> None:
        """`remote`, of a remote file system: where to leave the descriptor in the end, as closing it may take long."""
        super().__init__(name, inode, options)
        self.descriptor = descriptor
        self.device = -1  # set by the code that opens it
        self._access: ValidatedValue[Access] = ValidatedValue()
        self._remote = remote
        self._straight = False
        self._closing = Closing(descriptor, remote)

    def stat(self) -> os.stat_result:
        """See `DataFile`."""
        if self._remote is not None:
            may_block()
        try:
            return os.fstat(self.descriptor)
        except OSError as error:
            raise self._failed(error) from error

    def access(self, about: os.stat_result) -> Access:
        """See `DataFile`."""
        changed_ns = about.st_ctime_ns
        known = self._access.revalidated(changed_ns)
        if known is None:
            if self._remote is not None:
                may_block()
            settled = is_settled(changed_ns)
            known = self._access.store(access_to(self.descriptor, about), changed_ns if settled else None)
        return known

    def read(self, position: int, size: int, *, passing: bool = False) -> bytes:
        """See `DataFile`: WouldBlock for a page on disk."""
        short = _own.short
        buffer = short[: max(0, size)] if size <= len(short) else memoryview(bytearray(size))
        return bytes(buffer[: self.read_into(buffer, position, passing=passing)])

    def read_into(self, buffer: memoryview, position: int, *, passing: bool = False, straight: bool = False) -> int:
        """See `DataFile`. Bytes in memory come at once, whichever thread asks. For the others the thread has to
        wait."""
        if straight != self._straight and not self._options.cache_keep:
            self._straight = straight  # the last of several readers counts
            self.hints.page_cache.read_ahead(self.descriptor, self.device, straight=straight)
        passing = passing or len(buffer) >= LONG_READ  # the rest of a long read may be short
        got = self._read_at_once(buffer, position, passing)
        if got < len(buffer) and self._more_follows(position + got):
            may_block()
            got += self._read_blocking(buffer[got:], position + got, passing)
        return got

    def stream(self, position: int, size: int) -> bytes | memoryview:
        """See `DataFile`."""
        if not is_non_blocking() or size > STREAM_SIZE:
            return super().stream(position, size)
        view = _own.view[:size]
        return view[: self.read_into(view, position, passing=True)]

    def next_data(self, position: int) -> int:
        """See `DataFile`."""
        try:
            return os.lseek(self.descriptor, position, os.SEEK_DATA)
        except OSError:
            return self.size

    def _read_at_once(self, buffer: memoryview, position: int, passing: bool) -> int:
        """Return the part of it that is in memory. Return none if the file system cannot tell, or if the question would
        bring pages in. Any other error the read that waits will meet, too."""
        keep = self._options.cache_keep
        flags = self.hints.page_cache.flags_at_once(self.device, len(buffer), keep) if passing else 0
        if flags is None:
            return 0
        try:
            return os.preadv(self.descriptor, [buffer], position, os.RWF_NOWAIT | flags)
        except OSError:
            return 0

    def _read_blocking(self, buffer: memoryview, position: int, passing: bool) -> int:
        """Return the bytes that the disk gives. They are fewer than there are only for a moment, while the file
        grows."""
        keep, page_cache = self._options.cache_keep, self.hints.page_cache
        try:
            got = page_cache.read_blocking(self.descriptor, buffer, position, keep=keep, passing=passing)
            while got < len(buffer) and self._more_follows(position + got):
                more = page_cache.read_blocking(self.descriptor, buffer[got:], position + got, keep=keep)
                if not more:
                    raise DiskError(
                        f"reading {self.name!r} gave no bytes at {position + got}, before the end of the file"
                    )
                got += more
        except OSError as error:
            raise self._failed(error) from error
        return got

    def _failed(self, error: OSError) -> DiskError:
        return DiskError(f"reading {self.name!r} failed: {error.strerror}")

    def _more_follows(self, position: int) -> bool:
        return position < self.size


def regular_file(descriptor: int, name: str, options: DiskOptions, remote: "deque[int] | None" = None) -> LocalFile:
    """The file behind a descriptor that was just opened, which is its from now on; NotFound for what is no regular
    file."""
    opened = LocalFile(descriptor, name, 0, options, remote)
    about = opened.stat()
    if not stat.S_ISREG(about.st_mode):
        raise NotFound(f"{name!r} is not a regular file")
    opened.inode, opened.device = about.st_ino, about.st_dev
    opened.note(about)
    options.hints.page_cache.opened(descriptor, about.st_dev, options.cache_keep)
    return opened


class _OwnBuffer(threading.local):
    def __init__(self) -> None:
        self.view = memoryview(pages(STREAM_SIZE))  # handed out by `stream`
        self.short = memoryview(bytearray(LONG_READ))  # copied from by `read`


_own = _OwnBuffer()
