"""`.kafkafs/` at the root of a mount: what it serves and how it fares, made anew for each open."""

import os
import time
from collections.abc import Callable, Mapping, Sequence

from kafkafs.errors import NotFound
from kafkafs.view.node import Attributes, Content, Directory, Disk, Entry, Kind, Node, NoXattrs, Tree

NAME = ".kafkafs"


def _attributes(kind: Kind, mode: int) -> Attributes:
    return Attributes(
        kind=kind,
        mode=mode,
        uid=os.getuid(),
        gid=os.getgid(),
        size=0,
        blocks=0,
        mtime_ns=time.time_ns(),
        nlink=2 if kind == "directory" else 1,
        timeout_s=1.0,
    )


class Text:
    """Bytes made when the file was opened; like `/proc`, the file claims no size."""

    size = None
    follows = False
    keep_cache = False

    def __init__(self, text: bytes) -> None:
        self._text = text

    def read(self, offset: int, size: int) -> bytes:
        return self._text[offset : offset + size]

    def close(self) -> None:
        pass


class TextFile(NoXattrs):
    """A file whose bytes are made anew for each open."""

    def __init__(self, make: Callable[[], bytes]) -> None:
        self._make = make

    def attributes(self) -> Attributes:
        return _attributes("file", 0o444)

    def open(self) -> Content:
        return Text(self._make())


class AboutDirectory:
    """The directory `.kafkafs` of files that are made when they are opened."""

    lane = ""

    def __init__(self, files: Mapping[str, Callable[[], bytes]]) -> None:
        self._files = files

    def attributes(self) -> Attributes:
        return _attributes("directory", 0o555)

    def child(self, name: str) -> Node:
        if name not in self._files:
            raise NotFound(f"{NAME} has no {name!r}")
        return TextFile(self._files[name])

    def entries(self) -> Sequence[Entry]:
        return [Entry(name, "file", None) for name in self._files]


class Top:
    """The root of the mount: the tree that is served, and `.kafkafs` as its last entry."""

    lane = ""

    def __init__(self, tree: Tree, about: Directory) -> None:
        self._tree = tree
        self._about = about

    def attributes(self) -> Attributes:
        return self._tree.attributes()

    def child(self, name: str) -> Node:
        return self._about if name == NAME else self._tree.child(name)

    def entries(self) -> Sequence[Entry]:
        return [*self._tree.entries(), Entry(NAME, "directory", None)]

    def disks(self) -> Sequence[Disk]:
        return self._tree.disks()
