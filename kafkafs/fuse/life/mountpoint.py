"""Mount points: the refusals before a mount is made, and how a mount is found and removed.

The mount table comes from `/proc/self/mountinfo`, which never asks the mounts themselves: a stale or hung mount would
not answer.
"""

import errno
import functools
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kafkafs.disk.data_paths import bucket_of
from kafkafs.disk.system_calls import last_error, libc
from kafkafs.disk.whereabouts import is_within
from kafkafs.errors import UsageError

FILESYSTEM = "fuse.kafkafs"
ANSWER_S = 2.0  # for a daemon to answer
DISK_S = 20.0  # for a disk, which may have to be started up
MNT_DETACH = 2
UMOUNT_NOFOLLOW = 8
MOST_LINKS = 40  # as the kernel follows


@dataclass(frozen=True, slots=True)
class Mount:
    """A line of `mountinfo`: `device` is `major:minor`, its minor also the FUSE connection's number.

    `number` is the mount's own, `parent` that of the mount that it is on.
    """

    path: str
    filesystem: str
    source: str
    device: str
    number: int = 0
    parent: int = 0


def mounts() -> Iterator[Mount]:
    """All mounts this process can see; a later one is over an earlier one of the same path."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            before, _, after = line.partition(" - ")
            fields, kind = before.split(" "), after.split(" ")
            number, parent, device = int(fields[0]), int(fields[1]), fields[2]
            yield Mount(unescape(fields[4]), kind[0], unescape(kind[1]), device, number, parent)


def mounted_at(path: Path | str) -> Mount | None:
    """Return the topmost mount at exactly this place, or None."""
    wanted = real_path(path)
    found = None
    for mount in mounts():
        if mount.path == wanted:
            found = mount
    return found


def real_path(path: Path | str) -> str:
    """The path with links resolved, without asking what is at its end, which may be a mount that does not answer:
    whether it is a link, the kernel reports by itself."""
    place = os.path.abspath(path)
    for _ in range(MOST_LINKS):
        parent, name = os.path.split(place)
        place = os.path.join(os.path.realpath(parent), name)
        try:
            place = os.path.normpath(os.path.join(os.path.dirname(place), os.readlink(place)))
        except OSError:
            break
    return place


def is_stale(path: Path | str) -> bool:
    """True for a mount whose daemon is gone; one that is there but does not answer is not stale."""
    number = errno_of(lambda: os.statvfs(path), ANSWER_S)  # unlike `stat`, never answered from a cache
    return number in (errno.ENOTCONN, errno.ECONNABORTED)


def errno_of(call: Callable[[], object], limit_s: float) -> int | None:
    """How a system call ends, 0 if it succeeds; None if it does not end in time."""
    numbers: list[int] = []

    def make() -> None:
        """Makes the call, which may never come back. The thread outlives its answer by a moment: a signal that met it
        there, while `guard` has them blocked elsewhere, would end the process."""
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            call()
        except OSError as error:
            numbers.append(error.errno or errno.EIO)
        else:
            numbers.append(0)

    making = threading.Thread(target=make, daemon=True)
    making.start()
    making.join(limit_s)
    return numbers[0] if numbers else None


def check(mountpoint: Path, data_dirs: Sequence[Path]) -> None:
    """Raises UsageError, one sentence, where a mount here cannot or should not be made."""
    shown = repr(str(mountpoint))
    mount = mounted_at(mountpoint)
    if mount is not None and is_stale(mountpoint):
        raise UsageError(
            f"{shown} is a stale mount, left by a daemon that was killed; `kafkafs umount {mountpoint}` takes it away"
        )
    if mount is not None and mount.filesystem == FILESYSTEM:
        raise UsageError(
            f"{shown} is in use: {mount.source!r} is mounted there; `kafkafs umount {mountpoint}` ends that"
        )
    if mount is not None:
        raise UsageError(f"{shown} is in use: a file system of type {mount.filesystem} is mounted there")
    for data_dir in filter(lambda path: not bucket_of(path), data_dirs):
        if errno_of(functools.partial(_open, data_dir), DISK_S) is None:
            raise UsageError(
                f"the disk of {str(data_dir)!r} does not answer; leave it out, or mount again when it does"
            )
        if is_within(mountpoint, data_dir):
            raise UsageError(
                f"the mount point {shown} is inside the data directory {str(data_dir)!r}; choose one outside"
            )
        if is_within(data_dir, mountpoint):
            raise UsageError(f"the data directory {str(data_dir)!r} is inside the mount point {shown}; choose another")
    try:
        listed = os.listdir(mountpoint)
    except FileNotFoundError:
        raise UsageError(f"the mount point {shown} does not exist; make an empty directory there") from None
    except NotADirectoryError:
        raise UsageError(f"the mount point {shown} is not a directory") from None
    except OSError as error:
        raise UsageError(f"the mount point {shown} cannot be used: {error.strerror}") from None
    if listed:
        raise UsageError(f"the mount point {shown} is not empty; name an empty directory, after the data directories")


def _open(directory: Path) -> None:
    os.close(os.open(directory, os.O_RDONLY | os.O_DIRECTORY))


def unmount(path: Path | str, lazily: bool = False) -> None:
    """Takes the topmost mount away; `lazily` even from processes that use it. Raises OSError."""
    target = real_path(path)
    if os.geteuid() == 0:
        flags = UMOUNT_NOFOLLOW | (MNT_DETACH if lazily else 0)
        if libc.umount2(os.fsencode(target), flags) != 0:
            raise last_error(target)
        return
    command = ["fusermount3", "-u", *(["-z"] if lazily else []), "--", target]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    if done.returncode != 0:
        number = errno.EBUSY if "busy" in done.stderr else errno.EPERM
        reason = done.stderr.strip() or os.strerror(number)
        if "not found in /etc/mtab" in reason:  # among those of who asks
            reason = "another user has mounted it, and only he or root may"
        raise OSError(number, reason, target)


def unmount_if_dead(path: Path | str) -> bool:
    """Unmounts our own mount if its daemon is gone; True if there was one."""
    mount = mounted_at(path)
    if mount is None or mount.filesystem != FILESYSTEM or not is_stale(path):
        return False
    unmount(path, lazily=True)
    return True


def unescape(field: str) -> str:
    r"""Octal escapes of blank, tab, line feed and backslash (`\040`)."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), field)
