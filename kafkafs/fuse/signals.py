"""Whether a process that waits inside a read has been sent a signal.

pyfuse3 ignores the kernel's INTERRUPT, so a reader that waits for new records could not even be killed. The cure: look
into `/proc/PID/status` while it waits. A signal that is pending and not blocked, and one that the process ignores never
becomes pending, wants the reader back: its read is answered with EINTR.

The process that opened the file is known; the one that reads may be its child (`exec 3<file; cat <&3`), or its opener
may be gone. `holders` finds whoever has the file open.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import suppress


def interrupted(pid: int) -> bool | None:
    """True where an unblocked signal waits for the process or thread; None where there is no such process."""
    try:
        fd = os.open(f"/proc/{pid}/status", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        return None if error.errno in (errno.ENOENT, errno.ESRCH) else False  # short of descriptors, nobody knows
    try:
        status = os.read(fd, 4096)
    except OSError:
        return None
    finally:
        os.close(fd)
    at = status.find(b"\nSigPnd:")
    if at < 0:
        return None
    lines = status[at + 1 : at + 120].split(b"\n")  # SigPnd, ShdPnd, SigBlk: 16 hex digits each
    own, shared, blocked = (int(line[7:], 16) for line in lines[:3])
    return (own | shared) & ~blocked != 0


def holders(paths: set[bytes]) -> dict[bytes, set[int]]:
    """Which processes have these files of the mount open, by path relative to the mount point.

    One walk over `/proc/*/fd`, where reading a link asks nothing of the mount. A process that may not be looked into is
    passed over.
    """
    found: dict[bytes, set[int]] = {path: set() for path in paths}
    names = {path.rpartition(b"/")[2] for path in paths}
    for pid in filter(bytes.isdigit, os.listdir(b"/proc")):
        for link in _open_files(b"/proc/%b/fd" % pid):
            if link.rpartition(b"/")[2] in names:
                for path in paths:
                    if link.endswith(b"/" + path):
                        found[path].add(int(pid))
    return found


def _open_files(directory: bytes) -> Iterator[bytes]:
    try:
        for fd in os.listdir(directory):
            with suppress(FileNotFoundError):
                yield os.readlink(directory + b"/" + fd)
    except OSError:
        return
