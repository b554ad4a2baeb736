"""How the bytes of a `.log` come into the new directory: shared with the old file, copied, or by another name of it.

A reflink shares blocks until one side is written, and takes no room (btrfs, xfs). A hard link is the same file: only
what no broker writes again may be one, a closed segment's log, and its attributes are the original's.
"""

import errno
import fcntl
import os
from collections import deque
from collections.abc import Sequence
from typing import Literal

from kafkafs.disk.data_file import LONG_SIZE, DataFile, LocalFile
from kafkafs.disk.local_directory import LocalDirectory
from kafkafs.disk.page_cache import RWF_DONTCACHE
from kafkafs.errors import UsageError, Vanished
from kafkafs.revive.kept_parts import Borrowed, Piece, size_of
from kafkafs.revive.target import Target

Method = Literal["copy", "reflink", "link"]
_FICLONE = 0x40049409
_BEHIND = -1  # as an offset: where the last write ended
_PROBE = "revive.probe"
_APART = (errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.ENOSYS)


def can_reflink(source: DataFile, target: Target) -> bool:
    """True if the file system of the target can share this file's blocks. A trial finds out, and leaves nothing
    behind."""
    target.remove(_PROBE)
    try:
        with target.new_file(_PROBE) as descriptor:
            return _cloned(source, descriptor)
    finally:
        target.remove(_PROBE)


def make_log(
    source: DataFile | None, pieces: Sequence[Piece], target: Target, name: str, mtime_ns: int, method: Method
) -> None:
    """A new file that holds these pieces of another, and was last written when that one was. No piece is of a source
    that is None."""
    size = sum(map(size_of, pieces))
    is_beginning = pieces == ((0, size),)
    with target.new_file(name) as descriptor:
        if method == "reflink" and is_beginning and source is not None and _cloned(source, descriptor):
            os.ftruncate(descriptor, size)
        else:
            for piece in pieces:
                if isinstance(piece, bytes):
                    write_past(descriptor, [piece], _BEHIND)
                elif isinstance(piece, Borrowed):
                    _copy(piece.file, piece.position, piece.size, descriptor)
                elif source is not None:
                    _copy(source, *piece, descriptor)
        os.utime(descriptor, ns=(mtime_ns, mtime_ns))


def link_log(root: LocalDirectory, source: DataFile, target: Target, name: str) -> None:
    """Link a log under another name. UsageError if that is impossible; Vanished if the name is another file's now."""
    try:
        os.link(source.name, name, src_dir_fd=root.descriptor, dst_dir_fd=target.descriptor, follow_symlinks=False)
    except OSError as error:
        raise UsageError(
            f"{str(target.path / name)!r} cannot be a hard link: {error.strerror}; leave --link out, or name a"
            " directory on the same file system"
        ) from error
    if os.stat(name, dir_fd=target.descriptor, follow_symlinks=False).st_ino != source.inode:
        target.remove(name)
        raise Vanished(f"{source.name!r} was replaced while it was linked")


def _cloned(source: DataFile, descriptor: int) -> bool:
    if not isinstance(source, LocalFile):  # a file of a tier
        return False
    try:
        fcntl.ioctl(descriptor, _FICLONE, source.descriptor)
    except OSError as error:
        if error.errno in _APART:
            return False
        raise
    return True


def _copy(source: DataFile, position: int, length: int, descriptor: int) -> None:
    """Behind what is there."""
    end = position + length
    while position < end:
        data = source.read_long(position, min(LONG_SIZE, end - position))
        if not data:
            raise Vanished(f"{source.name!r} became shorter while it was copied")
        write_past(descriptor, [data], _BEHIND)
        position += len(data)


def write_past(descriptor: int, parts: Sequence[bytes | memoryview], at: int) -> None:
    """Write all parts in order. On Linux 6.14 and later, the disk writes at once, and no page stays in memory."""
    left, flags = deque(parts), RWF_DONTCACHE
    while left:
        try:
            written = os.pwritev(descriptor, left, at, flags)
        except OSError as error:
            if not flags or error.errno not in _APART:
                raise
            flags = 0
            continue
        at = at if at == _BEHIND else at + written
        while left and written >= len(left[0]):
            written -= len(left.popleft())
        if written:
            left[0] = left[0][written:]
