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
_takes: dict[int, bool] = {}
"""Devices, and whether their file system takes RWF_DONTCACHE."""


def opened(descriptor: int, device: int, keep: bool) -> None:
    """Stands before the first read of a file. `keep` (`-o cache=keep`): it is read as any reader does."""
    opened_at_once(descriptor, device, keep)
    if device not in _takes:
        try:
            os.preadv(descriptor, [bytearray(1)], 0, RWF_DONTCACHE)
            _takes[device] = True
        except OSError as error:
            if error.errno in (errno.EOPNOTSUPP, errno.EINVAL):  # else the disk's trouble; the next file will tell
                _takes[device] = False


def opened_at_once(descriptor: int, device: int, keep: bool) -> bool:
    """As `opened`, for a thread that must not wait: whether its file system is known, so that this could be done."""
    if not keep:
        read_ahead(descriptor, device, straight=False)
    return device in _takes


def read_ahead(descriptor: int, device: int, *, straight: bool) -> None:
    """Lets the kernel read ahead from now on, or not. Never where pages have to be dropped: those that were read ahead
    could not be distinguished from the pages that were there."""
    straight = straight and _takes.get(device, True)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_NORMAL if straight else os.POSIX_FADV_RANDOM)


def flags_at_once(device: int, size: int, keep: bool) -> int | None:
    """The flags for a read that does not wait, and leaves no page behind without `keep`; None where it would."""
    if _takes.get(device, True):
        return 0 if keep else RWF_DONTCACHE
    return 0 if keep or size < LONG_READ else None


def read_blocking(descriptor: int, buffer: memoryview, position: int, *, keep: bool, passing: bool = False) -> int:
    """Fills the buffer from `position`: how many bytes came, fewer at the end of the file; may wait for the disk.

    `passing`: a short read in the midst of long ones, to be treated as they are.
    """
    size = len(buffer)
    if keep or (size < LONG_READ and not passing):
        return _fill(descriptor, buffer, position)
    if _takes.get(os.fstat(descriptor).st_dev, True):
        return _fill(descriptor, buffer, position, RWF_DONTCACHE)
    absent = _absent(descriptor, position, size)
    got = _fill(descriptor, buffer, position)
    for start, length in absent:
        os.posix_fadvise(descriptor, start, length, os.POSIX_FADV_DONTNEED)
    return got


def _fill(descriptor: int, buffer: memoryview, position: int, flags: int = 0) -> int:
    got = 0
    while got < len(buffer) and (more := os.preadv(descriptor, [buffer[got:]], position + got, flags)):
        got += more
    return got


def _absent(descriptor: int, position: int, size: int) -> list[tuple[int, int]]:
    """Return the stretches of the range that are not in memory: the position and size of each.

    Empty where the kernel does not tell, as to a process that neither owns the file nor may write it: then nothing is
    dropped. The mapping is there for the question only. It is never touched, so a file that is cut does no harm.
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
