"""The place of an export: a directory of any file system that pyarrow knows, by its URI: the disk, S3, GCS, Azure.

Under its name a file is always whole: it is written beside its place and moved there. Executors get the URI. Each
process opens the file system itself, with the credentials of its own environment.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
from pyarrow import fs

from kafkafs.disk.data_paths import fault_of_name
from kafkafs.disk.objects import address_of, is_bucket, shown
from kafkafs.disk.s3_place import place_of
from kafkafs.errors import DiskError, UsageError
from kafkafs.spark.jobs import wait_for

_UNFINISHED = re.compile(r"\..*\.tmp")
_NAME_END = 100
"""Characters of a file's name that its unfinished one has: those that tell its range, and no more than fit."""

_WITHOUT_DIRECTORIES = ("s3", "gcs")
"""Stores in which a name needs no directory above it."""

_HADOOP = ("hdfs", "viewfs")
_SMALL = 256 << 20
"""Bytes of a file that is read at once: a plan of two million files has fewer."""


@dataclass(frozen=True, slots=True)
class Output:
    """A directory by its URI. Every error is one sentence, without what a URI may hold of keys and passwords.

    `mode`: of new files, where this machine's file system keeps them.
    """

    uri: str
    mode: int = 0o600

    @property
    def local(self) -> Path | None:
        """The directory on this machine's own file system, as far as it is one."""
        system, root = self._opened()
        return Path(root) if system.type_name == "local" else None

    def __str__(self) -> str:
        return str(self.local or shown(self.uri))

    @property
    def location(self) -> str:
        """The directory's address for a table's metadata: without keys and passwords, which each reader has by
        itself."""
        system, root = self._opened()
        schemes = {"local": "file", "s3": "s3", "gcs": "gs"}
        if system.type_name not in schemes or set("?#%") & set(root):
            raise UsageError(
                f"{str(self)!r} cannot be named in a table: take a path, s3:// or gs://, without ?, # and %"
            )
        return f"{schemes[system.type_name]}://{root}"

    def sizes(self) -> dict[str, int]:
        """The files in it, by their names from here, and their bytes; of those that are being written none."""
        return {name: size for name, size in self._files() if not _UNFINISHED.fullmatch(os.path.basename(name))}

    def check(self) -> None:
        """UsageError if it is a file, or cannot be asked."""
        system, root = self._opened()
        with self._errors_named("read", UsageError):
            if wait_for(lambda: system.get_file_info(root)).type == fs.FileType.File:
                raise UsageError(f"{str(self)!r} is not a directory; name a new directory for an export")

    def open(self, name: str) -> pa.NativeFile:
        """A file of it, for reading at any place."""
        system, root = self._opened()
        with self._errors_named("read", DiskError):
            return system.open_input_file(f"{root}/{name}")

    def read(self, name: str) -> bytes | None:
        """A small file's content; None if it is not there."""
        system, root = self._opened()
        with self._errors_named("read", UsageError):
            found = system.get_file_info(f"{root}/{name}")
            if found.type == fs.FileType.NotFound:
                return None
            if found.size is not None and found.size > _SMALL:
                raise UsageError(f"'{self}/{name}' has {found.size} bytes, too many to be one that an export wrote")
            try:
                with system.open_input_stream(f"{root}/{name}") as file:
                    return bytes(file.read())
            except FileNotFoundError:  # another run has removed it meanwhile
                return None

    @contextmanager
    def writing(self, name: str) -> Iterator[pa.NativeFile]:
        """A file to be written: at the end of the block it has its name, unless the block fails. DiskError."""
        system, root = self._opened()
        directory, _, last = f"{root}/{name}".rpartition("/")
        unfinished = f"{directory}/.{last[-_NAME_END:]}.{os.uname().nodename}.{os.getpid()}.tmp"
        with self._errors_named("written", DiskError):
            try:
                if system.type_name == "local":
                    self._prepare(directory, unfinished)
                elif system.type_name not in _WITHOUT_DIRECTORIES:
                    system.create_dir(directory)
                with system.open_output_stream(unfinished) as sink:
                    yield sink
                if system.type_name == "local":
                    _sync(unfinished)
                system.move(unfinished, f"{root}/{name}")
            except BaseException:
                with suppress(OSError):
                    system.delete_file(unfinished)
                raise

    def write_json(self, name: str, words: object) -> None:
        """Writes a small file, whole or not at all. DiskError."""
        with self.writing(name) as file:
            file.write(json.dumps(words).encode())

    def _prepare(self, directory: str, unfinished: str) -> None:
        """Makes the directories above a file, and the file, so that nobody else may ever open what is in it."""
        search = (self.mode & 0o444) >> 2
        for is_last in (False, False, True):
            missing = [each for each in (Path(directory), *Path(directory).parents) if not each.is_dir()]
            try:
                for each in reversed(missing):
                    with suppress(FileExistsError):  # another worker made it
                        each.mkdir(mode=self.mode | search)
                with suppress(FileNotFoundError):
                    os.unlink(unfinished)
                os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, self.mode))
                return
            except FileNotFoundError:  # another run left the directory empty, and took it away
                if is_last:
                    raise

    def times(self, prefix: str) -> dict[str, float]:
        """When the files that are in it directly and have such a name were written last [s], by the store's clock."""
        system, root = self._opened()
        with self._errors_named("read", UsageError):
            found = system.get_file_info(fs.FileSelector(root, allow_not_found=True))
            return {
                each.base_name: each.mtime_ns / 1e9
                for each in found
                if each.type == fs.FileType.File and each.base_name.startswith(prefix)
            }

    def remove(self, name: str) -> None:
        """Takes a file away, if it is there and that can be."""
        system, root = self._opened()
        with suppress(OSError):
            system.delete_file(f"{root}/{name}")

    def rename(self, name: str, new: str) -> None:
        """Gives a file another name, in place of what has that name."""
        system, root = self._opened()
        with self._errors_named("written", DiskError):
            system.move(f"{root}/{name}", f"{root}/{new}")

    @contextmanager
    def without_empty_directories(self) -> Iterator[None]:
        """Directories of this disk that the block makes for it, and leaves empty, are gone at its end."""
        place = self.local
        made = [] if place is None else [each for each in (place, *place.parents) if not each.exists()]
        try:
            yield
        finally:
            with suppress(OSError):
                for each in made:
                    each.rmdir()

    def tidy(self, takes: Callable[[str], bool] = bool) -> None:
        """Removes what an export that was killed left half written, of the files whose names are taken."""
        system, root = self._opened()
        with self._errors_named("written", DiskError):
            for name, _ in self._files():
                if _UNFINISHED.fullmatch(os.path.basename(name)) and takes(name):
                    with suppress(FileNotFoundError):
                        system.delete_file(f"{root}/{name}")

    def _files(self) -> Iterator[tuple[str, int]]:
        system, root = self._opened()
        with self._errors_named("read", UsageError):
            for each in system.get_file_info(fs.FileSelector(root, allow_not_found=True, recursive=True)):
                if each.type == fs.FileType.File:
                    yield each.path.removeprefix(root).lstrip("/"), each.size or 0

    def _opened(self) -> tuple[fs.FileSystem, str]:
        return _opened(self.uri)

    @contextmanager
    def _errors_named(self, what: str, kind: type[UsageError] | type[DiskError]) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise kind(f"{str(self)!r} cannot be {what}: {_reason(error)}") from error
        except UnicodeDecodeError as error:  # pyarrow's, of a name in a listing
            name = os.fsdecode(error.object)
            raise kind(f"{str(self)!r} has a file whose name is not UTF-8: {name!r}; move it away") from error


def output(word: str) -> Output:
    """The output that a user names: a path, or a URI. UsageError for a file system that is not known here."""
    address = address_of(word)
    if not is_bucket(address):
        if os.fsencode(address).decode(errors="replace") != address:
            raise UsageError(f"{word!r} is not UTF-8, and pyarrow opens no such path; name another directory")
        return Output(Path(address).absolute().as_uri())
    if fault := fault_of_name(address):
        raise UsageError(f"the address {shown(address)!r} {fault}")
    found = Output(address)
    found.check()
    return found


@cache
def _opened(uri: str) -> tuple[fs.FileSystem, str]:
    scheme = uri.partition(":")[0]
    if scheme in _HADOOP:
        raise UsageError(
            f"{scheme}:// is not written by export: export to a path and put it there (hdfs dfs -put), or let Spark"
            " write what it reads by spark.read.format('kafkafs') (docs/spark.md)"
        )
    try:
        place = place_of(uri) if scheme == "s3" else None
        if place is not None and place.is_elsewhere:
            system, root = fs.S3FileSystem(**place.arguments()), place.bucket
        else:
            top = uri if place is None else urlsplit(uri, allow_fragments=False)._replace(path="").geturl()
            system, root = fs.FileSystem.from_uri(top)
        if place is not None and root:
            root += f"/{place.folder}"
    except ValueError as error:
        raise UsageError(
            f"{scheme}:// is not a file system that pyarrow {pa.__version__} knows, or its address is malformed;"
            " write a path, file://, s3://, s3a://, gs:// or abfs://"
        ) from error
    except (OSError, pa.ArrowException) as error:
        raise UsageError(f"{scheme}:// cannot be reached: {_reason(error)}") from error
    if system.type_name != "local" and not root.strip("/"):
        top = "BUCKET" if system.type_name in _WITHOUT_DIRECTORIES else "HOST"
        raise UsageError(
            f"{scheme}:// names no {'bucket' if top == 'BUCKET' else 'directory'}; write {scheme}://{top}/NAME"
        )
    return system, root.rstrip("/")


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or str(error).splitlines()[0])


def _sync(place: str) -> None:
    """Through to the disk before it gets its name."""
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
