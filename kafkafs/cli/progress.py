"""How far files are read, on standard error, while a command's output goes to a file or a pipe and a person waits."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kafkafs.dump.source import ReadableFile

if TYPE_CHECKING:
    from kafkafs.cli.status_line import StatusLine


class Progress:
    """How far the files read so far have come, for those who see it: not where output and bar share a terminal."""

    def __init__(self) -> None:
        self.is_shown = sys.stderr.isatty() and not sys.stdout.isatty()
        self._line: StatusLine | None = None
        self._lock = threading.Lock()  # one thread reads files, another writes lines

    def of(self, name: str, data: ReadableFile) -> ReadableFile:
        """The same bytes; reading them moves the bar."""
        return _Watched(self, name, data) if self.is_shown else data

    def show(self, name: str, position: int, size: int) -> None:
        """Draws the bar for one file, at most some times a second."""
        with self._lock:
            if self._line is None:
                from kafkafs.cli.status_line import StatusLine  # 27 ms with tqdm, for those who see it only

                self._line = StatusLine()
            self._line.show(ascii(name)[1:-1], position, size)

    def clear(self) -> None:
        """Takes the bar away."""
        with self._lock:
            if self._line is not None:
                self._line.clear()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Takes the bar away, so that a line can be written in its place."""
        with self._lock:
            if self._line is not None:
                self._line.hide()
            yield


class _Watched:
    def __init__(self, progress: Progress, name: str, data: ReadableFile) -> None:
        self._progress = progress
        self._name = name
        self._data = data
        self._size = data.size

    @property
    def size(self) -> int:
        """That of the file."""
        return self._data.size

    def read(self, position: int, size: int) -> bytes:
        """What the file gives; shows first how far it is read."""
        self._progress.show(self._name, position, self._size)
        return self._data.read(position, size)

    def read_long(self, position: int, size: int) -> bytes | memoryview:
        """As `read`, for a long piece."""
        self._progress.show(self._name, position, self._size)
        return self._data.read_long(position, size)
