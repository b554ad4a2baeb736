"""`kafkafs umount MOUNTPOINT`: ends a mount, a stale one too.

If the mount is busy, reads that wait for new records are the usual reason. Nothing can be lost by ending them: the
daemon gets a request to end, as by SIGTERM, and removes its mount.
"""

import argparse
import errno
import json
import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

from kafkafs.errors import DiskError, UsageError
from kafkafs.fuse.life.mountpoint import ANSWER_S, FILESYSTEM, is_stale, mounted_at, unmount

END_S = 5.0  # for the daemon to end


def run(arguments: argparse.Namespace) -> int:
    """Unmount, even if processes use the mount. Raise UsageError if it is no kafkafs mount."""
    place: Path = arguments.mountpoint.absolute()
    mount = mounted_at(place)
    if mount is None or mount.filesystem != FILESYSTEM:
        raise UsageError(f"no kafkafs is mounted at {str(place)!r}")
    try:
        unmount(place, lazily=is_stale(place))
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise UsageError(f"{str(place)!r} cannot be unmounted: {error.strerror}") from None
        _end_daemon(place)
    return 0


def _end_daemon(place: Path) -> None:
    """Let the daemon unmount, even if processes use the mount. Without a daemon, unmount lazily."""
    before = mounted_at(place)
    pid = _daemon_pid(place)
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + END_S
        while time.monotonic() < deadline:
            if mounted_at(place) != before:
                return
            time.sleep(0.02)
    try:
        unmount(place, lazily=True)
    except OSError as error:
        raise DiskError(f"{str(place)!r} cannot be unmounted: {error.strerror}") from None


def _daemon_pid(place: Path) -> int | None:
    """Ask the daemon for its process id; None if it does not answer."""
    pids: list[int] = []

    def ask() -> None:
        """Reads it from the mount; notes nothing if that gives none."""
        with suppress(OSError, ValueError, KeyError):
            pids.append(int(json.loads((place / ".kafkafs/status.json").read_bytes())["pid"]))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(ANSWER_S)
    return pids[0] if pids else None
