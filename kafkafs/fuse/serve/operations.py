"""The pyfuse3 operations: each asks one question of a node and hands the answer to the kernel.

A question is asked at once, on the trio thread, which never blocks as long as it serves: where the node refuses to
wait (`WouldBlock`), it is asked again in a worker thread. Inodes and handles change on the trio thread only, between
two awaits. The handlers that a lookup and a read go through ask without the detour over `_ask`: they are the hot path.

Everything that would write is refused by the kernel (the mount is read-only), and here once more.
"""

import errno
import functools
import os
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from math import inf
from typing import TypeVar, cast

import pyfuse3
from pyfuse3 import EntryAttributes, FileInfo, FUSEError, ReaddirToken, RequestContext, StatvfsData

from kafkafs.disk.blocking import StoreNeeded
from kafkafs.errors import DiskError, NameTooLong, NotFound, ReadOnly, StoreError, Unsupported, Vanished, WouldBlock
from kafkafs.fuse.serve.answering import FILE_TYPE, EntryReply, Metrics, answering
from kafkafs.fuse.serve.inodes import Handles, Inode, Inodes, OpenDirectory, OpenFile, can, inode_number
from kafkafs.fuse.serve.late_answers import AT_ONCE_S, PROVISIONAL, Found, LateAnswers, RetriedLookup, attributes_in
from kafkafs.fuse.serve.signals import interrupted
from kafkafs.fuse.serve.stream_refusal import StreamRefusal, is_stream
from kafkafs.fuse.serve.waiting import WaitingReads
from kafkafs.fuse.serve.workers import CallKind, Workers
from kafkafs.view.node import Attributes, Content, Disk, Growing, HasLane, Node, SpaceUsage, Tree

XATTR_PREFIX = b"user.kafkafs."
NAME_MAX = 255  # bytes
FRAGMENT = 4096  # bytes, the unit of `statfs`
ENCODING = sys.getfilesystemencoding()

T = TypeVar("T")


class Operations(pyfuse3.Operations):
    """Serves one tree. `workers` and `waiting` come when the trio loop runs; the first request calls `on_init`."""

    supports_dot_lookup = False

    def __init__(self, tree: Tree, metrics: Metrics, on_init: Callable[[], None]) -> None:
        super().__init__()
        self.tree = tree
        self.metrics = metrics
        self.workers: Workers
        self.waiting: WaitingReads
        self.inodes = Inodes(tree)
        self.files: Handles[OpenFile] = Handles()
        self.directories: Handles[OpenDirectory] = Handles()
        self.late = LateAnswers()
        self._on_init = on_init
        self._entry = EntryReply()
        self._trusting = StreamRefusal()
        self._opened = FileInfo()

    def init(self) -> None:
        """The kernel's first request shows that the mount works. Notify those that wait for the mount."""
        self._on_init()

    # Names and attributes

    @answering
    async def lookup(self, parent_id: int, name: bytes, ctx: RequestContext) -> EntryAttributes:
        """The child's attributes; one more reference. A name that needs a store does not keep others of its directory
        waiting: see `late_answers`."""
        parent = self.inodes[parent_id]
        if len(name) > NAME_MAX and getattr(parent.node, "has_long_names", False):  # up to 1,024 bytes the kernel asks
            raise NameTooLong(f"a name has {len(name)} bytes, and may have {NAME_MAX}; `kafkafs cat` takes longer ones")
        node, attributes = await self._looked_up(parent, name, ctx.pid, AT_ONCE_S)
        inode = self.inodes.refer(parent, name, attributes, node)
        return self._entry.fill(inode.node_id, inode.number, attributes)

    @answering
    async def getattr(self, node_id: int, ctx: RequestContext) -> EntryAttributes:
        """For an open file, return the attributes that the kernel got before, with the present size if it grows.
        Otherwise return the present attributes of the node.

        A request by name was answered by `lookup`. So this request is, or may be, about a handle. A file is asked by a
        new node, since a node opens the content of its last answer, and the kernel may not take the new size.
        """
        inode = self.inodes[node_id]
        shown = inode.shown
        if shown is None or not (inode.opened or shown.is_fixed):
            if inode.kind == "file" and inode.parent is not None:
                node, now = await self._looked_up(inode.parent, inode.name, ctx.pid)
            else:
                node, now = inode.node, await self._ask(inode.lane, inode.node.attributes)
            if inode.accepts(now):  # it may have been opened meanwhile
                inode.node, inode.shown = node, now
            shown = inode.shown or now
        elif inode.growing:
            shown = shown._replace(size=await self._ask(inode.lane, inode.growing[-1].grow))
        return self._entry.fill(node_id, inode.number, shown)

    async def forget(self, forgotten: Sequence[tuple[int, int]]) -> None:
        """References are taken back. The kernel waits for no answer, and none can fail."""
        for node_id, lookups in forgotten:
            self.inodes.forget(node_id, lookups)

    @answering
    async def readlink(self, node_id: int, ctx: RequestContext) -> bytes:
        """Return the present target of the link. Raise ENOENT if it leads nowhere any more."""
        inode = self.inodes[node_id]
        target: str = await self._ask(inode.lane, inode.node.target)
        return os.fsencode(target)

    @answering
    async def getxattr(self, node_id: int, name: bytes, ctx: RequestContext) -> bytes:
        """One of `user.kafkafs.…` of a file; ENOATTR for other names, without a question to the node."""
        inode = self.inodes[node_id]
        if inode.kind == "file" and name.startswith(XATTR_PREFIX):
            values: Mapping[str, bytes] = await self._ask(inode.lane, inode.node.xattrs)
            value = values.get(os.fsdecode(name))
            if value is not None:
                return value
        raise FUSEError(pyfuse3.ENOATTR)

    @answering
    async def listxattr(self, node_id: int, ctx: RequestContext) -> list[bytes]:
        """The names of a file's; a directory and a link have none."""
        inode = self.inodes[node_id]
        if inode.kind != "file":
            return []
        return [os.fsencode(name) for name in await self._ask(inode.lane, inode.node.xattrs)]

    @answering
    async def statfs(self, ctx: RequestContext) -> StatvfsData:
        """Return the space that all data directories hold, with nothing free. If a disk fails, its last measured value
        counts."""
        usages = [await self._usage(disk) for disk in self.tree.disks()]
        answer = StatvfsData()
        answer.f_bsize = answer.f_frsize = FRAGMENT
        answer.f_blocks = -(-sum(usage.size for usage in usages) // FRAGMENT)
        answer.f_files = sum(usage.files for usage in usages)
        answer.f_namemax = NAME_MAX
        return answer

    # Directories

    @answering
    async def opendir(self, node_id: int, ctx: RequestContext) -> int:
        """A handle without a listing: that is taken when it is read from its start."""
        return self.directories.add(OpenDirectory(self.inodes[node_id]))

    @answering
    async def readdir(self, handle: int, start: int, token: ReaddirToken) -> None:
        """Lines `start`... of the listing; 0 and 1 are `.` and `..`."""
        directory = self.directories[handle]
        inode = directory.inode
        if start == 0:
            try:
                directory.entries = await self._ask(inode.lane, inode.node.entries)
            except NotFound as error:  # the C library would take NotFound for the end of the listing
                raise Vanished(f"the directory is gone: {error}") from error
        line, reply, number = self._entry.line, pyfuse3.readdir_reply, inode.number
        for at, (name, dots) in enumerate(((b".", inode), (b"..", inode.parent or inode))):
            if at >= start and not reply(token, name, line(dots.number, FILE_TYPE["directory"]), at + 1):
                return
        entries = directory.entries
        for at in range(max(start - 2, 0), len(entries)):
            entry = entries[at]
            name = os.fsencode(entry.name)
            if not reply(token, name, line(inode_number(number, name), FILE_TYPE[entry.kind]), at + 3):
                return

    @answering
    async def releasedir(self, handle: int) -> None:
        """Free the listing; ESTALE for a handle that is not open."""
        self.directories.pop(handle)

    # Files

    @answering
    async def open(self, node_id: int, flags: int, ctx: RequestContext) -> FileInfo:
        """A handle of the content, cached and seekable as that says. EROFS for an open for writing."""
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_TRUNC):
            raise ReadOnly("nothing in a mount can be changed")
        inode = self.inodes[node_id]
        if inode.shown is PROVISIONAL and inode.parent is not None:
            inode.node, inode.shown = await self._looked_up(inode.parent, inode.name, ctx.pid)
            self.late.keep((inode.parent.node_id, inode.name))
            raise Vanished("its size is known only now; open it again")  # as the kernel does by itself
        try:
            content = inode.node.open()
        except WouldBlock:
            content = await self.workers.run(inode.lane, inode.node.open, unclaimed=lambda content: content.close())
        if _is_another(inode.shown, content):
            content.close()
            if inode.parent is not None:
                self.late.forget((inode.parent.node_id, inode.name))
            raise Vanished("it is another file since it was looked up; open it again")  # as the kernel does by itself
        if content.size is None:
            try:
                self._trusting.refuse(ctx.pid)
            except Unsupported:
                content.close()
                raise
        opened = self._opened
        opened.keep_cache, opened.direct_io = _caching(inode, content.kept_as)
        opened.fh = self.files.add(OpenFile(inode, content, ctx.pid))
        opened.nonseekable = content.size is None  # like a pipe: `tac` and `tail` copy it rather than trust the size
        return opened

    async def read(self, handle: int, offset: int, size: int) -> bytes:
        """Reads that may wait for the log to grow are counted apart: their time says nothing of this mount.

        Each is `answering` under a name of its own; here nothing but FUSEError may be raised.
        """
        file = self.files.get(handle)
        if file is None:
            raise FUSEError(errno.EBADF)
        data: bytes = await (self._follow if file.follows else self._read)(file, offset, size)
        self.metrics.bytes_read += len(data)
        self.inodes.note_read(file.inode, len(data))
        return data

    @answering
    async def _read(self, file: OpenFile, offset: int, size: int) -> bytes | memoryview:
        try:
            data = file.content.read(offset, size)
        except WouldBlock:
            data = await self.read_in_worker(file, offset, size)
        if file.prefetching is not None and file.prefetching.prefetch_is_due:
            self.workers.start(file.inode.lane, file.prefetch, in_store=file.in_store)
        return data

    @answering
    async def _follow(self, file: OpenFile, offset: int, size: int) -> bytes | memoryview:
        try:
            data = file.content.read(offset, size)
        except WouldBlock:
            data = await self.read_in_worker(file, offset, size)
        return data or await self.waiting.more(file, offset, size)

    @answering
    async def release(self, handle: int) -> None:
        """No descriptor is left. A read that still runs in a worker closes the content when it ends."""
        file = self.files.pop(handle)
        file.release()
        self.inodes.note_read(file.inode, 0)

    # Asking

    async def _looked_up(self, parent: Inode, name: bytes, pid: int, within_s: float = inf) -> tuple[Node, Attributes]:
        """The child of that name and its attributes, asked in the same call unless it waits for another disk. If a
        store does not answer in that time, a file's are `PROVISIONAL`."""
        child = name.decode(ENCODING, "surrogateescape")
        try:
            node: Node = parent.node.child(child)
            attributes = attributes_in(parent.lane, node)
        except WouldBlock:
            node, attributes = await self._looked_up_later(parent, name, child, pid, within_s)
        if attributes is None:
            attributes = await self._ask(cast(HasLane, node).lane, node.attributes, kind=CallKind.SHARED)
        if not attributes.size and is_stream(attributes) and attributes is not PROVISIONAL:
            self._trusting.refuse(pid)
        return node, attributes

    async def _looked_up_later(self, parent: Inode, name: bytes, child: str, pid: int, within_s: float) -> Found:
        """Look a name up in a worker thread."""
        late = self.late.known((parent.node_id, name))
        if late is None:
            lane = parent.lane
            once = RetriedLookup(parent.node, child, lane)
            try:
                return await self.workers.run(lane, once.look, gone=lambda: interrupted(pid) is True, in_store=False)
            except StoreNeeded:
                in_store = functools.partial(self.workers.run, lane, once.look, in_store=True)
                late = self.late.begin((parent.node_id, name), pid, once, lambda gone: in_store(gone=gone))
        return await late.found(pid, within_s)

    async def _usage(self, disk: Disk) -> SpaceUsage:
        """`find` and `du` ask too, on whichever disk they are: none that hangs or fails may keep them from theirs."""
        try:
            return await self._ask(disk.lane, disk.usage, CallKind.SHARED)
        except (DiskError, StoreError):
            if disk.known_usage is None:
                raise
            return disk.known_usage

    async def _ask(self, lane: str, question: Callable[[], T], kind: CallKind = CallKind.ASK) -> T:
        try:
            return question()
        except WouldBlock:
            return await self.workers.run(lane, question, kind)

    async def read_in_worker(
        self, file: OpenFile, offset: int, size: int, kind: CallKind = CallKind.READ
    ) -> bytes | memoryview:
        """Return the bytes of a read, asked in a thread of its disk's lane. `WAKE` marks a read that waits for the
        log. A file that needed a store will need it again."""
        lane, read = file.inode.lane, functools.partial(file.read, offset, size)
        if not file.in_store:
            try:
                return await self.workers.run(lane, read, kind, in_store=False)
            except StoreNeeded:
                file.in_store = True
        return await self.workers.run(lane, read, kind, in_store=True)


def _caching(inode: Inode, kept_as: Hashable) -> tuple[bool, bool]:
    """Return two flags for an opening: if the kernel may use the pages that it has of the inode, and if it must neither
    use nor get any.

    Pages belong to an inode, whichever handle brought them in. So all are of one content: before another's come, the
    kernel drops them, and that content waits for it until no handle of the one before is open.
    """
    if kept_as is None:
        return False, True
    if inode.kept_as == kept_as:
        return True, False
    if inode.opened:
        return False, True
    inode.kept_as = kept_as
    return False, False


def _is_another(shown: Attributes | None, content: Content) -> bool:
    """True if the opened content differs from the kernel's attributes. Then its size would not be the size that
    `fstat` gives."""
    if shown is None:
        return False
    if can(type(content), "grow"):
        return cast(Growing, content).version != shown.version
    return (content.size or 0) != shown.size or (content.size is None and shown.is_fixed)


async def _refuse(self: Operations, *args: object) -> None:
    raise FUSEError(errno.EROFS)


WRITERS = (
    "create", "link", "mkdir", "mknod", "removexattr", "rename", "rmdir", "setattr", "setxattr", "symlink", "unlink",
    "write",
)  # fmt: skip
for _writer in WRITERS:
    setattr(Operations, _writer, _refuse)
