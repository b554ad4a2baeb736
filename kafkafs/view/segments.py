"""`segments/`: the partition's real files under their own names, byte for byte, and `<file>.txt`, what is in them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from kafkafs.disk.blocking import may_block
from kafkafs.disk.data_file import DataFile
from kafkafs.disk.prefetch import Prefetch, PrefetchBudget
from kafkafs.dump.files import dump_from, is_dumpable
from kafkafs.dump.findings import Unheard
from kafkafs.dump.options import DumpOptions as DumpOptions
from kafkafs.dump.source import Source
from kafkafs.errors import NotFound
from kafkafs.log.segment import Segment
from kafkafs.view.node import Attributes, Entry
from kafkafs.view.partition_view import KEEP_S, PartitionView, ViewDirectory
from kafkafs.view.permissions import access
from kafkafs.view.streams import Pieces, Stream

_SERVED = re.compile(r"[A-Za-z0-9._-]+", re.ASCII)
"""Names as Kafka gives them. Others might speak to a terminal, and are none of its files."""


class Segments(ViewDirectory):
    """The directory."""

    def entries(self) -> Sequence[Entry]:
        return [Entry(name, "file", None) for name in sorted(self._names())]

    def child(self, name: str) -> "RealFile | DumpedFile":
        names = self._names()
        if name in names:
            return RealFile(self._view, name)
        stem = name.removesuffix(".txt")
        if stem != name and stem in names and is_dumpable(stem):
            return DumpedFile(self._view, stem)
        raise NotFound(f"there is no file {name!r} in {self._view.shown_as}")

    def _names(self) -> set[str]:
        return {name for name in self._view.partition.listing().files if _SERVED.fullmatch(name)}


def _path(view: PartitionView, name: str) -> str:
    return f"{view.partition.name.directory}/{name}"


class RealFile:
    """One of the broker's files. It is read as it is at each moment, like the file itself."""

    def __init__(self, view: PartitionView, name: str) -> None:
        self._view = view
        self._name = name

    def attributes(self) -> Attributes:
        may_block()
        file = self._view.partition.root.open_now(_path(self._view, self._name))
        about = file.stat()
        granted = access(about, file.acl(about)).of_file()
        keep_s = KEEP_S if self._keeps else 0.0  # the kernel asks before each read from its cache
        return Attributes(
            "file", granted.mode, granted.uid, granted.gid, about.st_size, about.st_blocks, about.st_mtime_ns, 1, keep_s
        )

    def open(self) -> "RealContent":
        root, name = self._view.partition.root, _path(self._view, self._name)
        return RealContent(root.open_now(name), self._keeps, self._view.resources.prefetch)

    @property
    def _keeps(self) -> bool:
        """Whether the kernel may keep pages until size or time change: brokers write indexes through mappings, which
        changes neither, and replace small files by others that may be like them."""
        return self._view.options.cache_keep and self._name.endswith(".log")

    def xattrs(self) -> Mapping[str, bytes]:
        return {}


class RealContent:
    """An open file of the broker's; it stays the same file whatever happens to its name."""

    follows = False

    def __init__(self, file: DataFile, keep_cache: bool, budget: PrefetchBudget) -> None:
        self._file: DataFile | None = file
        self._prefetch = Prefetch(budget)
        self.keep_cache = keep_cache

    @property
    def size(self) -> int:
        return self._file.size if self._file else 0

    def read(self, offset: int, size: int) -> bytes | memoryview:
        return self._prefetch.read(self._file, offset, size, self._file.size) if self._file else b""

    @property
    def prefetch_is_due(self) -> bool:
        """Whether `prefetch` would help a reader that goes on."""
        return self._prefetch.is_due

    def prefetch(self) -> None:
        """Read what will be asked for next. For a worker thread."""
        self._prefetch.fill()

    def close(self) -> None:
        self._file = None
        self._prefetch.close()


class DumpedFile:
    """What `kafka-dump-log.sh --print-data-log` prints about a file: a stream."""

    def __init__(self, view: PartitionView, name: str) -> None:
        self._view = view
        self._name = name

    def attributes(self) -> Attributes:
        may_block()
        return self._view.file(self._files(), 0, -1, 0.0)

    def _files(self) -> Iterator[DataFile]:
        """The log that an index is held against, if it is there, and the file itself."""
        root = self._view.partition.root
        stem, _, kind = self._name.partition(".")
        if kind.startswith(("index", "timeindex")):
            with suppress(NotFound):
                yield root.open_now(_path(self._view, f"{stem}.log"))
        yield root.open_now(_path(self._view, self._name))

    def open(self) -> Stream:
        path = _path(self._view, self._name)
        reading = self._view.options
        options = DumpOptions(print_data_log=True, limit=reading.max_batch, memory=reading.memory)
        files = _OpenedOnce(self._view)
        files.open(self._name)

        def text(position: int) -> Pieces:
            return dump_from(Source(path, path, files.open), options, Unheard(), position)

        return Stream(text, 0, self._view.resources.text)

    def xattrs(self) -> Mapping[str, bytes]:
        return {}


class _OpenedOnce:
    """The files that one dump reads. Each stays the one that was opened first, and its log the same generation."""

    def __init__(self, view: PartitionView) -> None:
        self._view = view
        self._logs = {segment.log_name: segment for segment in view.snapshot().log.segments}
        self._opened: dict[str, DataFile | _CheckedLog] = {}

    def open(self, name: str) -> "DataFile | _CheckedLog":
        """NotFound where there is no such file."""
        known = self._opened.get(name)
        if known is None:
            file = self._view.partition.root.open_now(_path(self._view, name))
            segment = self._logs.get(name)
            same = segment is not None and segment.files["log"].inode == file.inode
            known = self._opened[name] = _CheckedLog(file, segment) if segment is not None and same else file
        return known


class _CheckedLog:
    """A segment's log: what is read from it is of the generation that was looked at, else it is Vanished."""

    def __init__(self, file: DataFile, segment: Segment) -> None:
        self._file = file
        self._segment = segment

    @property
    def size(self) -> int:
        return self._file.size

    def read(self, position: int, size: int) -> bytes:
        """The bytes at `position`; fewer only at the end."""
        data = self._file.read(position, size)
        self._segment.check(self._file)
        return data

    def read_long(self, position: int, size: int) -> memoryview:
        """Like `read`, for a megabyte or more."""
        data = self._file.read_long(position, size)
        self._segment.check(self._file)
        return data
