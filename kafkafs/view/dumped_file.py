"""`segments/<file>.txt`: what `kafka-dump-log.sh` prints about one of the broker's files.

Apart from `segments`, for all that dumps takes long to import.
"""

from collections.abc import Iterator
from contextlib import suppress

from kafkafs.disk.blocking import may_block
from kafkafs.disk.data_file import DataFile
from kafkafs.dump.files import dump_from, is_dumpable
from kafkafs.dump.findings import Unheard
from kafkafs.dump.options import DumpOptions
from kafkafs.dump.source import Source
from kafkafs.errors import NotFound
from kafkafs.log.segment import Segment
from kafkafs.view.node import Attributes, NoXattrs
from kafkafs.view.partition_view import PartitionView
from kafkafs.view.streams import Stream


def dumped_file(view: PartitionView, name: str) -> "DumpedFile":
    """The dump of that file; NotFound where it is of a kind that has none."""
    if not is_dumpable(name):
        raise NotFound(f"{name!r} is of a kind that has no dump")
    return DumpedFile(view, name)


class DumpedFile(NoXattrs):
    """What `kafka-dump-log.sh --print-data-log` prints about a file: a stream."""

    def __init__(self, view: PartitionView, name: str) -> None:
        self._view = view
        self._name = name

    def attributes(self) -> Attributes:
        """A stream's, of size 0; the file's own time. Of an index: for those who may read its log, too."""
        may_block()
        return self._view.file_attributes(self._files(), 0, -1, 0.0)

    def _files(self) -> Iterator[DataFile]:
        """The log that an index is held against, if it is there, and the file itself."""
        root = self._view.partition.root
        stem, _, kind = self._name.partition(".")
        if kind.startswith(("index", "timeindex")):
            with suppress(NotFound):
                yield root.open_now(self._view.path_of(f"{stem}.log"))
        yield root.open_now(self._view.path_of(self._name))

    def open(self) -> Stream:
        """A stream over the file of that name now; NotFound without one. Once its log was cut, a read is Vanished."""
        path = self._view.path_of(self._name)
        reading = self._view.options
        options = DumpOptions(print_data_log=True, limit=reading.max_batch, memory=reading.memory)
        files = _OpenedOnce(self._view)
        files.open(self._name)

        return Stream(
            lambda position: dump_from(Source(path, path, files.open), options, Unheard(), position),
            0,
            self._view.resources.text,
        )


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
            file = self._view.partition.root.open_now(self._view.path_of(name))
            segment = self._logs.get(name)
            same = segment is not None and segment.listed["log"].inode == file.inode
            known = self._opened[name] = _CheckedLog(file, segment) if segment is not None and same else file
        return known


class _CheckedLog:
    """A segment's log: what is read from it is of the generation that was looked at, else it is Vanished."""

    def __init__(self, file: DataFile, segment: Segment) -> None:
        self._file = file
        self._segment = segment

    @property
    def size(self) -> int:
        """The file's own, as of now."""
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
