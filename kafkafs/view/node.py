"""The seam between `view` and its server: directories, files, links, the rights to read them, and the content of an
open file.

`fuse` walks these protocols and knows nothing else of `view`. Every call is idempotent: under
`kafkafs.disk.blocking.non_blocking()` it may raise `WouldBlock` at any point and is then made again, from the start, in
a worker thread. Names are `str` with surrogate escapes (`os.fsdecode`). Errors are `kafkafs.errors`.

    node      DirectoryNode, FileNode, LinkNode: one for each lookup; knows its path and options, holds no open file
    content   one for each open; holds files; read by any number of threads, closed once
    lane      which disk a node's answers wait for, so that a hung one stops no other

Optional abilities of a content are optional methods: those of `Prefetching` (text or bytes made before they are asked
for) and `Growing` (a size that follows the log). `fuse` looks for them once for each type.

Owner and mode are those of the real files, less every write bit, and never more than the disk: the kernel checks them
(`default_permissions`), so they must not grant what the disk would refuse. `disk.access` is how that is reckoned.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from kafkafs.disk.access import Access

KEEP_S = 0.8
"""Seconds for which the kernel may cache facts that do not change with every append. A deleted file disappears within a
second."""

Kind = Literal["directory", "file", "symlink"]

LINKS: Mapping[Kind, int] = {"directory": 2, "file": 1, "symlink": 1}
"""The number of links that `stat` shows."""


class Attributes(NamedTuple):
    """The values that `stat` shows. `timeout_s` is how long the kernel may keep it, and the name that led to it."""

    kind: Kind
    mode: int  # permission bits only, never a write bit
    uid: int
    gid: int
    size: int  # bytes; 0 if the content is a stream
    mtime_ns: int
    timeout_s: float
    version: Hashable = None  # the bytes' version: a reader with another version open has another file open
    is_fixed: bool = False  # an `open` gives this version or fails, and it never grows
    blocks: int = 0  # blocks of 512 bytes on the disk: counted for the real files alone

    @property
    def access(self) -> Access:
        """Owner, group and permission bits."""
        return Access(self.uid, self.gid, self.mode)

    def granting(self, access: Access) -> "Attributes":
        """The attributes with these rights."""
        return self._replace(uid=access.uid, gid=access.gid, mode=access.mode)


class Entry(NamedTuple):
    """One line of a listing."""

    name: str
    kind: Kind


class Content(Protocol):
    """An open file's bytes, the same for every reader at any offset."""

    @property
    def size(self) -> int | None:
        """Bytes; None for a stream, which is read to its end with direct I/O."""

    @property
    def follows(self) -> bool:
        """True if an empty read means "not yet": the reader waits for what the log gets next."""

    @property
    def kept_as(self) -> Hashable:
        """The identity of these bytes among all that the name may ever lead to. As long as it is the same, the kernel
        may keep its pages. None if it may keep none."""

    def read(self, offset: int, size: int) -> bytes | memoryview:
        """The bytes at `offset`; fewer than `size` only at the end.

        A non-blocking call may answer with a view of a buffer of its thread, good until that thread's next read.
        """

    def close(self) -> None:
        """Free what the content holds, without blocking. Called once, after the last read has ended."""


class PagesWhileOpen(NamedTuple):
    """A `kept_as` of pages that are for those who have the file open, to map it too: then the kernel drops them."""

    version: Hashable


class Prefetching(Protocol):
    """A content that can make what the next read will ask for while the reader takes what it got."""

    @property
    def prefetch_is_due(self) -> bool:
        """True if there is something to make. Answered at once."""

    def prefetch(self) -> None:
        """Makes some of it, in a worker thread."""


class Growing(Protocol):
    """A content that gets what is appended, and keeps what it has whatever is deleted."""

    @property
    def version(self) -> Hashable:
        """The version in the attributes of its name: see `Attributes`."""

    def grow(self) -> int:
        """The content's present size."""


class DirectoryNode(Protocol):
    """A directory: some names are listed, more can be opened. With an attribute `has_long_names` that is true, it has
    more names than a mount can take: there one over NAME_MAX is too long, not absent."""

    def attributes(self) -> Attributes:
        """The values that `stat` shows of it now. Raises NotFound if it has gone."""

    def child(self, name: str) -> "Node":
        """The node of that name, listed or not. Raises NotFound."""

    def entries(self) -> Sequence[Entry]:
        """The entries that `ls` lists, in order, without `.` and `..`."""


class FileNode(Protocol):
    """A file: a query with its answer not yet computed."""

    def attributes(self) -> Attributes:
        """The values that `stat` shows of it now. Raises NotFound if the query leads nowhere, or leaves that to
        `open`: a mount looks the name up with `child` first."""

    def open(self) -> Content:
        """The file's present content, which the caller closes. Raises what a read would where that is known already."""

    def xattrs(self) -> Mapping[str, bytes]:
        """Extended attributes by full name, `user.kafkafs.…`."""


class NoXattrs:
    """The common part of files without extended attributes."""

    def xattrs(self) -> Mapping[str, bytes]:
        """No extended attributes."""
        return {}


class BytesContent:
    """A small answer, whole in memory."""

    follows = False

    def __init__(self, data: bytes, version: Hashable = None) -> None:
        """`version` identifies the bytes, so that others that have the same open may have them mapped; the bytes do
        so themselves where it is None."""
        self._data = data
        self.size: int | None = len(data)
        self.kept_as: Hashable = PagesWhileOpen(hash(data) if version is None else version)

    def read(self, offset: int, size: int) -> bytes:
        """A slice: short at the end, empty behind it and once it is closed."""
        return self._data[offset : offset + size]

    def close(self) -> None:
        """Free the bytes."""
        self._data = b""


class TextContent(BytesContent):
    """A text made when it was opened, whose size was unknown before: a stream, as long ones are."""

    def __init__(self, data: bytes) -> None:
        self._data, self.kept_as = data, None
        self.size = None  # `stat` has shown 0, which nobody shall trust


class LinkNode(Protocol):
    """A symbolic link within the mount."""

    def attributes(self) -> Attributes:
        """The values that `lstat` shows of it now. Raises NotFound if there is nothing to lead to, or leaves that to
        `target`: a mount looks the name up with `child` first."""

    def target(self) -> str:
        """The target of the link, from its directory."""


Node = DirectoryNode | FileNode | LinkNode


class HasLane(Protocol):
    """A node that says which disk its answers wait for; its children wait for the same unless they say otherwise."""

    @property
    def lane(self) -> str:
        """A key, one for each data directory: when its disk hangs, calls in other lanes go on."""


@dataclass(frozen=True, slots=True)
class SpaceUsage:
    """The values that `df` shows: the data's own size."""

    size: int  # bytes on disk
    files: int


class Disk(Protocol):
    """One data directory, as far as the mount as a whole asks about it."""

    @property
    def is_replaced(self) -> bool:
        """True if another directory has taken the data directory's place. Then nothing of it is served any more."""

    @property
    def known_usage(self) -> SpaceUsage | None:
        """The last answer of `usage`, which counts if the disk does not answer."""

    @property
    def lane(self) -> str:
        """The key of calls that wait for this disk."""

    def usage(self) -> SpaceUsage:
        """How much is there, asked of the disk."""

    def sweep(self) -> None:
        """Look at the directory, and close files that nobody reads. Callers do so a few times a second."""


class Tree(DirectoryNode, Protocol):
    """The root of what is mounted."""

    def disks(self) -> Sequence[Disk]:
        """The data directories below it, in the order they were named."""
