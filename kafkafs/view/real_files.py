"""`segments/`: the partition's real files under their own names, byte for byte, and `<file>.txt`, what is in them."""

import re
from bisect import bisect_left
from collections.abc import Hashable, Sequence

from kafkafs.disk.blocking import may_block
from kafkafs.disk.budget import Budget
from kafkafs.disk.data_file import DataFile
from kafkafs.errors import NotFound
from kafkafs.format.names import parse_segment_file
from kafkafs.view.node import KEEP_S, Attributes, Entry, FileNode, NoXattrs
from kafkafs.view.partition_view import PartitionView, ViewDirectory
from kafkafs.view.raw import ReadAhead

_SERVED = re.compile(r"[A-Za-z0-9._-]+", re.ASCII)
"""Names as Kafka gives them. Others might speak to a terminal, and are none of its files."""


class Segments(ViewDirectory):
    """The directory."""

    def entries(self) -> Sequence[Entry]:
        """All regular files of the partition that are named as Kafka names files, sorted; none of the `.txt`."""
        names = self.view.partition.listing().names
        return [Entry(name, "file") for name in names if _SERVED.fullmatch(name)]

    def child(self, name: str) -> FileNode:
        """The file of that name, or the dump that `<file>.txt` is; NotFound if a kind has none, too."""
        if self._has(name):
            return RealFile(self.view, name)
        stem = name.removesuffix(".txt")
        if stem != name and self._has(stem):
            from kafkafs.view.dumped_file import dumped_file  # with all that dumps

            return dumped_file(self.view, stem)
        raise NotFound(f"there is no file {name!r} in {self.view.shown_as}")

    def _has(self, name: str) -> bool:
        """True if it is listed. Few of 100,000 names are looked at, because `ls -l` asks for each of them."""
        names = self.view.partition.listing().names
        at = bisect_left(names, name)
        return at < len(names) and names[at] == name and _SERVED.fullmatch(name) is not None


class RealFile(NoXattrs):
    """One of the broker's files. It is read as it is at each moment, like the file itself."""

    def __init__(self, view: PartitionView, name: str) -> None:
        self._view = view
        self._name = name

    def attributes(self) -> Attributes:
        """The values of the file that has the name now: exact size, blocks, its own time, and its mode less writing."""
        may_block()
        about, access = self._view.partition.root.attributes(self._view.path_of(self._name))
        granted = access.less_writing()
        keep_s = KEEP_S if self._keeps else 0.0  # the kernel asks before each read from its cache
        return Attributes(
            "file", granted.mode, granted.uid, granted.gid, about.st_size, about.st_mtime_ns, keep_s, about.st_ino,
            blocks=about.st_blocks,
        )  # fmt: skip

    def open(self) -> "RealContent":
        """The file that has the name now; NotFound if none has. Pages may be kept of a `.log` only."""
        root, name = self._view.partition.root, self._view.path_of(self._name)
        file = root.open_now(name)
        about = file.stat()
        kept_as = (about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns) if self._keeps else None
        return RealContent(file, about.st_ino, kept_as, self._view.resources.prefetch)

    @property
    def _keeps(self) -> bool:
        """True if the kernel may keep pages: for the logs of closed segments. The last one's is written, or cut and
        written again, within a tick of the clock that its time has; brokers write indexes through mappings, which
        changes neither size nor time, and replace small files by others that may be like them."""
        if not self._view.options.cache_keep:
            return False
        parsed = parse_segment_file(self._name)
        if parsed is None or parsed.kind != "log":
            return False
        segments = self._view.partition.listing().segments
        return parsed.offset in segments and parsed.offset != next(reversed(segments))


class RealContent(ReadAhead):
    """An open file of the broker's; it stays the same file whatever happens to its name."""

    follows = False

    def __init__(self, file: DataFile, version: Hashable, kept_as: Hashable, budget: Budget) -> None:
        super().__init__(budget)
        self._file: DataFile | None = file
        self.version = version
        self.kept_as = kept_as

    @property
    def size(self) -> int:
        """The file's own at this moment, which grows as the file does; 0 once it is closed."""
        return self._file.size if self._file else 0

    def grow(self) -> int:
        """The file's present size; 0 once it is closed."""
        return self.size

    def read(self, offset: int, size: int) -> bytes | memoryview:
        """The present bytes, up to the file's present end. Nothing once it is closed."""
        return self._prefetch.read(self._file, offset, size, self._file.size) if self._file else b""

    def close(self) -> None:
        """Free the file, and what was read ahead."""
        self._file = None
        self._prefetch.close()
