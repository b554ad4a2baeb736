"""Directories of a broker, wherever they are: their names, the attributes of what is there, and their files.

`local_directory` has those of this machine, `bucket_directory` copies in a bucket. `roots` opens either kind.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager

from kafkafs.disk.access import Access
from kafkafs.disk.data_file import DataFile, DiskOptions

DEFAULT_OPTIONS = DiskOptions()


class Inside:
    """One directory below a data directory, held open for questions about thousands of its files: none of them stays
    open. `Directory.inside` makes it, and it is good as long as that says. For workers.

    A partition can have 20,000 segments. To reach each file from the data directory takes three times as long, and
    files that a directory keeps would push out those that others ask for.

    Names have no directory in them, and no link is followed.
    """

    def __init__(self, root: "Directory", folder: str) -> None:
        self._root = root
        self._folder = folder

    def stat(self, name: str) -> os.stat_result:
        """The attributes of what is called `name` now; a link's own."""
        return self._root.stat(f"{self._folder}/{name}")

    def attributes(self, name: str) -> tuple[os.stat_result, Access]:
        """The attributes of a file, and its access rights."""
        return self._root.attributes(f"{self._folder}/{name}")

    def open(self, name: str) -> DataFile:
        """A file, open for as long as the caller holds it. NotFound for what is no regular file."""
        return self._root.open_now(f"{self._folder}/{name}")

    def read(self, name: str, position: int, size: int) -> bytes:
        """Some bytes of a file, which is open for that long; fewer behind its end."""
        return self.open(name).read(position, size)


class Directory(ABC):
    """A data directory's root, held open: everything below is opened relative to it, never through a link.

    A name is a path from here; "." is the root itself.
    """

    is_far = False  # True if each read of a file is a request to a store
    options: DiskOptions

    def is_replaced(self) -> bool:
        """True if another directory is at the path by now. False if none does, or none that can be looked at.

        A non-blocking thread gets WouldBlock if the kernel has not got the way there in memory.
        """
        return False

    @abstractmethod
    def open(self, name: str, inode: int) -> DataFile:
        """The file `name` if it still is the one with this inode, else Vanished: list again.

        Questions about open files are answered at once. A non-blocking thread gets WouldBlock for a look at the disk.
        """

    @abstractmethod
    def open_now(self, name: str) -> DataFile:
        """The file that is called `name` now, not kept for others."""

    @abstractmethod
    def inside(self, name: str) -> AbstractContextManager[Inside]:
        """A directory below, for questions about many of its files, good inside the `with`; NotFound."""

    @abstractmethod
    def scan(self, name: str = ".") -> AbstractContextManager[Iterator[os.DirEntry[str]]]:
        """The entries of a directory below, unsorted, good inside the `with`."""

    @abstractmethod
    def stat(self, name: str = ".") -> os.stat_result:
        """The attributes of what is called `name` now; a link's own.

        A non-blocking thread has an answer too, if what is called that is known in memory.
        """

    @abstractmethod
    def attributes_at_once(self, name: str = ".") -> tuple[os.stat_result, Access]:
        """The attributes of a directory below, and whom it lets in: one look for both.

        A non-blocking thread has an answer too, if that directory is known in memory.
        """

    @abstractmethod
    def sweep(self) -> None:
        """Let go of what is not in use, or was deleted. A mount calls it a few times a second."""

    def forget_cached(self) -> None:  # noqa: B027 (a file that is elsewhere takes no descriptor)
        """Close the files that are kept open for others."""

    def may_hold_more(self) -> bool:
        """True if handles may hold more files open for as long as they live."""
        return True

    def attributes(self, name: str) -> tuple[os.stat_result, Access]:
        """The attributes of the file that is called `name` now, and who may read it."""
        file = self.open_now(name)
        about = file.stat()
        return about, file.access(about)

    def read_whole(self, name: str, limit: int = 16 << 20) -> bytes:
        """A small file's bytes, the first `limit` of a larger one's; NotFound if it does not exist."""
        opened = self.open_now(name)
        return opened.read(0, min(opened.size, limit))
