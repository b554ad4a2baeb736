"""Reading without leaving a trace in the page cache, which belongs to the broker.

A long read asks for RWF_DONTCACHE (Linux 6.14, ext4 and xfs): pages that it had to bring in are dropped behind it,
pages that were there stay. If the file system refuses, `mincore` shows before a read which pages are absent, and those
are dropped after it. (`cachestat` needs no mapping, and on overlayfs calls every page absent.) Short reads, index pages
and headers, are left to the kernel.

Nobody drops the pages that the kernel reads ahead of a read, unless they are read, too. On disks that read ahead 8 MiB,
ten points left 27 MB. So it reads ahead only for a caller that reads much sequentially, and says so.
"""

import ctypes
import errno
import mmap
import os

import numpy as np

from kafkafs.disk.system_calls import libc

RWF_DONTCACHE = 0x80
LONG_READ = 64 << 10
"""Bytes from which a read is to leave no page behind."""

_PROT_NONE = 0
_MAP_FAILED = ctypes.c_void_p(-1).value
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64)
libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
libc.mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)


class PageCache:
    """Reads of a broker's files. It remembers which file systems take RWF_DONTCACHE: any thread may ask and add."""

    def __init__(self, takes: dict[int, bool] | None = None) -> None:
        """`takes`: the devices that are known, and whether their file system takes the flag."""
        self.takes = {} if takes is None else takes

    def opened(self, descriptor: int, device: int, keep: bool) -> None:
        """Prepare a file for its first read. `keep` (`-o cache=keep`): it is read as any reader does."""
        self.opened_at_once(descriptor, device, keep)
        if device not in self.takes:
            try:
                os.preadv(descriptor, [bytearray(1)], 0, RWF_DONTCACHE)
                self.takes[device] = True
            except OSError as error:
                if error.errno in (errno.EOPNOTSUPP, errno.EINVAL):  # else the disk fails: try with the next file
                    self.takes[device] = False

    def opened_at_once(self, descriptor: int, device: int, keep: bool) -> bool:
        """Like `opened`, for a thread that must not wait. False if that would take a read."""
        if not keep:
            self.read_ahead(descriptor, device, straight=False)
        return device in self.takes

    def read_ahead(self, descriptor: int, device: int, *, straight: bool) -> None:
        """Let the kernel read ahead from now on, or not. If pages have to be dropped, it never may: nobody could
        distinguish pages that were read ahead from those that were there."""
        straight = straight and self.takes.get(device, True)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_NORMAL if straight else os.POSIX_FADV_RANDOM)

    def flags_at_once(self, device: int, size: int, keep: bool) -> int | None:
        """The flags of a read that does not wait and, without `keep`, leaves no page behind. None if it would."""
        if self.takes.get(device, True):
            return 0 if keep else RWF_DONTCACHE
        return 0 if keep or size < LONG_READ else None

    def read_blocking(
        self, descriptor: int, buffer: memoryview, position: int, *, keep: bool, passing: bool = False
    ) -> int:
        """Fill the buffer from `position`. Return how many bytes came, fewer at the end of the file. May wait.

        `passing`: a short read between long ones, which is treated like them.
        """
        size = len(buffer)
        if keep or (size < LONG_READ and not passing):
            return _fill(descriptor, buffer, position)
        if self.takes.get(os.fstat(descriptor).st_dev, True):
            return _fill(descriptor, buffer, position, RWF_DONTCACHE)
        dropped = absent(descriptor, position, size)
        got = _fill(descriptor, buffer, position)
        for start, length in dropped:
            os.posix_fadvise(descriptor, start, length, os.POSIX_FADV_DONTNEED)
        return got


def _fill(descriptor: int, buffer: memoryview, position: int, flags: int = 0) -> int:
    got = 0
    while got < len(buffer) and (more := os.preadv(descriptor, [buffer[got:]], position + got, flags)):
        got += more
    return got


def absent(descriptor: int, position: int, size: int) -> list[tuple[int, int]]:
    """Return the stretches of the range that are not in memory: the position and size of each.

    The kernel tells only a process that owns the file or may write it. Otherwise the list is empty, and nothing is
    dropped. The mapping serves this question alone. Nobody touches it, so a file that is cut does no harm.
    """
    first = position - position % mmap.PAGESIZE
    pages = -(-(position + size - first) // mmap.PAGESIZE)
    address = libc.mmap(None, pages * mmap.PAGESIZE, _PROT_NONE, mmap.MAP_PRIVATE, descriptor, first)
    if address == _MAP_FAILED:
        return []
    resident = np.ones(pages + 2, np.uint8)
    try:
        if libc.mincore(address, pages * mmap.PAGESIZE, resident[1:].ctypes.data):
            return []
    finally:
        libc.munmap(address, pages * mmap.PAGESIZE)
    borders = np.flatnonzero(np.diff(resident & 1)) * mmap.PAGESIZE + first
    return [(start, end - start) for start, end in borders.reshape(-1, 2).tolist()]
