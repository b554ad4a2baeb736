"""Reading without leaving a trace in the page cache, which belongs to the broker.

A long read asks for RWF_DONTCACHE (Linux 6.14, ext4 and xfs): pages that it had to bring in are dropped behind it,
pages that were there stay. Where the file system refuses, `cachestat` tells before a read which parts are absent, and
those are dropped after it. Short reads, index pages and headers, are left to the kernel.
"""

import ctypes
import errno
import os

RWF_DONTCACHE = 0x80
_LONG_READ = 64 << 10
_STEP = 128 << 10
_SYS_CACHESTAT = 451
_libc = ctypes.CDLL(None, use_errno=True)
_refusing: set[int] = set()
"""Devices whose file system has refused RWF_DONTCACHE."""

_keep = False


def keep_pages(keep: bool) -> None:
    """`-o cache=keep`: read as anyone does, for those who want the kernel's cache."""
    global _keep
    _keep = keep


def read_flags(device: int) -> int:
    """The flags with which a read of a file on that device leaves no page behind."""
    return 0 if _keep or device in _refusing else RWF_DONTCACHE


def read_patiently(descriptor: int, buffer: memoryview, position: int, *, passing: bool = False) -> int:
    """Fill the buffer from `position`: how many bytes came, fewer at the end of the file; may wait for the disk.

    `passing`: a short read in the midst of long ones, to be treated as they are.
    """
    size = len(buffer)
    if _keep or (size < _LONG_READ and not passing):
        return _fill(descriptor, buffer, position)
    if read_flags(_device(descriptor)):
        try:
            return _fill(descriptor, buffer, position, RWF_DONTCACHE)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                raise
            _refusing.add(_device(descriptor))
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)  # what is read ahead could not be told from what was there
    absent = [step for step in _steps(position, size) if not _resident(descriptor, *step)]
    got = _fill(descriptor, buffer, position)
    for start, length in absent:
        os.posix_fadvise(descriptor, start, length, os.POSIX_FADV_DONTNEED)
    return got


def _fill(descriptor: int, buffer: memoryview, position: int, flags: int = 0) -> int:
    got = 0
    while got < len(buffer) and (more := os.preadv(descriptor, [buffer[got:]], position + got, flags)):
        got += more
    return got


def _steps(position: int, size: int) -> list[tuple[int, int]]:
    first = position - position % _STEP
    return [(start, _STEP) for start in range(first, position + size, _STEP)]


class _Range(ctypes.Structure):
    _fields_ = (("offset", ctypes.c_uint64), ("length", ctypes.c_uint64))


class _Counts(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_uint64) for name in ("cached", "dirty", "writeback", "evicted", "recently_evicted")
    )


def _resident(descriptor: int, start: int, length: int) -> bool:
    """Whether any page of the range is in memory; True where the kernel cannot tell, so that nothing is dropped."""
    where, counts = _Range(start, length), _Counts()
    failed = _libc.syscall(_SYS_CACHESTAT, descriptor, ctypes.byref(where), ctypes.byref(counts), 0)
    return bool(failed) or counts.cached > 0


def _device(descriptor: int) -> int:
    return os.fstat(descriptor).st_dev
