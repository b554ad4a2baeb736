"""A small real tree to mount before and beside Kafka's: a temporary directory, with names that behave in a known way.

NAME            the file, exact size, direct I/O
NAME.stream     the file's bytes as a stream without a size
NAME.follow     the same, and a read at the end waits
NAME.kept       the file, cached by the kernel
hung/           asks a FIFO that nobody writes to: every call waits for ever, in a lane of its own
wrong/ERROR     raises that error
far/NAME        the file beside, which needs a store: it answers once there is a file `far/answers`
    many/           as many names as the file of that name has in it, each the directory above
"""

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kafkafs import errors
from kafkafs.cli.exit_codes import run_to_exit_code
from kafkafs.disk.blocking import may_ask_store, may_block
from kafkafs.fuse.life import journal
from kafkafs.fuse.life.guard import supervise
from kafkafs.fuse.life.mount_claim import MountClaim
from kafkafs.fuse.life.mounting import MountSettings, serve
from kafkafs.fuse.life.mountpoint import check
from kafkafs.view.node import Attributes, Content, Disk, Entry, Kind, Node, SpaceUsage

KINDS: Mapping[int, Kind] = {0o040000: "directory", 0o100000: "file", 0o120000: "symlink"}


def attributes_of(path: Path, size: int | None = None) -> Attributes:
    may_block()
    try:
        found = path.lstat()
    except FileNotFoundError as error:
        raise errors.NotFound(str(error)) from None
    return Attributes(
        kind=KINDS[found.st_mode & 0o170000],
        mode=found.st_mode & 0o555,
        uid=found.st_uid,
        gid=found.st_gid,
        size=found.st_size if size is None else size,
        blocks=found.st_blocks,
        mtime_ns=found.st_mtime_ns,
        timeout_s=1.0 if KINDS[found.st_mode & 0o170000] == "directory" else 0.0,
    )


class Bytes:
    def __init__(self, path: Path, view: str) -> None:
        may_block()
        self._fd = os.open(path, os.O_RDONLY | os.O_NOATIME)  # a read that moves a time may wait for the disk
        self.size = None if view in ("stream", "follow") else os.fstat(self._fd).st_size
        self.follows = view == "follow"
        about = os.fstat(self._fd)
        self.kept_as = (about.st_ino, about.st_ctime_ns) if view == "kept" else None

    def read(self, offset: int, size: int) -> bytes:
        return os.pread(self._fd, size, offset)

    def close(self) -> None:
        os.close(self._fd)


class ShelfFile:
    def __init__(self, path: Path, view: str) -> None:
        self._path = path
        self._view = view

    def attributes(self) -> Attributes:
        return attributes_of(self._path, 0 if self._view in ("stream", "follow") else None)

    def open(self) -> Content:
        return Bytes(self._path, self._view)

    def xattrs(self) -> Mapping[str, bytes]:
        return {"user.kafkafs.name": os.fsencode(self._path.name), "user.kafkafs.view": self._view.encode()}


class FarFile(ShelfFile):
    def attributes(self) -> Attributes:
        self._wait()
        return super().attributes()

    def open(self) -> Content:
        self._wait()
        return super().open()

    def _wait(self) -> None:
        may_ask_store()
        for _ in range(20):
            if (self._path.parent / "answers").exists():
                return
            time.sleep(0.01)
        raise errors.Unfinished("it is asked again")


class ShelfLink:
    def __init__(self, path: Path) -> None:
        self._path = path

    def attributes(self) -> Attributes:
        return attributes_of(self._path)

    def target(self) -> str:
        return os.readlink(self._path)


class ShelfDirectory:
    def __init__(self, path: Path) -> None:
        self._path = path

    def attributes(self) -> Attributes:
        return attributes_of(self._path)

    def child(self, name: str) -> Node:
        may_block()
        path = self._path / name
        if name == "hung":
            return Hung(path)
        if name == "wrong":
            return Wrong(path)
        if self._path.name == "far" and name.startswith("remote"):
            return FarFile(path, "plain")
        if name == "many":
            return Many(self._path, int(path.read_text()))
        stem, dot, view = name.rpartition(".")
        if dot and view in ("stream", "follow", "kept"):
            return ShelfFile(self._path / stem, view)
        if path.is_symlink():
            return ShelfLink(path)
        return ShelfDirectory(path) if path.is_dir() else ShelfFile(path, "plain")

    def entries(self) -> Sequence[Entry]:
        may_block()
        return [
            Entry(entry.name, "directory" if entry.is_dir(follow_symlinks=False) else "file")
            for entry in os.scandir(self._path)
        ]

    def disks(self) -> Sequence[Disk]:
        return [ShelfDisk()]


class ShelfDisk:
    lane = ""
    is_replaced = False
    known_usage: SpaceUsage | None = None

    def usage(self) -> SpaceUsage:
        return SpaceUsage(size=4096 * 1000, files=7)

    def sweep(self) -> None:
        pass


class Hung(ShelfDirectory):
    lane = "hung"

    def child(self, name: str) -> Node:
        may_block()
        os.close(os.open(self._path / "fifo", os.O_RDONLY))
        raise errors.NotFound(name)


class Wrong(ShelfDirectory):
    def child(self, name: str) -> Node:
        family = {kind.__name__: kind for kind in errors.ERRNO}
        if name in family and name != "WouldBlock":
            raise family[name](f"asked for {name}")
        raise MemoryError if name == "MemoryError" else ZeroDivisionError(name)


class Names(Sequence[Entry]):
    """So many names, made as they are asked for."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: Any) -> Any:
        return Entry(f"partition-{number:08d}", "directory")


class Many(ShelfDirectory):
    """A directory of `count` names, each the directory above."""

    def __init__(self, path: Path, count: int) -> None:
        super().__init__(path)
        self._entries = Names(count)

    def child(self, name: str) -> Node:
        return ShelfDirectory(self._path)

    def entries(self) -> Sequence[Entry]:
        return self._entries


def main() -> int:
    """`python -m tests.fuse.shelf DIRECTORY MOUNTPOINT`"""
    source, place = Path(sys.argv[1]), Path(sys.argv[2])
    claim = MountClaim(place)

    def serve_shelf(on_ready: Callable[[], None]) -> int:
        serve(ShelfDirectory(source), place, MountSettings([source], claim), on_ready)
        return 0

    def start() -> int:
        check(place, [source])
        journal.start()
        return supervise(place, lambda on_ready: run_to_exit_code(lambda: serve_shelf(on_ready)))

    return run_to_exit_code(start)


if __name__ == "__main__":
    sys.exit(main())
