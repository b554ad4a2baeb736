"""The root that is served: the partitions', and beside them `.kafkafs/`, about that which serves them.

`.kafkafs/` has the manual, and what is handed in: `fuse` has status and metrics to tell, `kafkafs ls` has neither. Its
files are made again for each open.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence

from kafkafs.errors import NotFound
from kafkafs.log.read_options import ReadOptions
from kafkafs.view import manual
from kafkafs.view.made import MadeFile, MadeTexts
from kafkafs.view.node import Attributes, DirectoryNode, Disk, Entry, Kind, Node, Tree

NAME = ".kafkafs"

_EXACT = ReadOptions().exact


def _attributes(kind: Kind, mode: int, timeout_s: float) -> Attributes:
    return Attributes(kind, mode, os.getuid(), os.getgid(), 0, time.time_ns(), timeout_s)


class TextFile(MadeFile):
    """A file whose bytes are made again for each lookup."""

    def __init__(self, make: Callable[[], bytes], texts: MadeTexts) -> None:
        self._texts = texts
        self._bytes_now = make

    def _make(self) -> bytes:
        return self._bytes_now()

    def _about(self) -> Attributes:
        """Readable for all, owned by the serving user, changed just now."""
        return _attributes("file", 0o444, 0.0)


class AboutDirectory:
    """The directory `.kafkafs`: the manual as README, and files that are made by the functions handed in."""

    lane = ""

    def __init__(self, files: Mapping[str, Callable[[], bytes]], exact: int = _EXACT) -> None:
        """`exact`: bytes up to which a file has a size."""
        self._texts = MadeTexts(exact)
        self._files = {"README": lambda: manual.plain().encode(), **files}

    def attributes(self) -> Attributes:
        """Open to all, owned by the serving user, changed just now."""
        return _attributes("directory", 0o555, 1.0)

    def child(self, name: str) -> Node:
        """`README` or one of the files handed in; NotFound for any other name."""
        if name not in self._files:
            raise NotFound(f"{NAME} has no {name!r}")
        return TextFile(self._files[name], self._texts)

    def entries(self) -> Sequence[Entry]:
        """All entries, README first."""
        return [Entry(name, "file") for name in self._files]


class Top:
    """The root of what is served: the entries of a tree, and `.kafkafs` as the last one."""

    lane = ""

    def __init__(self, tree: Tree, about: DirectoryNode) -> None:
        self._tree = tree
        self._about = about

    def attributes(self) -> Attributes:
        """The attributes of the tree's root."""
        return self._tree.attributes()

    def child(self, name: str) -> Node:
        """`.kafkafs` here, whatever disks do; any other name is the tree's to know."""
        return self._about if name == NAME else self._tree.child(name)

    def entries(self) -> Sequence[Entry]:
        """The entries of the tree, and `.kafkafs` behind them."""
        return [*self._tree.entries(), Entry(NAME, "directory")]

    def disks(self) -> Sequence[Disk]:
        """The disks of the tree: the content of `.kafkafs` is on no disk."""
        return self._tree.disks()
