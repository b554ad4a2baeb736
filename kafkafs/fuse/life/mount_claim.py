"""One mount at a time: a process that mounts holds the mount point, from the first check until it is mounted.

The mount table is read before the mount, and a moment later another mount may be at the same place. If two `kafkafs
mount` run at the same moment, the second would cover the first, and both would succeed. So who mounts holds a lock
(flock) on the empty directory: the other one waits, and then finds the place in use. A mount of another kind asks for
no lock; but the kernel shows afterwards which directory the new mount covers, and if that is not the directory that was
locked, it goes again.
"""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

from kafkafs.errors import UsageError
from kafkafs.fuse.life.mountpoint import FILESYSTEM, mounted_at, mounts, real_path, unmount

LONGEST_S = 60.0  # that another one takes to mount: a disk may have to be started up
_AGAIN_S = 0.05


class MountClaim:
    """A mount point that nobody else mounts at. `release` when mounted, or with the last of the processes."""

    def __init__(self, mountpoint: Path, longest_s: float = LONGEST_S) -> None:
        """Wait for others that mount there. If the place cannot be a mount point, `mountpoint.check` says why."""
        self._place = real_path(mountpoint)
        self._descriptor = -1
        if mounted_at(self._place) is None:  # a mount must not be asked: it may not answer
            with suppress(OSError):
                self._descriptor = os.open(self._place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if self._descriptor >= 0:
            self._lock(longest_s)

    def _lock(self, longest_s: float) -> None:
        deadline = time.monotonic() + longest_s
        while True:
            try:
                return fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise UsageError(f"another kafkafs has been mounting at {self._place!r} for a minute") from None
            except OSError:
                return None  # a file system without locks
            time.sleep(_AGAIN_S)

    def confirm(self) -> None:
        """The mount has been made: UsageError, and it is gone again, where it does not be on what was locked."""
        own = mounted_at(self._place)
        if own is None or own.filesystem != FILESYSTEM or self._descriptor < 0 or own.parent == self._mount_id_below():
            return
        below = next((mount for mount in mounts() if mount.number == own.parent), None)
        unmount(self._place, lazily=True)
        kind = f"of type {below.filesystem} " if below else ""
        raise UsageError(f"{self._place!r} is in use: a file system {kind}was mounted there at the same moment")

    def _mount_id_below(self) -> int:
        """The number of the mount that the locked directory is in."""
        about = Path(f"/proc/self/fdinfo/{self._descriptor}").read_text()
        return int(about.partition("mnt_id:")[2].split()[0])

    def release(self) -> None:
        """Release the claim, in this process and in those that inherited it: others may look now, and find a mount."""
        if self._descriptor >= 0:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            os.close(self._descriptor)
            self._descriptor = -1
