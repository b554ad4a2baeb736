"""Text that is made while it is read, of any length in a fixed amount of memory.

A stream has no size; a reader goes on until nothing comes. Most read straight on, so the pieces made last are kept. A
reader elsewhere is served from the nearest mark: places in the text, a mark every megabyte or so, from which it can be
made again. All readers get the same bytes, since a stream is fixed on the log that it was opened on. If many are open,
those that are not read release what they have made, and make it again (see `disk.budget`).

Text is made in turns, too: by fewer threads than there are processors, so that one is left to lookups.

One thread at a time makes text; what is made is handed out meanwhile. A reader that goes straight on finds the next
piece made already: `fuse` has a worker `prefetch` while the reader takes what it got.
"""

import os
import threading
from array import array
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from kafkafs.disk.blocking import may_block
from kafkafs.disk.budget import Budget
from kafkafs.errors import CorruptData, KafkafsError, Lost, TooLarge, Vanished, WouldBlock
from kafkafs.view.kept_text import KeptText

_BYTES_AHEAD = 4 << 20
"""Bytes that are made before they are asked for."""

LITTLE = 64 << 10
"""Bytes behind the end of a log that a follower waits for there; more is history again."""

TEXT_MEMORY = 128 << 20
"""Bytes that the streams of one tree hold: a few dozen of large batches, or hundreds of small ones."""

TURN_S = 0.05
"""Seconds that a piece of text should take at most."""

Place = Any
"""A value from which a text can be made: an offset, a position, or of several partitions their offsets. It belongs to
the text, not to one of its makers: any maker of the same text can begin there."""

Pieces = Iterator[tuple[Place | None, bytes | memoryview]]
"""Pieces of text, each with the place from which what follows can be made; None inside what is made in one go."""


@dataclass(frozen=True, slots=True)
class TextLimits:
    """How much of each text a tree keeps. Sizes are bytes of text."""

    mark_every: int = 1 << 20  # between two marks, at least
    mark_part: int = 64 << 10  # the same for each of many partitions, since a mark has an offset of each
    kept: int = 512 << 10  # behind the newest piece, for readers that are a little late
    small: int = 16 << 10  # pieces up to this size are put together
    measured: int = 32 << 20  # bytes of a text whose size was asked for, for the read that follows
    texts: int = 128  # texts whose size is remembered
    part_s: float = 0.25  # seconds that a part of the work lasts at least, after a look at the logs


USUAL = TextLimits()


class TextBudget(Budget):
    """The memory that the streams of one tree hold together, and how many of them make text at the same time."""

    def __init__(self, clock: Callable[[], float], limit: int = TEXT_MEMORY, limits: TextLimits = USUAL) -> None:
        super().__init__(limit, clock)
        self.limits = limits
        self._turns = threading.Semaphore(max(1, len(os.sched_getaffinity(0)) - 1))

    @contextmanager
    def turn(self) -> Iterator[None]:
        """A context for making one piece of text.

        A thread that has waited for longer than a piece should take goes on nevertheless: those before it may wait for
        a disk that hangs.
        """
        taken = self._turns.acquire(timeout=TURN_S)
        try:
            yield
        finally:
            if taken:
                self._turns.release()


class Marks:
    """Places that a text can be made again from, each with the byte of the text that is made there."""

    def __init__(self, place: Place, every: int) -> None:
        """`every`: the bytes between two marks, at least."""
        self._bytes, self._places = array("q", (0,)), [place]
        self._every = every

    def __len__(self) -> int:
        return len(self._bytes)

    def __getitem__(self, number: int) -> tuple[int, Place]:
        return self._bytes[number], self._places[number]

    def add(self, at: int, place: Place) -> None:
        """One more, if it is a good way behind the last."""
        if at - self._bytes[-1] >= self._every:
            self._bytes.append(at)
            self._places.append(place)

    def before(self, at: int) -> int:
        """The number of the last one at or before a byte."""
        return bisect_right(self._bytes, at) - 1

    def copy(self) -> "Marks":
        """A copy of the marks, to be added to."""
        other = Marks(0, self._every)
        other._bytes, other._places = self._bytes[:], self._places[:]
        return other


class Stream:
    """The text that `make(place)` gives from a place on (an offset, a position in a file, a line's number), as a
    content (see `node.Content`). An offset here is a byte of the text.

    `_making` is held while text is made, which may take long; `_state` around `_kept` and what is known of it.
    """

    size: int | None = None
    kept_as: Hashable = None

    def __init__(
        self,
        make: Callable[[Place], Pieces],
        place: Place,
        budget: TextBudget,
        grown: Callable[[], bool] | None = None,
        held: object = None,
        extra_bytes: int = 0,
        marks: Marks | None = None,
    ) -> None:
        """`budget` counts how much it holds. `grown` makes it a follower: asked at its end whether there may be more.

        `held` is kept until the end: the files that the text is made from. Its maker takes `extra_bytes` bytes. `marks`
        are all of another one's of the same text, and stay as they are.
        """
        self._make = make
        self._budget = budget
        self._limits = limits = budget.limits
        self._held = held
        self._extra_bytes = extra_bytes
        self._grown = grown
        self.follows = grown is not None
        self._making = threading.Lock()
        self._state = threading.Lock()
        self._read_to = 0
        self.marks, self._marks_it = Marks(place, limits.mark_every) if marks is None else marks, marks is None
        self._kept = KeptText(limits.small)
        self._pieces: Pieces | None = None
        self._place = place
        self._end: int | None = None
        self._ended = -LITTLE  # the place at which it came to its end last
        self._error: tuple[int, KafkafsError] | None = None

    def read(self, offset: int, size: int) -> bytes | memoryview:
        """The text at byte `offset`; fewer bytes only at its end, or where what follows is an error."""
        text = self._made(offset, size)
        if text is None:
            may_block()
            with self._making:
                text = self._make_and_cut(offset, size)
        self._read_to = offset + len(text)
        return text

    @property
    def prefetch_is_due(self) -> bool:
        """True if `prefetch` would help the last reader, if it goes on."""
        left = self._kept.end - self._read_to
        if self._end is not None or self._error is not None or not 0 <= left < _BYTES_AHEAD:
            return False
        return self._budget.has_spare and not self._making.locked()

    def prefetch(self) -> None:
        """Makes what will be asked for next, until there is enough of it. For a worker thread."""
        if self._making.acquire(blocking=False):
            try:
                while self._kept.end - self._read_to < _BYTES_AHEAD and self._pieces is not None and self._advance():
                    self._forget(self._read_to)
                    self._report_held_bytes()
            finally:
                self._making.release()

    def release(self) -> bool:
        """Free the text and its source, unless a read makes more of it; see `Budget`."""
        if not self._making.acquire(blocking=False):
            return False
        try:
            self._begin_at_mark(-1)
        finally:
            self._making.release()
        return True

    @property
    def kept_bytes(self) -> int:
        """Bytes of text that are made and in memory."""
        return self._kept.size

    def _report_held_bytes(self) -> None:
        """The text, and while more is being made about twice the last piece: its records and their bytes.

        A follower never rests: what it would make again compaction may have taken away.
        """
        if self._grown is None:
            making = self._extra_bytes + 2 * self._kept.last_size if self._pieces else 0
            self._budget.hold(self, self._kept.size + making)

    def _made(self, offset: int, size: int) -> bytes | memoryview | None:
        """The answer, as far as it is made already and nothing has to be asked or made for it; else None."""
        with self._state:
            if self._error is not None and offset >= self._error[0]:
                raise self._error[1].with_traceback(None)
            if self._kept.has(offset, size):
                return self._cut(offset, size)
            is_over = self._end is not None and offset >= self._end
        return b"" if is_over and self._is_at_end() else None

    def _make_and_cut(self, offset: int, size: int) -> bytes | memoryview:
        if (text := self._made(offset, size)) is not None:
            return text
        if not self._kept.start <= offset <= self._kept.end:
            self._go_to(offset)
        while self._kept.end < offset + size and self._advance():
            self._forget(offset)
        self._report_held_bytes()
        with self._state:
            return self._cut(offset, size)

    def _advance(self) -> bool:
        """Makes one more piece; False at the end and before an error."""
        if self._error is not None:
            return False
        try:
            if self._pieces is None and self._is_at_end():
                return False
            may_block()
            if self._pieces is None:
                self._pieces, self._end = self._make(self._place), None
            with nullcontext() if self._is_awaited else self._budget.turn():
                piece = next(self._pieces, None)
        except WouldBlock:
            raise
        except (CorruptData, Lost, TooLarge, Vanished) as error:
            self._error = (self._kept.end, error.with_traceback(None))  # its frames would keep buffers alive
            return False
        except BaseException:
            self._begin_at_mark(-1)
            raise
        if piece is None:
            self._end = self._ended = self._kept.end
            self._pieces = None
            return False
        behind, text = piece
        with self._state:
            self._kept.add(text)
        if behind is not None:
            self._place = behind
            if self._marks_it:
                self.marks.add(self._kept.end, behind)
        return True

    @property
    def _is_awaited(self) -> bool:
        """True if a follower that had come to the end gets the records that have come since. It is little, and takes no
        turn."""
        return 0 <= self._kept.end - self._ended < LITTLE

    def _is_at_end(self) -> bool:
        if self._end is None:
            return False
        return self._grown is None or not self._grown()

    def _forget(self, reading_at: int) -> None:
        with self._state:
            self._kept.forget(reading_at - self._limits.kept)

    def _go_to(self, offset: int) -> None:
        """Starts again at the last mark at or before `offset`, or goes on from where the text was made last."""
        mark = self.marks.before(offset)
        if not self.marks[mark][0] <= self._kept.end <= offset:
            self._begin_at_mark(mark)

    def _begin_at_mark(self, number: int) -> None:
        with self._state:
            position, self._place = self.marks[number]
            self._kept.clear(position)
            self._pieces = self._end = self._error = None

    def _cut(self, offset: int, size: int) -> bytes | memoryview:
        text = self._kept.cut(offset, size)
        if text is None and self._error is not None:
            raise self._error[1].with_traceback(None)
        return b"" if text is None else text

    def close(self) -> None:
        """Free the text, its source, its files, and its part of the budget."""
        with self._state:
            self._kept.clear(self._kept.end)
        self._pieces = self._held = None
        self._budget.hold(self, 0)
        del self._make, self._grown  # a follower's hold the log's files open, whatever still knows this stream
