"""`segments/<file>.txt`: what `kafka-dump-log.sh` prints about one of the broker's files.

Apart from `real_files`, for all that dumps takes long to import.
"""

from collections.abc import Hashable, Iterator
from contextlib import suppress
from copy import copy
from typing import TypeVar

from kafkafs.disk.blocking import may_block
from kafkafs.disk.data_file import DataFile
from kafkafs.dump.dump_findings import Unreported
from kafkafs.dump.dump_options import DumpOptions
from kafkafs.dump.dump_source import Source
from kafkafs.dump.file_dump import dump_from, is_dumpable
from kafkafs.errors import NotFound, Vanished
from kafkafs.log.segment import Segment
from kafkafs.view.exact import ExactContent, ExactText, LogSpan
from kafkafs.view.node import Attributes
from kafkafs.view.partition_view import PartitionView
from kafkafs.view.range_file import SizedFile
from kafkafs.view.streams import Pieces, Stream

Bytes = TypeVar("Bytes", bytes, memoryview)


def dumped_file(view: PartitionView, name: str) -> "DumpedFile":
    """The dump of that file; NotFound if it is of a kind that has none."""
    if not is_dumpable(name):
        raise NotFound(f"{name!r} is of a kind that has no dump")
    return DumpedFile(view, name)


class DumpedFile(SizedFile["_Files", LogSpan]):
    """The output of `kafka-dump-log.sh --print-data-log` for a file. For a large file (`-o exact=`) it is a stream."""

    def __init__(self, view: PartitionView, name: str) -> None:
        self._view = view
        self._name = name

    def attributes(self) -> Attributes:
        """The true size, for which the dump is made once; 0 of a stream. The time is the file's own. For an index: only
        users who may read its log, too, may read it. NotFound without such a file."""
        may_block()
        files = self._files()
        return self._show(self._view.file_attributes(files.files(), 0, -1, 0.0), self._text(files))

    def open(self) -> ExactContent | Stream:
        """The dump whose size was shown, as long as the files are as they were, or a log that only grew; else of those
        of that name now. NotFound without one. Once its log was cut, a read is Vanished."""
        return self._opened(self._files())

    def _text(self, state: "_Files") -> ExactText[LogSpan] | None:
        exact = self._view.options.exact
        if not exact or state.stored > exact:
            return None
        dumps, key = self._view.resources.dumps, state.key

        def dump(position: int) -> Pieces:
            """The maker and the readers of it have the files."""
            files: _Files | None = dumps.get(key)
            if files is None:
                raise Vanished("no reader has it open any more")
            return files.dump(position)

        return self._view.resources.exact.measured((self._view.key, self._name, "dump"), state.span, dump)

    def _has(self, state: "_Files", span: LogSpan) -> bool:
        return state.has(span)

    def _held(self, state: "_Files", span: LogSpan) -> object:
        return self._shared(state.as_of(span))

    def _stream(self, state: "_Files") -> Stream:
        return Stream(state.dump, 0, self._view.resources.text)

    def _files(self) -> "_Files":
        """The files of now: the same for all who have opened them in this state."""
        return self._shared(_Files(self._view, self._name))

    def _shared(self, files: "_Files") -> "_Files":
        known: _Files = self._view.resources.dumps.setdefault(files.key, files)
        return known


class _Files:
    """The files that one dump reads, as they were at first: a file, and of an index the log beside it, of which the
    dump shows only that it exists, and is not empty."""

    def __init__(self, view: PartitionView, name: str) -> None:
        self._view = view
        self._name = name
        self._path = view.path_of(name)
        self._logs = {segment.log_name: segment for segment in view.ask(lambda look: look.log.segments)}
        self._opened: dict[str, _OpenedFile] = {}
        data, (stem, _, kind) = self.open(name), name.partition(".")
        self.stored, beside = data.size, None
        if kind.startswith(("index", "timeindex")):
            self.stored = min(data.size, data.file.stat().st_blocks * 512)  # the last one's has 10 MiB of holes
            with suppress(NotFound):
                log = self.open(f"{stem}.log")
                beside = log.file.inode, log.size > 0
        segments = () if data.segment is None else (data.segment,)
        self.span = LogSpan(0, data.size, segments, (data.state, beside))

    @property
    def key(self) -> Hashable:
        """The identity of the files among others, and among their own states."""
        return self._view.key, self._name, self.span

    def has(self, shown: LogSpan) -> bool:
        """True if they are as that span had them, or if it is of this log, which only grew."""
        grew = bool(shown.segments) and shown.segments == self.span.segments and shown.end <= self.span.end
        return shown == self.span or grew

    def as_of(self, shown: LogSpan) -> "_Files":
        """The files as that span, which they have, had them."""
        if shown == self.span:
            return self
        before = copy(self)
        before.span = shown
        before._opened = {self._name: self._opened[self._name].up_to(shown.end)}
        return before

    def files(self) -> Iterator[DataFile]:
        """All open files."""
        return (file.file for file in reversed(self._opened.values()))

    def dump(self, position: int) -> Pieces:
        """The text from such a position of the file on, as `Stream` takes it."""
        reading = self._view.options
        options = DumpOptions(print_data_log=True, limit=reading.max_batch, memory=reading.memory)
        yield from dump_from(Source(self._path, self._path, self.open), options, Unreported(), position)

    def open(self, name: str) -> "_OpenedFile":
        """NotFound if there is no such file."""
        known = self._opened.get(name)
        if known is None:
            file = self._view.partition.root.open_now(self._view.path_of(name))
            segment = self._logs.get(name)
            same = segment is not None and segment.listed["log"].inode == file.inode
            known = self._opened[name] = _OpenedFile(file, segment if same else None)
        return known


class _OpenedFile:
    """A file up to where it ended when it was opened. The bytes of a segment's log are of the generation that was
    looked at, else they are Vanished."""

    def __init__(self, file: DataFile, segment: Segment | None) -> None:
        about = file.stat()
        self.file = file
        self.size = about.st_size
        self.state = about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns
        self.segment = segment

    def up_to(self, size: int) -> "_OpenedFile":
        """The file as it was when it had this size."""
        before = copy(self)
        before.size = size
        return before

    def read(self, position: int, size: int) -> bytes:
        """The bytes at `position`; fewer only at the end."""
        return self._checked(self.file.read(position, self._within(position, size)))

    def read_long(self, position: int, size: int) -> memoryview:
        """Like `read`, for a megabyte or more."""
        return self._checked(self.file.read_long(position, self._within(position, size)))

    def _within(self, position: int, size: int) -> int:
        return max(0, min(size, self.size - position))

    def _checked(self, data: Bytes) -> Bytes:
        if self.segment is not None:
            self.segment.check(self.file)
        return data
