"""One directory below a data directory, held open for questions about thousands of its files: none of them stays open.

A partition can have 20,000 segments. To reach each file from the data directory takes three times as long, and files
that a directory keeps would push out those that others ask for.
"""

import os
from collections.abc import Callable

from kafkafs.disk.data_file import DiskOptions
from kafkafs.disk.local_file import LocalFile, regular_file
from kafkafs.disk.system_calls import access_list
from kafkafs.errors import KafkafsError

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class Inside:
    """See the module; `Directory.inside` makes it, and holds `descriptor` open as long as it is good. For workers.

    Names have no directory in them, and no link is followed.
    """

    def __init__(self, descriptor: int, options: DiskOptions, failed: Callable[[OSError, str], KafkafsError]) -> None:
        """`failed`: what becomes of an error."""
        self._descriptor = descriptor
        self._options = options
        self._failed = failed

    def stat(self, name: str) -> os.stat_result:
        """The attributes of what is called `name` now; a link's own."""
        try:
            return os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
        except OSError as error:
            raise self._failed(error, name) from error

    def attributes(self, name: str) -> tuple[os.stat_result, bytes | None]:
        """Those of a file, and its access control list; None where it has none."""
        descriptor = self._open(name)
        try:
            return os.fstat(descriptor), access_list(descriptor)
        finally:
            os.close(descriptor)

    def open(self, name: str) -> LocalFile:
        """A file, open for as long as the caller holds it. NotFound for what is no regular file."""
        return regular_file(self._open(name), name, self._options)

    def _open(self, name: str) -> int:
        try:
            try:
                return os.open(name, _FLAGS | os.O_NOATIME, dir_fd=self._descriptor)
            except PermissionError:  # not the owner: reading may then move the access time, as any reader does
                return os.open(name, _FLAGS, dir_fd=self._descriptor)
        except OSError as error:
            raise self._failed(error, name) from error
