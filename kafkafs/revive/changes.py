"""Disks that change while they are read: a broker that was started, or that another machine runs on the same disk.

An answer about such disks is of several moments: a commit without the records it is about, or an end of a transaction
without its beginning. So sizes and times of all files are looked at before the first and after the last read.
"""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from kafkafs.disk.data_file import DiskOptions
from kafkafs.disk.data_paths import bucket_of, without_links
from kafkafs.disk.directory import Directory
from kafkafs.disk.objects import shown
from kafkafs.disk.roots import root_at
from kafkafs.errors import UNREADABLE, Vanished
from kafkafs.log.data_directory import open_data_directory
from kafkafs.revive.disks import refuse_running

_NAMED = 5
Seen = dict[str, bytes]
"""Each directory, and a digest of the files in it."""


@contextmanager
def unchanged(paths: Sequence[Path]) -> Iterator[Callable[[], None]]:
    """Gives what is to be called after the last read: Vanished if something changed since the block began. An error of
    the block is that one, too, if something changed: half a file is no damage then."""
    before = _seen(paths)

    def check() -> None:
        refuse_running(map(open_data_directory, paths))
        after = _seen(paths)
        changed = sorted(each for each in before.keys() | after.keys() if before.get(each) != after.get(each))
        if changed:
            more = f" and {len(changed) - _NAMED:,} more" if len(changed) > _NAMED else ""
            raise Vanished(
                f"the disks changed while they were read, in {', '.join(map(repr, changed[:_NAMED]))}{more}: stop the"
                " broker that runs on them, or take a snapshot of the disks; then the same command goes on"
            )

    try:
        yield check
    except UNREADABLE:
        check()
        raise


def _seen(paths: Sequence[Path]) -> Seen:
    found: Seen = {}
    for path in paths:
        far = shown(bucket_of(path))
        with suppress(*UNREADABLE, OSError):  # `make_plan` says that there is no such directory
            directory, waiting = root_at(without_links(path), DiskOptions()), ["."]
            while waiting:
                name = waiting.pop()
                shown_as = f"{far}/{os.path.normpath(name)}" if far else os.path.normpath(path / name)
                found[shown_as], below = _digest(directory, name)
                waiting += below
    return found


def _digest(directory: Directory, name: str) -> tuple[bytes, list[str]]:
    """Return the regular files in a directory, and the directories in it."""
    files, below = [], []
    with suppress(*UNREADABLE), directory.scan(name) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                about = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(about.st_mode):
                    files.append((entry.name, about.st_size, about.st_mtime_ns))
                elif stat.S_ISDIR(about.st_mode):
                    below.append(os.path.join(name, entry.name))
    return hashlib.sha256(repr(sorted(files)).encode()).digest(), below
