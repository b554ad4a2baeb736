"""`mount.kafkafs` where mount(8) looks for it."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from tests.mounting import KAFKAFS

HELPER = Path("/sbin/mount.kafkafs")


@contextmanager
def helper_in_sbin() -> Iterator[Path]:
    """Linked into /sbin, and what was there before put back; test runs that want it, too, wait."""
    with FileLock(Path(tempfile.gettempdir()) / "kafkafs-tests-sbin.lock"):
        yield from _linked()


def _linked() -> Iterator[Path]:
    before = os.readlink(HELPER) if HELPER.is_symlink() else None
    HELPER.unlink(missing_ok=True)
    HELPER.symlink_to(KAFKAFS.with_name("mount.kafkafs"))
    try:
        yield HELPER
    finally:
        HELPER.unlink()
        if before:
            HELPER.symlink_to(before)
