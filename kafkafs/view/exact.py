"""Text of a size that is known before it is read: such a range is a file, with a size, to be sought in and mapped.

The size costs one pass over the log (`ExactText`). The made text is kept for the read that follows, up to a limit. So
is a place to begin at for every megabyte of text (`streams.Marks`), so that a read anywhere makes no more than that. A
text is of one state of the log: the same segments, of the same generations, up to one offset. If the log only grew, the
next text is this one and the text that came behind it. A reader (`ExactContent`) keeps the text that it has open. A
name leads to the newest.
"""

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from itertools import count
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from kafkafs.disk.blocking import acquired, check_time_slice, may_block
from kafkafs.errors import KafkafsError, Vanished
from kafkafs.log.lineage import Change, went_on
from kafkafs.log.log import Log
from kafkafs.log.segment import Segment
from kafkafs.view.node import PagesWhileOpen
from kafkafs.view.streams import USUAL, Pieces, Place, Stream, TextBudget, TextLimits

BUDGET = 64 << 20
"""Bytes of text that are kept for reads to come."""

_REPLACED = 16
"""Older texts that are kept although there are newer ones: for a caller that has the size of one, and will open it."""

_AGAIN_S = 5.0
"""After so long, a text that ended in an error of a remote tier is made again."""

_numbers = count(1)


class Origin(Protocol):
    """The source of a text: the state of one log, or of several."""

    @property
    def start(self) -> Place:
        """The place that its text begins at."""

    @property
    def end(self) -> int:
        """The place behind it; larger where there is more."""

    @property
    def is_appended(self) -> bool:
        """True if the new records come behind the text that there is."""

    @property
    def is_remote(self) -> bool:
        """True if a part of it is in a remote tier."""

    def grew_to(self, other: Any) -> bool:
        """True if the other one, which is of the same kind, has all of it, and perhaps more."""


From = TypeVar("From", bound=Origin)


class LogSpan(NamedTuple):
    """The offsets [start, end) of one state of a log. `made_by` is what else the text depends on. `log` tells if
    its last segment was rolled since."""

    start: int
    end: int
    segments: tuple[Segment, ...]
    made_by: object
    log: Log | None = None

    @property
    def is_appended(self) -> bool:
        """True if the log's new records come behind the text that there is."""
        return True

    @property
    def is_remote(self) -> bool:
        """True if a segment of it is in a remote tier."""
        return any(segment.object is not None for segment in self.segments)

    def is_in(self, log: Log) -> bool:
        """True if the log still has all of it, as it was."""
        return self.start >= log.start_offset and self._begins(covering(log, self.start, self.end), log)

    def grew_to(self, other: "LogSpan") -> bool:
        """True if the other one has all of it, and perhaps more behind."""
        return (
            self.start == other.start
            and self.end <= other.end
            and self.made_by == other.made_by
            and self._begins(other.segments, other.log)
        )

    def _begins(self, segments: tuple[Segment, ...], log: Log | None) -> bool:
        """True if those segments of the log begin with the span's, the last of which may have been rolled."""
        before, now = self.segments, segments[: len(self.segments)]
        if before == now:
            return True
        if self.log is None or log is None or len(before) != len(now) or before[:-1] != now[:-1]:
            return False
        return before[-1].next_base is None and went_on(self.log, log).change is not Change.OTHER


def covering(log: Log, start: int, end: int) -> tuple[Segment, ...]:
    """The segments of the log that may have something of the offsets [start, end)."""
    return tuple(segment for segment in log.segments_from(start) if segment.base_offset < end) if start < end else ()


def span_of(log: Log, start: int, end: int, made_by: object) -> LogSpan:
    """The span of offsets [start, end), as they are in the log now."""
    return LogSpan(start, end, covering(log, start, end), made_by, log)


class ExactText(Stream, Generic[From]):
    """A text that is made once, to its end, for its size. It keeps what it made, up to a limit, until the budget wants
    the memory. Readers (`ExactContent`) make what is gone again, each on its own, from the marks."""

    size: int

    def __init__(
        self, span: From, make: Callable[[Place], Pieces], budget: TextBudget, before: "ExactText[From] | None" = None
    ) -> None:
        """`make` makes the text from a place on, `before` is a measured text that this one goes on from."""
        super().__init__(make, span.start, budget)
        self.number = next(_numbers)
        self.span = span
        self.size = 0
        self.length: int | None = None
        self.error: KafkafsError | None = None
        self._failed_at = 0.0
        self._readers = 0
        if before is not None:
            self._go_on_from(before)

    def _go_on_from(self, before: "ExactText[From]") -> None:
        assert before.length is not None
        with acquired(before._making), before._state:
            self.marks, self._kept = before.marks.copy(), before._kept.copy()
        self._place = max(before.span.start, before.span.end)
        if (self._kept.start, self._kept.end) != (0, before.length):
            self._kept.clear(before.length)

    @property
    def may_be_mended(self) -> bool:
        """True if it ended in an error some seconds ago, and a part of it is in a remote tier: its store may answer by
        now."""
        is_old = self.error is not None and self._budget.clock() - self._failed_at > _AGAIN_S
        return is_old and self.span.is_remote

    def measure(self) -> None:
        """Make it to its end, in parts (see `disk.blocking.time_slice`), to find its size. Unfinished and the like if
        that takes longer; Vanished if the log has changed."""
        if self.length is not None:
            return
        may_block()
        with acquired(self._making):
            until = time.monotonic() + self._limits.part_s
            try:
                while self._end is None and self._advance():
                    if self._kept.end > self._limits.measured:
                        self._forget(self._kept.end)
                    if time.monotonic() >= until:
                        check_time_slice()
            finally:
                self._report_held_bytes()
            length, error = (self._kept.end, None) if self._error is None else self._error
        if isinstance(error, Vanished):
            raise error
        self.error, self._failed_at = error, self._budget.clock()
        self.size = length + (error is not None)  # behind an error, one byte more, which cannot be read
        self.length = length

    def make_as(self, make: Callable[[Place], Pieces]) -> None:
        """Make the text from a newer look at the same offsets from now on. An older look may need files that are gone:
        files behind the text, which show how its transactions ended."""
        self._make = make

    def pieces(self, place: Place) -> Pieces:
        """Make it again from a place on, of the newest look."""
        return self._make(place)

    def kept(self, offset: int, size: int) -> bytes | memoryview | None:
        """The bytes at `offset` if all of them are in memory."""
        with self._state:
            return self._kept.cut(offset, size) if self._kept.has(offset, size) else None

    def opened(self, held: object) -> "ExactContent":
        """A reader of it, which holds the files that it is made from."""
        with self._state:
            self._readers += 1
        return ExactContent(self, self._budget, held)

    def closed(self, is_read: bool) -> None:
        """A reader less. A text that was read to its end makes room for others: they are made in memory that is used
        again, because fresh memory would take as long as the text does."""
        with self._state:
            self._readers -= 1
            is_last = not self._readers
        if is_last and is_read:
            self._budget.release(self)


class ExactContent(Stream):
    """A text that somebody has open, with the files that it is made from."""

    size: int

    def __init__(self, text: ExactText[Any], budget: TextBudget, held: object) -> None:
        super().__init__(text.pieces, text.span.start, budget, held=held, marks=text.marks)
        self.text = text
        self.size = text.size
        self.kept_as = PagesWhileOpen(text.number) if text.error is None else None

    def read(self, offset: int, size: int) -> bytes | memoryview:
        """The text at byte `offset`; fewer bytes only at its end. At the end, raise the error that the text ends
        with, if any. Raise Vanished if the log changed: a page of the text in the kernel's cache must be whole.

        A sequential reader gets the rest of the text, then the error. A read that seeks to the last piece gets only the
        error, because `tac` and `tail` take a short read for the end of the file."""
        length, error = self.text.length or 0, self.text.error
        if offset >= length or (error is not None and offset != self._read_to and offset + size > length):
            if error is not None and size:
                raise error.with_traceback(None)
            return b""
        wanted = min(size, length - offset)
        data = self.text.kept(offset, wanted)
        try:
            if data is None:
                data = super().read(offset, wanted)
            if len(data) < wanted:
                raise Vanished("the measured records are gone; open the file again")
        except Vanished:
            self.release()  # it would answer so for ever: the text may be made of another look by then
            raise
        self._read_to = offset + wanted
        return data

    def close(self) -> None:
        """Free the text and the files."""
        super().close()
        self.text.closed(is_read=self._read_to >= self.size)


class ExactTexts:
    """The texts of a tree that were asked for last, by what asks for them.

    No `functools.lru_cache`: a newer text replaces the older one in place, and what goes frees its memory at once.
    """

    def __init__(self, clock: Callable[[], float], limits: TextLimits = USUAL) -> None:
        self.budget = TextBudget(clock, BUDGET, limits)
        self._lock = threading.Lock()
        self._known: OrderedDict[Hashable, ExactText[Any]] = OrderedDict()
        self._replaced: deque[ExactText[Any]] = deque()

    def resume(self, key: Hashable) -> ExactText[Any] | None:
        """Go on with a measurement that a call has begun, without a look at the logs: a look at many would fill the
        whole time slice. Return the text if this call has finished it; Unfinished if it takes longer."""
        with self._lock:
            text = self._known.get(key)
        if text is None or text.length is not None:
            return None
        try:
            text.measure()
        except Vanished:
            self._forget(key, text)
            return None
        return text

    def measured(self, key: Hashable, span: From, make: Callable[[Place], Pieces]) -> ExactText[From]:
        """The text of that span, or of its beginning where that ends in an error: one that is known, or goes on from
        one that is, or a new one. Unfinished if it takes longer than a part: the next call goes on."""
        while True:
            text = self._text(key, span, make)
            try:
                text.measure()
            except Vanished:
                self._forget(key, text)
                raise
            if text.span.end >= span.end or text.error is not None or not span.is_appended:
                return text

    def _text(self, key: Hashable, span: From, make: Callable[[Place], Pieces]) -> ExactText[From]:
        """The text to measure."""
        with self._lock:
            known = self._known.get(key)
        if known is None or known.may_be_mended or not known.span.grew_to(span):
            return self._put(key, ExactText(span, make, self.budget))
        if known.span.end == span.end:
            known.make_as(make)
            return known
        if known.length is None or (known.error is not None and span.is_appended):
            return known
        return self._put(key, ExactText(span, make, self.budget, known if span.is_appended else None))

    def _put(self, key: Hashable, text: ExactText[From]) -> ExactText[From]:
        with self._lock:
            if key in self._known:
                self._replaced.append(self._known.pop(key))
            self._known[key] = text
            gone = [self._known.popitem(last=False)[1]] if len(self._known) > self.budget.limits.texts else []
            gone += [self._replaced.popleft()] if len(self._replaced) > _REPLACED else []
        for each in gone:
            self.budget.release(each)
        return text

    def _forget(self, key: Hashable, text: ExactText[Any]) -> None:
        with self._lock:
            if self._known.get(key) is text:
                del self._known[key]
        self.budget.release(text)
