"""The owner of these files: the user that a daemon started by root should be, to read them and little else. And the
users that may see what is made of them.
"""

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from kafkafs.disk.access import Access, access_of, below_ancestors, common
from kafkafs.disk.ancestors import Ancestors
from kafkafs.disk.data_paths import bucket_of
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


def owner_of(directories: Sequence[DataDirectory], most: int = LOOKED_AT) -> Owner:
    """The owner of most of what is there, as far as `most` files and directories tell."""
    found = list(islice(_attributes(directories), most))
    uid = Counter(about.st_uid for about in found).most_common(1)[0][0]
    gid = Counter(about.st_gid for about in found if about.st_uid == uid).most_common(1)[0][0]
    return Owner(uid, gid, all(_may_read(about, uid, gid) for about in found))


def _attributes(directories: Sequence[DataDirectory]) -> Iterator[os.stat_result]:
    for directory in directories:
        for root in filter(None, (directory.root, directory.indexes)):
            yield root.stat()
            if bucket_of(directory.path):
                continue  # all of it belongs to the user who reads the store
            for name in directory.names_on_disk():
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


_LOG, _SHOWN, _OWN = ".log", 0o044, 0o600


def mode_of_copies(directories: Sequence[DataDirectory], takes: Callable[[str], bool]) -> int:
    """The mode of a new file of this process that holds records of these directories, of the topics that `takes` takes.

    Group and others may read it only if they may read each of the logs. Files of a remote tier have no mode.
    """
    ours = Access(os.geteuid(), os.getegid(), _OWN | _SHOWN)
    return _OWN | common([ours, *_accesses(directories, takes)]).mode & _SHOWN


def _accesses(directories: Sequence[DataDirectory], takes: Callable[[str], bool]) -> set[Access]:
    """The rights that logs and the directories above them grant: of thousands of files most have the same."""
    found: set[Access] = set()
    for directory in directories:
        root = directory.root
        top = root.attributes_at_once()[1]
        found.add(
            below_ancestors(top, [each for _, each in Ancestors(directory.path).attributes()]).for_entries_below()
        )
        for name in (name for name, parsed in directory.names().items() if takes(parsed.topic)):
            with suppress(KafkafsError), root.scan(name) as entries, root.inside(name) as inside:
                found.add(access_of(root.stat(name), None).for_entries_below())
                for entry in entries:
                    if entry.name.endswith(_LOG):
                        with suppress(KafkafsError):
                            found.add(inside.attributes(entry.name)[1])
    return found
