"""Whose files these are: the user that a daemon started by root should be, to read them and little else."""

import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from kafkafs.disk.directory import Directory
from kafkafs.errors import KafkafsError
from kafkafs.log.data_directory import DataDirectory

LOOKED_AT = 4096
"""Files and directories whose owner is asked for, at most: a data directory can hold millions."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Whom the data belongs to. `alone` where that user may read all of it, as far as was looked."""

    uid: int
    gid: int
    alone: bool


def owner_of(directories: Sequence[DataDirectory]) -> Owner:
    """The owner of most of what is there."""
    found = list(islice(_attributes(directories), LOOKED_AT))
    uid = Counter(about.st_uid for about in found).most_common(1)[0][0]
    gid = Counter(about.st_gid for about in found if about.st_uid == uid).most_common(1)[0][0]
    return Owner(uid, gid, all(_may_read(about, uid, gid) for about in found))


def _attributes(directories: Sequence[DataDirectory]) -> Iterator[os.stat_result]:
    for directory in directories:
        for root in filter(None, (directory.root, directory.indexes)):
            yield root.stat()
            for name in directory.names():
                with suppress(KafkafsError):
                    yield root.stat(name)
                    yield from _files(root, name)


def _files(root: Directory, name: str) -> Iterator[os.stat_result]:
    with root.scan(name) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                if entry.is_file(follow_symlinks=False):
                    yield entry.stat(follow_symlinks=False)


def _may_read(about: os.stat_result, uid: int, gid: int) -> bool:
    bits = about.st_mode >> (6 if about.st_uid == uid else 3 if about.st_gid == gid else 0)
    wanted = 0o5 if stat.S_ISDIR(about.st_mode) else 0o4
    return bits & wanted == wanted
