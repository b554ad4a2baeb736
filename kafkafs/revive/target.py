"""A directory below which files are made: under single names, never through a link, its owner's alone."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kafkafs.errors import DiskError

TMP = ".tmp"
"""The end of a name until its file is whole."""

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


class Target:
    """A directory below which files are made. Names are single ones; OSError becomes DiskError."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor

    def write(self, name: str, content: bytes, *, through: bool = False) -> None:
        """A new file, or one in place of an old one. `through`: it is on the disk when this returns."""
        unfinished = f"{name}{TMP}"
        self.remove(unfinished)
        self.make(unfinished, content, through=through)
        self.rename(unfinished, name)
        with errors_named(self.path, name):
            if through:
                os.fsync(self.descriptor)

    def make(self, name: str, content: bytes, *, through: bool = False) -> None:
        """A file that was not there."""
        with self.new_file(name) as descriptor:
            written = os.write(descriptor, content)
            while written < len(content):
                written += os.write(descriptor, memoryview(content)[written:])
            if through:
                os.fsync(descriptor)

    @contextmanager
    def new_file(self, name: str) -> Iterator[int]:
        """The descriptor of a file that was not there, open inside the `with`."""
        descriptor = self.create(name)
        try:
            with errors_named(self.path, name):
                yield descriptor
        finally:
            os.close(descriptor)

    def create(self, name: str) -> int:
        """The descriptor of a file that was not there. The caller closes it."""
        with errors_named(self.path, name):
            return os.open(name, _NEW_FILE, 0o600, dir_fd=self.descriptor)

    @contextmanager
    def below(self, name: str) -> Iterator["Target"]:
        """The directory of that name, made if it is not there."""
        with errors_named(self.path, name):
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=self.descriptor)
            descriptor = os.open(name, DIRECTORY, dir_fd=self.descriptor)
        try:
            yield Target(self.path / name, descriptor)
        finally:
            os.close(descriptor)

    def rename(self, name: str, new: str) -> None:
        """A file gets another name."""
        with errors_named(self.path, new):
            os.rename(name, new, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)

    def remove(self, name: str) -> None:
        """Takes away a file, if it is there."""
        with errors_named(self.path, name), suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.descriptor)

    def remove_directory(self, name: str) -> None:
        """Takes away a directory of files, if it is there."""
        with errors_named(self.path, name), suppress(FileNotFoundError):
            descriptor = os.open(name, DIRECTORY, dir_fd=self.descriptor)
            try:
                for each in os.listdir(descriptor):
                    os.unlink(each, dir_fd=descriptor)
            finally:
                os.close(descriptor)
            os.rmdir(name, dir_fd=self.descriptor)


@contextmanager
def errors_named(path: Path, name: str = "") -> Iterator[None]:
    """Turn the system's refusal of a path, or of a name below it, into a sentence."""
    try:
        yield
    except OSError as error:
        hint = "; free some space, and the same command goes on" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise DiskError(f"{str(path / name)!r} cannot be written: {error.strerror}{hint}") from error
