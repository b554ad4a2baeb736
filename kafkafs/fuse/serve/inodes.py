"""Which node stands behind a number the kernel holds. A lookup adds a reference, a forget takes them back.

Node ids are given out one after another and never used twice. The same path has the same one while the kernel
remembers it, with two exceptions: a change of kind (a file where a directory was), as the kernel demands; and a change
of size or version while somebody has the file open. The kernel knows one size an inode, whichever name or handle is
asked: so an inode that is open stays what it was opened on, and whoever comes by the name gets the next one. All of it
belongs to the trio thread.
"""

from collections.abc import Hashable
from itertools import islice
from typing import Any

import pyfuse3
import trio

from kafkafs.errors import Vanished
from kafkafs.view.node import Attributes, DirectoryNode, Growing, Kind, Node, Passing

MOST_LEAVES = 32_768
"""Files and links that the kernel may know; by itself it would forget none before memory is short, theirs and ours."""

_POSITIVE = (1 << 63) - 1
_MOST_PASSING = 32 << 20
"""Bytes that are read of an inode before its pages are dropped, though it is open; and of all before that is due."""


def inode_number(parent: int, name: bytes) -> int:
    """The number `stat` and `ls -i` show for a path; never 0, stable while the mount stands."""
    return hash((parent, name)) & _POSITIVE | 2


class Inode:
    """One path that the kernel knows. `number` is shown to people, `node_id` is the kernel's handle."""

    __slots__ = (
        "growing", "kept_as", "kind", "lane", "lookups", "name", "node", "node_id", "number", "opened", "parent",
        "read_since", "told",
    )  # fmt: skip

    def __init__(
        self,
        node_id: int,
        number: int,
        parent: "Inode | None",
        name: bytes,
        kind: Kind,
        node: Node,
        told: Attributes | None = None,
    ) -> None:
        self.node_id = node_id
        self.number = number
        self.parent = parent
        self.name = name
        self.kind = kind
        self.node: Any = node  # a DirectoryNode, FileNode or LinkNode, as `kind` says
        self.lane: str = parent.lane if parent and parent.lane else getattr(node, "lane", "")
        self.lookups = 0
        self.opened = 0  # handles
        self.kept_as: Hashable = None  # of which content the kernel may have pages: see `operations.open`
        self.growing: tuple[Growing, ...] = ()  # of those, what grows with the log
        self.told = told  # what the kernel was told last; None of the root
        self.read_since = 0  # bytes, since its pages were dropped

    def may_become(self, about: Attributes) -> bool:
        """Whether the kernel may be told these attributes of it now."""
        told = self.told
        return not self.opened or told is None or (told.size, told.version) == (about.size, about.version)


class Inodes:
    """All that the kernel holds a reference to; the root stays for good."""

    def __init__(self, root: DirectoryNode) -> None:
        top = Inode(pyfuse3.ROOT_INODE, pyfuse3.ROOT_INODE, None, b"", "directory", root)
        self._by_id = {top.node_id: top}
        self._by_path: dict[tuple[int, bytes, Kind], Inode] = {}
        self._leaves: dict[int, Inode] = {}  # all but directories, the oldest first
        self._passed: dict[int, None] = {}
        self._passed_bytes = 0
        self.many_passed = trio.Event()
        self._last_id = top.node_id

    def __len__(self) -> int:
        return len(self._by_id)

    def __getitem__(self, node_id: int) -> Inode:
        """Raises Vanished for what the kernel was never given."""
        try:
            return self._by_id[node_id]
        except KeyError:
            raise Vanished(f"no inode {node_id}") from None

    def refer(self, parent: Inode, name: bytes, about: Attributes, node: Node) -> Inode:
        """The inode of a path that was looked up, now answering from `node`, with one more reference."""
        kind = about.kind
        key = (parent.node_id, name, kind)
        inode = self._by_path.get(key)
        if inode is None or not inode.may_become(about):
            self._last_id += 1
            inode = Inode(self._last_id, inode_number(parent.number, name), parent, name, kind, node)
            self._by_path[key] = self._by_id[inode.node_id] = inode
            if kind != "directory":
                self._leaves[inode.node_id] = inode
        else:
            inode.node = node
        inode.told = about
        inode.lookups += 1
        return inode

    def forget(self, node_id: int, lookups: int) -> None:
        """Takes back references; without any the inode is gone."""
        inode = self._by_id.get(node_id)
        if inode is None or inode.parent is None:
            return
        inode.lookups -= lookups
        if inode.lookups <= 0:
            del self._by_id[node_id]
            self._leaves.pop(node_id, None)
            key = (inode.parent.node_id, inode.name, inode.kind)
            if self._by_path.get(key) is inode:
                del self._by_path[key]

    def superfluous(self) -> list[Inode]:
        """What the kernel should forget: the oldest leaves beyond `MOST_LEAVES`, but for those that are being read."""
        excess = max(0, len(self._leaves) - MOST_LEAVES)
        return list(islice((leaf for leaf in self._leaves.values() if not leaf.opened), excess))

    def note_read(self, inode: Inode, size: int) -> None:
        """So many bytes were read of it; 0 once it was closed."""
        if isinstance(inode.kept_as, Passing):
            inode.read_since += size
            if inode.read_since > _MOST_PASSING or not (size or inode.opened):
                self._passed[inode.node_id] = None
                self._passed_bytes += inode.read_since
                inode.read_since = 0
                if self._passed_bytes > _MOST_PASSING:
                    self.many_passed.set()

    def take_passed(self) -> list[int]:
        """The inodes whose pages the kernel should drop now: they were read, and are not read again."""
        passed, self._passed, self._passed_bytes, self.many_passed = list(self._passed), {}, 0, trio.Event()
        return passed
