"""Text of a size that is known before it is read: such a range is a file, with a size, to be sought in and mapped.

The size costs one pass over the log. The made text is kept for the read that follows, up to a limit. So is a place to
begin at for every megabyte of text (`streams.Marks`), so that a read anywhere makes no more than that. A text is of one
state of the log: the same segments, of the same generations, up to one offset. If the log only grew, the next text is
this one and the text that came behind it. A reader that has one open keeps it. A name leads to the newest.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from itertools import count
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

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

_READERS = 4
"""Places in one text that are read on from at a time."""

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
    """Those offsets, as they are in the log now."""
    return LogSpan(start, end, covering(log, start, end), made_by, log)


class ExactText(Generic[From]):
    """See the module. It is closed when neither `ExactTexts` nor a reader has it any more."""

    def __init__(
        self, span: From, make: Callable[[Place], Pieces], budget: TextBudget, before: "ExactText[From] | None" = None
    ) -> None:
        """`make` makes the text from an offset on, `before` is a text that this one goes on from."""
        self.number = next(_numbers)
        self.span = span
        self._make = make
        self._budget = budget
        self._lock = threading.Lock()
        self._users = 1
        self._length: int | None = None
        self._error: KafkafsError | None = None
        self._failed_at = 0.0
        first = Stream(make, span.start, budget) if before is None else before._continued(make)
        self.readers = [first]  # the one that made it first, then whoever was read last at the end

    def _continued(self, make: Callable[[Place], Pieces]) -> Stream:
        return self.readers[0].continued(make, self._length or 0, max(self.span.start, self.span.end))

    @property
    def is_measured(self) -> bool:
        """True if its size is known."""
        return self._length is not None

    @property
    def ends_in_error(self) -> bool:
        """True if the bytes behind its last one cannot be read."""
        return self._error is not None

    @property
    def may_be_mended(self) -> bool:
        """True if it ended in an error some seconds ago, and a part of it is in a remote tier: its store may answer by
        now."""
        is_old = self._error is not None and self._budget.clock() - self._failed_at > _AGAIN_S
        return is_old and self.span.is_remote

    def measure(self) -> None:
        """Finds its size. Unfinished and the like where that takes longer; Vanished if the log has changed."""
        if self._length is None:
            length, error = self.readers[0].make_all(self._budget.limits.measured)
            if isinstance(error, Vanished):
                raise error
            self._error, self._failed_at = error, self._budget.clock()
            self._length = length

    @property
    def size(self) -> int:
        """Bytes; one more, which cannot be read, where it ends in an error."""
        return (self._length or 0) + (self._error is not None)

    def reaches_error(self, offset: int, size: int) -> bool:
        """True if a read begins in the text and goes on into its error."""
        return self._error is not None and offset < (self._length or 0) < offset + size

    def read(self, offset: int, size: int) -> bytes | memoryview:
        """The text at byte `offset`; fewer bytes only at its end. Behind that its error, or Vanished if the log is
        not what it was: a page that the kernel has of it must be whole."""
        length = self._length or 0
        if offset >= length:
            if self._error is not None and size:
                raise self._error.with_traceback(None)
            return b""
        wanted = min(size, length - offset)
        reader = self._reader_at(offset)
        try:
            text = reader.read(offset, wanted)
            if len(text) < wanted:
                raise Vanished("the measured records are gone; open the file again")
        except Vanished:
            reader.release()  # it would answer so for ever: whoever opens the text again may be made it of another look
            raise
        return text

    def make_as(self, make: Callable[[Place], Pieces]) -> None:
        """From now on it is made so, of a newer look at the same offsets: an older one may need files that are gone, of
        what follows the text and shows how transactions in it ended."""
        with self._lock:
            self._make = make
            for reader in self.readers:
                reader.make_as(make)

    def _reader_at(self, offset: int) -> Stream:
        with self._lock:
            for reader in self.readers:
                if reader.reaches(offset):
                    break
            else:
                if len(self.readers) < _READERS:
                    reader = Stream(self._make, self.span.start, self._budget, marks=self.readers[0].marks)
                    self.readers.append(reader)
                else:
                    reader = self.readers[1]
            if reader is not self.readers[0]:
                self.readers.remove(reader)
                self.readers.append(reader)
            return reader

    @property
    def prefetch_is_due(self) -> bool:
        """See `node.Prefetching`."""
        return any(reader.prefetch_is_due for reader in self.readers)

    def prefetch(self) -> None:
        """See `node.Prefetching`."""
        for reader in list(self.readers):
            if reader.prefetch_is_due:
                return reader.prefetch()
        return None

    def acquire(self) -> bool:
        """One more has it, until `release`; False if it is closed already."""
        with self._lock:
            self._users += self._users > 0
            return self._users > 0

    def release(self, is_read: bool = False) -> None:
        """One less has it. A text that was read to its end makes room for others. It is made in memory that is used
        again, because fresh memory would take as long as the text does."""
        with self._lock:
            self._users -= 1
            left = self._users
        if not left:
            for reader in self.readers:
                reader.close()
        elif left == 1 and is_read:
            for reader in self.readers:
                self._budget.release(reader)


class ExactContent:
    """A text that somebody has open, with the files that it is made from."""

    follows = False

    def __init__(self, text: ExactText[Any], held: object) -> None:
        """`text` is in use already."""
        self.text = text
        self._held = held
        self._read_to = 0
        self.size = text.size
        self.kept_as: Hashable = None if text.ends_in_error else PagesWhileOpen(text.number)

    def read(self, offset: int, size: int) -> bytes | memoryview:
        """The bytes at `offset`. Before an error, whoever reads straight on gets what is left, and then the error; who
        has jumped there the error alone: `tac` and `tail` take a little less than they asked for to be all there is."""
        if offset != self._read_to and self.text.reaches_error(offset, size):
            offset = self.size
        data = self.text.read(offset, size)
        self._read_to = offset + len(data)
        return data

    @property
    def prefetch_is_due(self) -> bool:
        """See `node.Prefetching`."""
        return self.text.prefetch_is_due

    def prefetch(self) -> None:
        """See `node.Prefetching`."""
        self.text.prefetch()

    def close(self) -> None:
        """Free the text and the files."""
        self._held = None
        self.text.release(is_read=self._read_to >= self.size)


class ExactTexts:
    """The texts of a tree that were asked for last, by what asks for them.

    No `functools.lru_cache`: a text that has to go is closed by its last user, and a newer one replaces it in place.
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
        if text is None or text.is_measured or not text.acquire():
            return None
        try:
            text.measure()
        except Vanished:
            self._forget(key, text)
            return None
        finally:
            text.release()
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
            finally:
                text.release()
            if text.span.end >= span.end or text.ends_in_error or not span.is_appended:
                return text

    def _text(self, key: Hashable, span: From, make: Callable[[Place], Pieces]) -> ExactText[From]:
        """The text to measure, in use."""
        with self._lock:
            known = self._known.get(key)
        if known is None or known.may_be_mended or not known.span.grew_to(span) or not known.acquire():
            return self._put(key, ExactText(span, make, self.budget))
        is_all = known.span.end == span.end or (known.ends_in_error and span.is_appended)
        if is_all or not known.is_measured:
            if known.span.end == span.end:
                known.make_as(make)
            return known
        try:
            return self._put(key, ExactText(span, make, self.budget, known if span.is_appended else None))
        finally:
            known.release()

    def _put(self, key: Hashable, text: ExactText[From]) -> ExactText[From]:
        text.acquire()
        with self._lock:
            if key in self._known:
                self._replaced.append(self._known.pop(key))
            self._known[key] = text
            gone = [self._known.popitem(last=False)[1]] if len(self._known) > self.budget.limits.texts else []
            gone += [self._replaced.popleft()] if len(self._replaced) > _REPLACED else []
        for each in gone:
            each.release()
        return text

    def _forget(self, key: Hashable, text: ExactText[Any]) -> None:
        with self._lock:
            is_known = self._known.get(key) is text
            if is_known:
                del self._known[key]
        if is_known:
            text.release()
