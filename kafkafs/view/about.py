"""The root that is served: the partitions', and beside them `.kafkafs/`, about that which serves them.

`.kafkafs/` has the manual, and what is handed in: `fuse` has status and metrics to tell, `kafkafs ls` has neither. Its
files are made anew for each open.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence

from kafkafs.errors import NotFound
from kafkafs.view import manual
from kafkafs.view.contents import TextContent
from kafkafs.view.node import Attributes, DirectoryNode, Disk, Entry, Kind, Node, NoXattrs, Tree

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


class TextFile(NoXattrs):
    """A file whose bytes are made anew for each open; like one of `/proc` it claims no size."""

    def __init__(self, make: Callable[[], bytes]) -> None:
        self._make = make

    def attributes(self) -> Attributes:
        return _attributes("file", 0o444)

    def open(self) -> TextContent:
        return TextContent(self._make())


class AboutDirectory:
    """The directory `.kafkafs`: the manual as README, and files that are made by the functions handed in."""

    lane = ""

    def __init__(self, files: Mapping[str, Callable[[], bytes]]) -> None:
        self._files = {"README": lambda: manual.plain().encode(), **files}

    def attributes(self) -> Attributes:
        return _attributes("directory", 0o555)

    def child(self, name: str) -> Node:
        if name not in self._files:
            raise NotFound(f"{NAME} has no {name!r}")
        return TextFile(self._files[name])

    def entries(self) -> Sequence[Entry]:
        return [Entry(name, "file", None) for name in self._files]


class Top:
    """The root of what is served: the entries of a tree, and `.kafkafs` as the last one."""

    lane = ""

    def __init__(self, tree: Tree, about: DirectoryNode) -> None:
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
