"""The bytes of one file by range: what all who read a segment hold, wherever the bytes come from.

`local_file` has those of the broker's files. Reads wait for nothing unless the thread may wait.
"""

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

from kafkafs.disk.budget import DescriptorBudget
from kafkafs.disk.cached_value import CachedValue
from kafkafs.format.memory import UNLIMITED, Buffers, Memory

LATELY_S = 0.1
"""For how long the attributes of a file count as those of now, where they are only shown."""

SETTLED_AFTER_NS = 50_000_000
"""A file or directory changed so recently may change again within the same tick of the file system's clock."""

LONG_SIZE = 1 << 20
"""Bytes that `read_long` has a buffer for, which it uses again."""


def is_settled(changed_ns: int) -> bool:
    """Whether a later change of what changed then would show in its time of change."""
    return time.time_ns() - changed_ns > SETTLED_AFTER_NS


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskOptions:
    """What a reader may do to the machine that a broker runs on: handed down to whatever reads, so that two readers in
    one process may have different ones. The defaults leave the page cache as it is, count no memory, and share
    descriptors with no other value. `log.options.ReadOptions` adds what is about Kafka."""

    cache_keep: bool = False  # leave pages that a read brought in in the page cache
    memory: Memory = field(default=UNLIMITED, compare=False, repr=False)  # where large buffers come from
    descriptors: DescriptorBudget = field(default_factory=DescriptorBudget, compare=False, repr=False)  # of open files
    clock: Callable[[], float] = field(default=time.monotonic, compare=False, repr=False)  # seconds, for freshness


class DataFile(ABC):
    """An open file. Reads are positional, so any number of threads may share it."""

    __slots__ = ("__weakref__", "_about", "_options", "inode", "name", "used")

    def __init__(self, name: str, inode: int, options: DiskOptions) -> None:
        self.name = name
        self.inode = inode
        self._options = options
        self._about: CachedValue[os.stat_result] = CachedValue(LATELY_S, options.clock)
        self.used = 0.0

    @abstractmethod
    def stat(self) -> os.stat_result:
        """The file's own attributes, whatever it is called by now."""

    @abstractmethod
    def acl(self, about: os.stat_result) -> bytes | None:
        """The access control list, as the kernel stores it; None where the file has none.

        `about` is what `stat` has just said: a list that was read under the same change time is the one.
        """

    @abstractmethod
    def read(self, position: int, size: int, *, passing: bool = False) -> bytes:
        """The bytes at `position`, fewer only at the end. A non-blocking thread gets WouldBlock for what it waited for.

        `passing`: a short read in the midst of long ones, which leaves no page in memory either.
        """

    @abstractmethod
    def read_into(self, buffer: memoryview, position: int, *, passing: bool = False) -> int:
        """Like `read`, into the caller's buffer: how many bytes came."""

    @abstractmethod
    def stream(self, position: int, size: int) -> bytes | memoryview:
        """Like `read`, for handing on: a non-blocking thread gets a view of its own buffer, good until its next."""

    @abstractmethod
    def next_data(self, position: int) -> int:
        """`position`, or the next one that is not in a hole; the end of the file where only holes follow."""

    def fetch(self, position: int, size: int) -> None:  # noqa: B027 (a file on the disk has nothing to do)
        """These bytes will be read, one after the other: where each read is a request, one for all."""

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

    @property
    def memory(self) -> Memory:
        """Where large buffers for what is read or unpacked of it come from."""
        return self._options.memory

    def read_long(self, position: int, size: int) -> memoryview:
        """Like `read`, into a large buffer that is used again once no view of it is held."""
        buffer = _buffers.take()[:size].data if size <= _buffers.size else self._options.memory.take(size).data
        return buffer[: self.read_into(buffer, position)]


_buffers = Buffers(LONG_SIZE, keep=8)
