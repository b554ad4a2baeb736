"""A progress bar on standard error, shown while a command's output goes to a file or a pipe and a person waits."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from kafkafs.cli.status_line import StatusLine, rate_and_rest
from kafkafs.dump.source import OpenFile

BAR_WIDTH = 30
REDRAW_S = 0.2
BESIDE_BAR = 35  # columns for what stands beside the bar, a short name included


class Progress:
    """How far the files read so far have come, where it can be seen: not where output and bar share a terminal."""

    def __init__(self) -> None:
        self.is_shown = sys.stderr.isatty() and not sys.stdout.isatty()
        self._drawn_at = 0.0
        self._line = StatusLine()
        self._name, self._begun = "", 0.0
        self._lock = threading.Lock()  # one thread reads files, another writes lines

    def of(self, name: str, data: OpenFile) -> OpenFile:
        """The same bytes; reading them moves the bar."""
        return _Watched(self, name, data) if self.is_shown else data

    def show(self, name: str, position: int, size: int) -> None:
        """Draws the bar for one file, at most some times a second."""
        with self._lock:
            now = time.monotonic()
            if name != self._name:
                self._name, self._begun = name, now
            if now - self._drawn_at >= REDRAW_S:
                self._drawn_at = now
                self._draw(name, position, size, now - self._begun)

    def _draw(self, name: str, position: int, size: int, seconds: float) -> None:
        share = min(1.0, position / size) if size else 1.0
        width = max(0, min(BAR_WIDTH, self._line.columns - BESIDE_BAR))
        filled = round(share * width)
        bar = "#" * filled + "." * (width - filled)
        speed = rate_and_rest(position, size, seconds)
        self._line.draw(f"[{bar}] {share:4.0%} of {size / 1e6:,.1f} MB  {ascii(name)[1:-1]}{speed}")

    def clear(self) -> None:
        """Takes the bar away."""
        with self.aside():
            pass

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Takes the bar away, so that a line can be written in its place."""
        with self._lock:
            if self.is_shown and self._drawn_at:
                self._line.clear()
                self._drawn_at = 0.0
            yield


class _Watched:
    def __init__(self, progress: Progress, name: str, data: OpenFile) -> None:
        self._progress = progress
        self._name = name
        self._data = data
        self._size = data.size

    @property
    def size(self) -> int:
        return self._data.size

    def read(self, position: int, size: int) -> bytes:
        self._progress.show(self._name, position, self._size)
        return self._data.read(position, size)

    def read_long(self, position: int, size: int) -> bytes | memoryview:
        self._progress.show(self._name, position, self._size)
        return self._data.read_long(position, size)
