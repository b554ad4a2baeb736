"""System calls that Python has no function for, or whose answer is not as simple as its own.

Sources: openat2(2), fstatfs(2), syncfs(2), acl(5), prctl(2).
"""

import ctypes
import errno
import functools
import os
from collections import deque
from collections.abc import Callable

from kafkafs.errors import DiskError

CACHED = 0x20
"""For `openat2`, Linux 5.12: nothing is looked up on the disk."""

_SYS_OPENAT2 = 437
_PR_SET_PDEATHSIG = 1
_NO_DIRECTORY = -100  # AT_FDCWD
_RESOLVE = 0x01 | 0x04 | 0x08  # NO_XDEV, NO_SYMLINKS, BENEATH
_LOCAL = {
    0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0xF2F52010, 0x2FC12FC1, 0x794C7630,
}  # fmt: skip
"""ext4, xfs, btrfs, tmpfs, f2fs, zfs, overlayfs: they answer `fstat` and `close` from memory. NFS and FUSE may not."""

libc = ctypes.CDLL(None, use_errno=True)


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def openat2(root: int, name: str, flags: int, resolve: int = 0) -> int:
    """A descriptor of what is called `name` below the directory `root`, reached through no link. Raises OSError."""
    got: int = libc.syscall(_SYS_OPENAT2, root, os.fsencode(name), *_how(flags, resolve))
    if got >= 0:
        return got
    if ctypes.get_errno() == errno.ENOSYS and not resolve:  # Linux before 5.6, where a link in a path is followed
        return os.open(name, flags, dir_fd=root)
    raise last_error()  # under no name of ours: with one, error and frame hold each other, and the callers' files open


def open_in_memory(path: str, flags: int) -> int:
    """A descriptor of what is at an absolute path, links followed. Raises BlockingIOError if a part of the way
    is not in memory or Linux is before 5.12, and OSError for other failures."""
    got: int = libc.syscall(_SYS_OPENAT2, _NO_DIRECTORY, os.fsencode(path), *_how(flags, CACHED, 0))
    if got >= 0:
        return got
    if ctypes.get_errno() in (errno.ENOSYS, errno.EINVAL):
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    raise last_error()


@functools.cache
def _how(flags: int, resolve: int, always: int = _RESOLVE) -> tuple[object, int]:
    """An `open_how`, and its size."""
    return ctypes.byref(_OpenHow(flags, 0, always | resolve)), ctypes.sizeof(_OpenHow)


class Closing:
    """Closes a descriptor when its holder is gone. Only the holder has it.

    Python calls a `__del__` of the holder itself while weak references still lead there: a thread that took that way
    meanwhile would read from a number that is closed, or another file's by then.
    """

    __slots__ = ("_descriptor", "_remote")

    def __init__(self, descriptor: int, remote: "deque[int] | None" = None) -> None:
        """`remote`: where to leave the descriptor, if closing it may take long."""
        self._descriptor = descriptor
        self._remote = remote

    def __del__(self, close: Callable[[int], None] = os.close) -> None:  # as Python ends, `os` may be gone before
        if self._remote is None:
            close(self._descriptor)
        else:
            self._remote.append(self._descriptor)


def last_error(*path: str) -> OSError:
    """Why the last call of the C library failed, for a library that was opened with `use_errno`."""
    code = ctypes.get_errno()
    return OSError(code, os.strerror(code), *path)


def is_remote(descriptor: int) -> bool:
    """True if a file system may have to ask another host even for the attributes of an open file."""
    buffer = ctypes.create_string_buffer(256)
    if libc.fstatfs(descriptor, buffer):
        return True
    return int.from_bytes(buffer.raw[:8], "little") not in _LOCAL


def signal_at_parents_end(number: int) -> None:
    """Let the kernel send this process a signal when its parent ends; 0 for none. A change of user takes it back."""
    if libc.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0):
        raise last_error()


def sync_file_system(descriptor: int) -> None:
    """Waits until all that was written to a file system is on its disk. Raises OSError if that is not so."""
    if libc.syncfs(descriptor):
        raise last_error()


def access_list(place: int | str) -> bytes | None:
    """The access control list of what a descriptor or a path leads to, as the kernel stores it; None if there is
    none."""
    try:
        return os.getxattr(place, "system.posix_acl_access")
    except OSError as error:
        if error.errno in (errno.ENODATA, errno.EOPNOTSUPP):
            return None
        raise DiskError(f"an access control list cannot be read: {error.strerror}") from error
