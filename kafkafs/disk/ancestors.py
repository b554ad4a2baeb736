"""The directories above a data directory, held open: all of them have to be searched to reach the data on disk.

A confined daemon may not be able to find them by path any more; what is open can always be asked.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from kafkafs.disk.access import Access, access_of, access_to
from kafkafs.disk.blocking import may_block
from kafkafs.disk.data_paths import bucket_of
from kafkafs.disk.system_calls import Closing
from kafkafs.errors import DiskError


class Ancestors:
    """The directories above one directory, up to the root."""

    def __init__(self, path: Path) -> None:
        self._paths = [] if bucket_of(path) else list(path.resolve().parents)
        self._descriptors = [_open(path) for path in self._paths]
        self._closing = [Closing(each) for each in self._descriptors]

    def attributes(self) -> Iterator[tuple[os.stat_result, Access]]:
        """The attributes of each as they are now, and whom it lets pass."""
        may_block()
        for path, descriptor in zip(self._paths, self._descriptors, strict=True):
            try:
                about = os.fstat(descriptor)
            except OSError as error:
                raise DiskError(f"{str(path)!r} cannot be looked at: {error.strerror}") from error
            yield about, _access(path, descriptor, about)


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError:  # it may be searched, not listed
        return os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)


def _access(path: Path, descriptor: int, about: os.stat_result) -> Access:
    for place in (descriptor, os.fspath(path)):
        with suppress(DiskError):  # a directory that may only be searched is asked by its path
            return access_to(place, about)
    return access_of(about, None)
