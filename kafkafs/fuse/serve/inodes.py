"""The kernel's numbers: inodes, and the open files of each inode.

A lookup adds a reference to an inode, a forget takes them back. Node ids are given out one after another and never used
twice. The same path has the same one while the kernel remembers it, with three exceptions: a change of kind (a file
where a directory was), as the kernel demands; a change of size or version while somebody has the file open; and a
change of a size that the kernel keeps. It knows one size an inode, whichever name or handle is asked: so an inode that
is open stays what it was opened on, and a later lookup of the name gets the next one. All of it belongs to the trio
thread.

The life of a handle: `open` makes the content and an `OpenFile` around it, on the trio thread or in a worker; reads use
it on the trio thread, where they need not wait, and in workers, several at a time; `release` comes when the last
descriptor is closed, and may find a read still running in a worker, whose caller was given an error when it took too
long. So the content counts its users: it is closed once, by `release` or by the last read that ends behind it, and a
read that begins later is Vanished. An open that is not waited for any more is closed by the worker pool (`unclaimed`).

`Inode.growing` has what is open of it and grows with the log, for `tail -f`: see `operations.getattr`.
"""

import threading
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from itertools import islice
from typing import Any, Generic, ParamSpec, TypeVar, cast

import pyfuse3
import trio

from kafkafs.errors import Vanished
from kafkafs.fuse.serve.signals import opener
from kafkafs.view.node import (
    Attributes,
    Content,
    DirectoryNode,
    Entry,
    Growing,
    Kind,
    Node,
    PagesWhileOpen,
    Prefetching,
)

P = ParamSpec("P")
T = TypeVar("T")
MOST_LEAVES = 32_768
"""Files and links that the kernel may know; by itself it would forget none before memory is short, theirs and ours."""

_POSITIVE = (1 << 63) - 1
_MOST_PASSING = 32 << 20
"""Bytes that are read of an inode before its pages are dropped, though it is open; and of all before that is due."""


def inode_number(parent: int, name: bytes) -> int:
    """The number `stat` and `ls -i` show for a path; never 0, stable while the mount exists."""
    return hash((parent, name)) & _POSITIVE | 2


class Inode:
    """One path that the kernel knows. `number` is shown to people, `node_id` is the kernel's handle."""

    __slots__ = (
        "growing", "kept_as", "kind", "lane", "lookups", "name", "node", "node_id", "number", "opened", "parent",
        "read_since", "shown",
    )  # fmt: skip

    def __init__(self, node_id: int, number: int, parent: "Inode | None", name: bytes, kind: Kind, node: Node) -> None:
        self.node_id = node_id
        self.number = number
        self.parent = parent
        self.name = name
        self.kind = kind
        self.node: Any = node  # a DirectoryNode, FileNode or LinkNode, as `kind` says
        self.lane: str = parent.lane if parent and parent.lane else getattr(node, "lane", "")
        self.lookups = 0
        self.opened = 0  # handles
        self.kept_as: Hashable = None  # the content whose pages the kernel may have: see `operations.open`
        self.growing: tuple[OpenFile, ...] = ()  # the open files that grow with the log
        self.shown: Attributes | None = None  # the attributes that the kernel got last; None for the root
        self.read_since = 0  # bytes, since its pages were dropped

    def accepts(self, about: Attributes) -> bool:
        """True if the kernel may get these attributes of the inode now. Then it knows them.

        If two answers are under way at once, the kernel takes the first one and drops the other. So it may keep a size
        that it gets for another one.
        """
        shown = self.shown
        if shown is None or (shown.size, shown.version) == (about.size, about.version):
            return True
        return not self.opened and (shown.size == about.size or not (shown.is_fixed or shown.timeout_s))


class Inodes:
    """All that the kernel holds a reference to; the root stays for good."""

    def __init__(self, root: DirectoryNode, most_leaves: int = MOST_LEAVES) -> None:
        top = Inode(pyfuse3.ROOT_INODE, pyfuse3.ROOT_INODE, None, b"", "directory", root)
        self._by_id = {top.node_id: top}
        self._by_path: dict[tuple[int, bytes, Kind], Inode] = {}
        self._most_leaves = most_leaves
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
        if inode is None or not inode.accepts(about):
            self._last_id += 1
            inode = Inode(self._last_id, inode_number(parent.number, name), parent, name, kind, node)
            self._by_path[key] = self._by_id[inode.node_id] = inode
            if kind != "directory":
                self._leaves[inode.node_id] = inode
        else:
            inode.node, inode.lane = node, parent.lane or getattr(node, "lane", "")  # another replica, on another disk
        inode.shown = about
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

    def surplus(self) -> list[Inode]:
        """Return the names that the kernel should forget: the oldest leaves beyond `most_leaves`, except those that are
        being read."""
        excess = max(0, len(self._leaves) - self._most_leaves)
        return list(islice((leaf for leaf in self._leaves.values() if not leaf.opened), excess))

    def note_read(self, inode: Inode, size: int) -> None:
        """Note that `size` bytes of an inode were read; 0 once it was closed."""
        if isinstance(inode.kept_as, PagesWhileOpen):
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


class OpenFile:
    """Content being read. It is closed after the release and after the last read that still runs in a thread."""

    __slots__ = ("_lock", "_reading", "_released", "content", "follows", "in_store", "inode", "opener", "prefetching")

    def __init__(self, inode: Inode, content: Content, pid: int) -> None:
        """`pid`: the opener, process or thread, in the daemon's namespace; 0 if it is in none that it can see."""
        self.inode = inode
        inode.opened += 1
        self.content = content
        self.follows = content.follows
        self.in_store = False  # its reads need a store
        self.prefetching: Prefetching | None = content if can(type(content), "prefetch") else None  # type: ignore[assignment]
        if can(type(content), "grow"):
            inode.growing = (*inode.growing, self)
        self.opener = opener(pid) if self.follows else None  # only a read that waits asks for it
        self._lock = threading.Lock()
        self._reading = 0
        self._released = False

    def read(self, offset: int, size: int) -> bytes | memoryview:
        """Reads in a worker thread, which may outlive its caller and then closes the content."""
        return self._use(self.content.read, offset, size)

    def prefetch(self) -> None:
        """Makes in a worker thread what the next read will ask for."""
        if self.prefetching is not None and self._begin():
            try:
                self.prefetching.prefetch()
            finally:
                self._finish()

    def grow(self) -> int:
        """The size of the content by now, which is a `Growing`."""
        return self._use(cast(Growing, self.content).grow)

    def _use(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if not self._begin():
            raise Vanished("the file was closed")
        try:
            return call(*args, **kwargs)
        finally:
            self._finish()

    def _begin(self) -> bool:
        with self._lock:
            if self._released:
                return False
            self._reading += 1
            return True

    def _finish(self) -> None:
        with self._lock:
            self._reading -= 1
            is_last = self._released and not self._reading
        if is_last:
            self.content.close()

    def release(self) -> None:
        """No descriptor is left through which it is open."""
        self.inode.opened -= 1
        if self.inode.growing:
            self.inode.growing = tuple(file for file in self.inode.growing if file is not self)
        with self._lock:
            self._released = True
            is_last = not self._reading
        if is_last:
            self.content.close()


class OpenDirectory:
    """A listing: taken when it is read from its start, and kept until then so that positions stay true."""

    __slots__ = ("entries", "inode")

    def __init__(self, inode: Inode) -> None:
        self.inode = inode
        self.entries: Sequence[Entry] = ()


@cache
def can(kind: type[object], what: str) -> bool:
    """True if nodes or contents of that type have such a method. (To ask each for its protocol would take 5 us.)"""
    return hasattr(kind, what)


class Handles(Generic[T]):
    """Open things by the number that the kernel knows them by."""

    def __init__(self) -> None:
        self._open: dict[int, T] = {}
        self._last = 0

    def __len__(self) -> int:
        return len(self._open)

    def get(self, number: int) -> T | None:
        """The thing of that number, None if it is not open."""
        return self._open.get(number)

    def __getitem__(self, number: int) -> T:
        try:
            return self._open[number]
        except KeyError:
            raise Vanished(f"no open file {number}") from None

    def add(self, thing: T) -> int:
        """The number that the kernel names the thing by from now on, never given twice."""
        self._last += 1
        self._open[self._last] = thing
        return self._last

    def pop(self, number: int) -> T:
        """The thing of that number, which is not open any more. Raises Vanished if it was not."""
        try:
            return self._open.pop(number)
        except KeyError:
            raise Vanished(f"no open file {number}") from None
