"""A large object as one reader goes straight through it: each byte is fetched once, into the memory that the reader
gets.

The next range is asked for while the reader works on the one before. Its bytes wait in the system's buffers, so no
thread is needed, and no cache holds what nobody will read again. A reader that jumps is given to the file itself, and
so is a range whose request fails: the file asks again.
"""

import os
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol

from kafkafs.disk.access import Access
from kafkafs.disk.data_file import BUFFER_SIZE, DataFile, DiskOptions
from kafkafs.format.memory import Buffers

_FIRST, _LONGEST = 1 << 20, 8 << 20
"""Bytes of the first request, of a reader that may end at once, and of the longest one. Each may be twice the one
before."""

_AHEAD = 2
"""Number of open requests: one is read, the other one waits. A reader that may end at once has only the first one."""

_SHORT = 16 << 10
"""A read of fewer bytes is no reason to go on elsewhere: it is a look at what is there."""


class AskedRange(Protocol):
    """A range of an object that was asked for. If a method raises an error, the response must not be used."""

    def read_into(self, view: memoryview) -> bool:
        """Fill `view` with the next bytes. False if they do not come."""

    def close(self) -> None:
        """Close the range: nobody needs it any more."""


class _Asked(NamedTuple):
    stream: AskedRange
    start: int
    end: int


class StraightFile(DataFile):
    """The bytes [position, end) of `file`. One thread reads it."""

    def __init__(
        self, file: DataFile, options: DiskOptions, span: tuple[int, int, int],
        ask: Callable[[int, int], AskedRange | None], is_whole: bool,
    ) -> None:  # fmt: skip
        """`span`: `position`, the place up to which `file` has the bytes in memory, and `end`. `ask` asks for so many
        bytes at a position; None if that cannot be done now. `is_whole`: the reader will read all."""
        super().__init__(file.name, file.inode, options)
        self._file, self._ask = file, ask
        self._asked: deque[_Asked] = deque()
        self._from, self._known_to, self._end = span
        self._at, self._asked_to = self._from, self._known_to
        self._next_size = _LONGEST if is_whole else _FIRST
        self._most = _AHEAD if is_whole else 1
        self._held = memoryview(b"")  # the bytes from `_from` to `_at`

    def __del__(self) -> None:
        self._give_up()

    def stat(self) -> os.stat_result:
        """See `DataFile`."""
        return self._file.stat()

    def access(self, about: os.stat_result) -> Access:
        """See `DataFile`."""
        return self._file.access(about)

    def read(self, position: int, size: int, *, passing: bool = False) -> bytes:
        """See `DataFile`."""
        view = self._view(position, size)
        return self._file.read(position, size, passing=passing) if view is None else bytes(view)

    def read_long(self, position: int, size: int) -> memoryview:
        """See `DataFile`."""
        view = self._view(position, size)
        return self._file.read_long(position, size) if view is None else view

    def read_into(self, buffer: memoryview, position: int, *, passing: bool = False, straight: bool = False) -> int:
        """See `DataFile`."""
        view = self._view(position, len(buffer))
        if view is None:
            return self._file.read_into(buffer, position, passing=passing, straight=straight)
        buffer[: len(view)] = view
        return len(view)

    def next_data(self, position: int) -> int:
        """See `DataFile`."""
        return self._file.next_data(position)

    def forget(self, position: int, size: int) -> bool:
        """See `DataFile`. Bytes that are held are read again from the file, which fetches them again."""
        dropped = self._file.forget(position, size) or position < self._at
        self._known_to = 0
        self._go_on_at(position)
        return dropped

    def _view(self, position: int, size: int) -> memoryview | None:
        """A view of the bytes at `position`; None if this reader does not pass there."""
        stop = min(position + size, self._file.stat().st_size)
        if not self._from <= position <= self._at or position < 0:
            if size <= _SHORT or position < self._from or position >= self._end:
                return None
            self._go_on_at(position)
        if stop > self._at:
            if stop > self._end:
                return None
            self._fill(position, stop)
        return self._held[position - self._from : stop - self._from]

    def _fill(self, position: int, stop: int) -> None:
        """Have the bytes [position, stop) in one piece of memory: those that are held, and the next ones."""
        size = stop - position
        data = (_buffers.take() if size <= _buffers.size else self.memory.take(size)).data[:size]
        at = self._at - position
        data[:at] = self._held[position - self._from :]
        if stop > self._known_to:
            self._ask_ahead(position + at)
        while at < size:
            here = position + at
            if here < (known := self._asked[0].start if self._asked else self._asked_to):
                at += self._file.read_into(data[at : min(size, known - position)], here, passing=True)
                continue
            if not self._asked:
                self._ask_ahead(here)
            wanted = min(size - at, self._asked[0].end - here) if self._asked else 0
            if not wanted or not self._asked[0].stream.read_into(data[at : at + wanted]):
                self._give_up()
                self._file.read_into(data[at:], here, passing=True)
                self._asked_to = stop
                break
            at += wanted
            if here + wanted == self._asked[0].end:
                self._asked.popleft()
                self._most = _AHEAD
                self._ask_ahead(here + wanted)
        self._held, self._from, self._at = data, position, stop

    def _ask_ahead(self, position: int) -> None:
        """Ask for the next ranges, as many as may be open."""
        self._asked_to = max(self._asked_to, position)
        while len(self._asked) < self._most and self._asked_to < self._end:
            size = min(self._next_size, self._end - self._asked_to)
            stream = self._ask(self._asked_to, size)
            if stream is None:
                return
            self._asked.append(_Asked(stream, self._asked_to, self._asked_to + size))
            self._asked_to += size
            self._next_size = min(2 * self._next_size, _LONGEST)

    def _go_on_at(self, position: int) -> None:
        """Begin again, elsewhere."""
        self._give_up()
        self._held, self._from, self._at = memoryview(b""), position, position
        self._asked_to = max(position, self._known_to)

    def _give_up(self) -> None:
        while self._asked:
            self._asked.popleft().stream.close()


_buffers = Buffers(BUFFER_SIZE, keep=4)
