"""The floor: an empty pyfuse3 file system. Whatever is asked, it answers about one file, and does nothing else.

Every name below the root leads to the file, under an inode of its own, so that a thousand names cost the kernel what
they cost it in kafkafs. Run as `python -m tests.bench.floor FILE MOUNTPOINT direct|cached`.
"""

import os
import stat
import sys

import pyfuse3
import trio

KEEP_S = 1.0
BLOCK_SIZE = 128 << 10


class Floor(pyfuse3.Operations):
    """Passes on `pread` of one open file."""

    def __init__(self, path: str, direct: bool) -> None:
        super().__init__()
        self.descriptor = os.open(path, os.O_RDONLY)
        self.about = os.fstat(self.descriptor)
        self.direct = direct
        self.inodes: dict[bytes, int] = {}

    def attributes(self, inode: int, mode: int) -> pyfuse3.EntryAttributes:
        entry = pyfuse3.EntryAttributes()
        entry.st_ino = inode
        entry.st_mode = mode
        entry.st_size = self.about.st_size
        entry.st_mtime_ns = entry.st_ctime_ns = entry.st_atime_ns = self.about.st_mtime_ns
        entry.st_blksize = BLOCK_SIZE
        entry.attr_timeout = entry.entry_timeout = KEEP_S
        return entry

    async def getattr(self, inode: int, ctx: pyfuse3.RequestContext) -> pyfuse3.EntryAttributes:
        return self.attributes(inode, stat.S_IFDIR | 0o755 if inode == pyfuse3.ROOT_INODE else stat.S_IFREG | 0o644)

    async def lookup(self, parent: int, name: bytes, ctx: pyfuse3.RequestContext) -> pyfuse3.EntryAttributes:
        inode = self.inodes.setdefault(name, pyfuse3.ROOT_INODE + 1 + len(self.inodes))
        return self.attributes(inode, stat.S_IFREG | 0o644)

    async def open(self, inode: int, flags: int, ctx: pyfuse3.RequestContext) -> pyfuse3.FileInfo:
        return pyfuse3.FileInfo(fh=self.descriptor, direct_io=self.direct, keep_cache=not self.direct)

    async def read(self, handle: int, offset: int, size: int) -> bytes:
        return os.pread(handle, size, offset)

    async def release(self, handle: int) -> None:
        pass

    async def forget(self, inodes: object) -> None:
        pass


def main() -> None:
    path, mountpoint, mode = sys.argv[1:]
    options = {*pyfuse3.default_options, "fsname=floor", "ro"}
    options.discard("default_permissions")
    pyfuse3.init(Floor(path, mode == "direct"), mountpoint, options)
    try:
        trio.run(pyfuse3.main)
    finally:
        pyfuse3.close()


if __name__ == "__main__":
    main()
