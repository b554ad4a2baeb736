"""How far files are read, on standard error, while a person waits.

If output goes to the same terminal, the bar is drawn after a moment, and removed before each line.
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kafkafs.dump.dump_source import ReadableFile

if TYPE_CHECKING:
    from kafkafs.cli.status_line import StatusLine


PATIENCE_S = 0.5  # for which nobody misses a bar between the lines of a quick answer


class FileProgress:
    """How far the files read so far have come, for those who see it; `with` takes it away at its end."""

    def __init__(self) -> None:
        self.is_shown = sys.stderr.isatty()
        self.is_between_lines = self.is_shown and sys.stdout.isatty()
        self._not_before = time.monotonic() + (PATIENCE_S if self.is_between_lines else 0)
        self._line: StatusLine | None = None
        self._lock = threading.Lock()  # one thread reads files, another writes lines

    def __enter__(self) -> "FileProgress":
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def of(self, name: str, data: ReadableFile) -> ReadableFile:
        """The bytes of a file; reading them moves the bar."""
        return _Watched(self, name, data) if self.is_shown else data

    def show(self, name: str, position: int, size: int) -> None:
        """Draws the bar for one file, at most some times a second, if somebody sees it."""
        if not self.is_shown:
            return
        with self._lock:
            if self._line is None:
                if time.monotonic() < self._not_before:
                    return
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
    def __init__(self, progress: FileProgress, name: str, data: ReadableFile) -> None:
        self._progress = progress
        self._name = name
        self._data = data
        self._size = data.size

    @property
    def size(self) -> int:
        """The size of the file."""
        return self._data.size

    def read(self, position: int, size: int) -> bytes:
        """Return the bytes that the file gives. Show first how far it is read."""
        self._progress.show(self._name, position, self._size)
        return self._data.read(position, size)

    def read_long(self, position: int, size: int) -> bytes | memoryview:
        """As `read`, for a long piece."""
        self._progress.show(self._name, position, self._size)
        return self._data.read_long(position, size)
