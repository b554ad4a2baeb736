"""The place of an export: a directory of any file system that pyarrow knows, by its URI: the disk, S3, GCS, Azure.

Under its name a file is always whole: it is written beside its place and moved there. Executors get the URI. Each
process opens the file system itself, with the credentials of its own environment.

One export writes there at a time: who does has a file there, the claim, that names process and host. It is made before
the plan is read. A run that then finds another living claim takes its own away again, waits for a moment, and asks once
more. Two runs that meet both give way, and neither ever goes on beside the other. That takes no more of a file system
than that a file which is written shows in the next listing, which object stores promise, too.

The claim of a dead process is taken over: on this machine the kernel knows if the process lives. For a claim of another
machine or container, only one thing is known: a living process writes its claim again and again. An export that was
stopped for so long that another took its place finds its claim gone, and goes no further.
"""

import json
import os
import random
import re
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyarrow import fs

from kafkafs.disk.objects import address_of, is_bucket, shown
from kafkafs.errors import DiskError, KafkafsError, UsageError
from kafkafs.spark.jobs import awaited

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
        """Its address for a table's metadata: without keys and passwords, which each reader has by itself."""
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
        """UsageError where it is a file, or cannot be asked."""
        system, root = self._opened()
        with self._told("read", UsageError):
            if awaited(lambda: system.get_file_info(root)).type == fs.FileType.File:
                raise UsageError(f"{str(self)!r} is not a directory; name a new directory for an export")

    def open(self, name: str) -> pa.NativeFile:
        """A file of it, for reading at any place."""
        system, root = self._opened()
        with self._told("read", DiskError):
            return system.open_input_file(f"{root}/{name}")

    def read(self, name: str) -> bytes | None:
        """A small file's content; None where it is not there."""
        system, root = self._opened()
        with self._told("read", UsageError):
            found = system.get_file_info(f"{root}/{name}")
            if found.type == fs.FileType.NotFound:
                return None
            if found.size is not None and found.size > _SMALL:
                raise UsageError(f"'{self}/{name}' has {found.size} bytes, too many to be one that an export wrote")
            with system.open_input_stream(f"{root}/{name}") as file:
                return bytes(file.read())

    @contextmanager
    def writing(self, name: str) -> Iterator[pa.NativeFile]:
        """A file to be written: at the end of the block it has its name, unless the block fails. DiskError."""
        system, root = self._opened()
        directory, _, last = f"{root}/{name}".rpartition("/")
        unfinished = f"{directory}/.{last[-_NAME_END:]}.{os.uname().nodename}.{os.getpid()}.tmp"
        with self._told("written", DiskError):
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

    def _prepare(self, directory: str, unfinished: str) -> None:
        """Makes the directories above a file, and the file, so that nobody else may ever open what is in it."""
        search = (self.mode & 0o444) >> 2
        missing = [each for each in (Path(directory), *Path(directory).parents) if not each.is_dir()]
        for each in reversed(missing):
            with suppress(FileExistsError):  # of another worker
                each.mkdir(mode=self.mode | search)
        with suppress(FileNotFoundError):
            os.unlink(unfinished)
        os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, self.mode))

    def times(self, prefix: str) -> dict[str, float]:
        """When the files that stand in it directly and have such a name were written last [s], by the store's clock."""
        system, root = self._opened()
        with self._told("read", UsageError):
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
        with self._told("written", DiskError):
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

    def tidy(self) -> None:
        """Removes what an export that was killed left half written."""
        system, root = self._opened()
        with self._told("written", DiskError):
            for name, _ in self._files():
                if _UNFINISHED.fullmatch(os.path.basename(name)):
                    with suppress(FileNotFoundError):
                        system.delete_file(f"{root}/{name}")

    def _files(self) -> Iterator[tuple[str, int]]:
        system, root = self._opened()
        with self._told("read", UsageError):
            found = system.get_file_info(fs.FileSelector(root, allow_not_found=True, recursive=True))
        for each in found:
            if each.type == fs.FileType.File:
                yield each.path.removeprefix(root).lstrip("/"), each.size or 0

    def _opened(self) -> tuple[fs.FileSystem, str]:
        return _opened(self.uri)

    @contextmanager
    def _told(self, what: str, kind: type[UsageError] | type[DiskError]) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise kind(f"{str(self)!r} cannot be {what}: {_reason(error)}") from error


def output(word: str) -> Output:
    """The output that a user names: a path, or a URI. UsageError for a file system that is not known here."""
    address = address_of(word)
    if not is_bucket(address):
        return Output(Path(address).absolute().as_uri())
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
        system, root = fs.FileSystem.from_uri(uri)
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


CLAIM = "_kafkafs_export.claim-"
"""How the names of claims begin."""

_RENEWED_S, _EXPIRED_S = 15.0, 120.0
_renewing = threading.Lock()
"""Held while a claim is renewed and while a process is forked: a fork must not copy a lock that Arrow holds."""
os.register_at_fork(before=_renewing.acquire, after_in_parent=_renewing.release, after_in_child=_renewing.release)
_ATTEMPTS, _PAUSE_S = 5, 0.4


class Claimant(NamedTuple):
    """A process as a claim tells of it. The identity of the `machine`: the boot, and the name space of its process
    ids."""

    host: str
    pid: int
    machine: str
    started: int  # in clock ticks since the boot
    since: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}, since {self.since}"


class OutputClaim:
    """This process's place as the one that writes; `check` before whatever another would write, too."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self.name = f"{CLAIM}{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._told = json.dumps(_myself()._asdict()).encode()
        self._ended = threading.Event()

    def check(self) -> None:
        """DiskError where another export has taken over."""
        if self._out.read(self.name) is None:
            raise DiskError(
                f"another export took over {str(self._out)!r} while this one was stopped, or somebody removed"
                f" {self.name!r}; what it wrote stays, and the same command goes on from there"
            )

    def _write(self) -> None:
        with self._out.writing(self.name) as file:
            file.write(self._told)

    def _renew(self) -> None:
        """Until the end, as long as it is there: shows that this process lives."""
        while not self._ended.wait(_RENEWED_S):
            with _renewing, suppress(KafkafsError):
                self.check()
                self._write()

    @contextmanager
    def _held(self) -> Iterator[None]:
        renewing = threading.Thread(target=self._renew, name="kafkafs-claim", daemon=True)
        renewing.start()
        try:
            yield
        finally:
            self._ended.set()
            renewing.join()
            self._out.remove(self.name)


@contextmanager
def claimed(out: Output) -> Iterator[OutputClaim]:
    """Holds the directory for this process. UsageError where another one that lives writes there."""
    out.check()
    claim = OutputClaim(out)
    with out.without_empty_directories():
        _take(out, claim)
        with claim._held():
            yield claim


def _take(out: Output, claim: OutputClaim) -> None:
    for attempt in range(_ATTEMPTS):
        claim._write()
        try:
            other = _other(out, claim.name)
        except BaseException:
            out.remove(claim.name)
            raise
        if other is None:
            return
        out.remove(claim.name)
        time.sleep(random.uniform(0.1, _PAUSE_S) * (attempt + 1 < _ATTEMPTS))
    raise UsageError(f"another export writes to {str(out)!r}: {other}; wait for its end, or name another directory")


def _other(out: Output, own: str) -> str | None:
    """Return who else has a claim there, in words. The claim of a dead process is taken away."""
    times = out.times(CLAIM)
    now = times.pop(own, None)
    if now is None:
        return "it has removed this one's claim"
    for name, modified in sorted(times.items()):
        told = out.read(name)
        if told is None:
            continue  # it has ended meanwhile
        claimant = _claimant(told)
        lives = _lives(claimant)
        if lives or (lives is None and now - modified < _EXPIRED_S):
            return f"its claim is {name!r}" if claimant is None else str(claimant)
        out.remove(name)
    return None


def _claimant(told: bytes) -> Claimant | None:
    try:
        return Claimant(**json.loads(told))
    except (ValueError, TypeError):
        return None


def _myself() -> Claimant:
    since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Claimant(socket.gethostname(), os.getpid(), _machine(), _started(os.getpid()) or 0, since)


def _lives(claimant: Claimant | None) -> bool | None:
    """True if it lives. None if it is another machine's."""
    if claimant is None or claimant.machine != _machine():
        return None
    return _started(claimant.pid) == claimant.started


def _machine() -> str:
    with open("/proc/sys/kernel/random/boot_id") as file:
        return f"{file.read().strip()}-{os.readlink('/proc/self/ns/pid')}"


def _started(pid: int) -> int | None:
    """When a process began; None where there is none, or it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return int(fields[19]) if fields[0] != b"Z" else None
