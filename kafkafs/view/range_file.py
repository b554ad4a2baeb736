"""Text as a file: with a size where it is small (`-o exact=`), a stream where it is not. `RangeFile` is a range.

The kernel opens the text whose size it was shown, as long as the logs still have it as it was. Otherwise it is another
text, and the kernel looks the name up again.
"""

from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import ClassVar, Generic, TypeVar
from weakref import ReferenceType, ref

from kafkafs.errors import Lost
from kafkafs.log.log import Log
from kafkafs.log.look import Extent, Look
from kafkafs.log.places import RangeTarget
from kafkafs.view.exact import ExactContent, ExactText, ExactTexts, From, LogSpan, span_of
from kafkafs.view.node import Attributes, NoXattrs
from kafkafs.view.partition_view import PartitionView
from kafkafs.view.streams import Pieces, Stream

Make = Callable[[int], Pieces]
State = TypeVar("State")


class SizedFile(NoXattrs, Generic[State, From]):
    """A file that is made of one state of the logs at a time. It remembers the text whose size the kernel has: a weak
    reference, since the cache may drop the text meanwhile."""

    _shown: ReferenceType[ExactText[From]] | None = None
    _about: Attributes | None = None
    _finished: ExactText[From] | None = None

    def _text(self, state: State) -> ExactText[From] | None:
        """The text of that state, measured; None if it is not small. Unfinished if it takes longer."""
        raise NotImplementedError

    def _has(self, state: State, span: From) -> bool:
        """True if that state still has all of the span, as it was."""
        raise NotImplementedError

    def _held(self, state: State, span: From) -> object:
        """The files that the span is read from, held open."""
        raise NotImplementedError

    def _stream(self, state: State) -> Stream:
        """The text of that state, without a size."""
        raise NotImplementedError

    def _resume(self, texts: ExactTexts, key: Hashable) -> Attributes | None:
        """Go on with a measurement that an earlier call has begun (`ExactTexts.resume`). If this call finishes it,
        return the attributes of the text, with what the earlier call saw of the logs."""
        about, text = self._about, texts.resume(key)
        if about is None:  # another node has begun it
            self._finished = text
        return None if text is None or about is None else self._show(about, text)

    def _sized(self, about: Attributes, state: State) -> Attributes:
        """The attributes of the text, by those of a stream; if measuring it is Unfinished, `_resume` goes on."""
        self._about, finished, self._finished = about, self._finished, None
        return self._show(about, finished or self._text(state))

    def _show(self, about: Attributes, text: ExactText[From] | None) -> Attributes:
        if text is None:
            self._shown = None
            return about
        self._shown = ref(text)
        return about._replace(size=text.size, version=text.number, is_fixed=True)

    def _opened(self, state: State) -> ExactContent | Stream:
        """The text whose size was shown, if that state has it; else the text of that state. A stream if the kernel was
        shown no size."""
        shown = self._shown  # another thread may set another text meanwhile
        if shown is None:
            return self._stream(state)
        text = shown()
        if text is None or not self._has(state, text.span):
            text = self._text(state)
        return self._stream(state) if text is None else text.opened(self._held(state, text.span))


class RangeFile(SizedFile[Look, LogSpan]):
    """The file of one range; what its text is made of is said by `_end` and `_made`."""

    isolated: ClassVar[bool]

    def __init__(self, view: PartitionView, target: RangeTarget, kind: object) -> None:
        """`kind` distinguishes its text from others of the same range."""
        self._view = view
        self._target = target
        self._key: Hashable = (view.key, target, kind)

    def _end(self, look: Look) -> int:
        """The present end of an open range."""
        raise NotImplementedError

    def _made(self, look: Look, end: int) -> tuple[object, Make]:
        """Everything that the text depends on besides the log; and its maker, from an offset on up to `end`."""
        raise NotImplementedError

    def attributes(self) -> Attributes:
        """The true size of a small range, for which its text is made once; 0 of a stream. The time is the largest
        timestamp that the indexes tell for the range. Kept no moment by its name."""
        return self._resume(self._view.resources.exact, self._key) or self._view.ask(self._attributes)

    def _attributes(self, look: Look) -> Attributes:
        start, end = self._target.offsets(look, isolated=self.isolated)
        return self._sized(self._view.stream_attributes(look, start, end), look)

    def open(self) -> ExactContent | Stream:
        """The text that `attributes` announced, as long as the log has it. Otherwise the present records, up to the
        present end at most."""
        return self._view.ask(self._open)

    def _open(self, look: Look) -> ExactContent | Stream:
        self._target.check_end(look, isolated=self.isolated)
        return self._opened(look)

    def _text(self, state: Look) -> ExactText[LogSpan] | None:
        span, make = self._span_and_make(state)
        if not is_small([(state.log, span)], self._view.options.exact):
            return None
        return self._view.resources.exact.measured(self._key, span, make)

    def _span_and_make(self, look: Look) -> tuple[LogSpan, Make]:
        start, end = self._target.offsets(look, isolated=self.isolated)
        start, present = max(start, look.log.start_offset), self._end(look)
        end = present if end is None else min(end, present)
        made_by, make = self._made(look, end)
        return span_of(look.log, start, end, made_by), make

    def _has(self, state: Look, span: LogSpan) -> bool:
        return span.is_in(state.log)

    def _held(self, state: Look, span: LogSpan) -> object:
        return state.log.hold(span.start, span.end)

    def _stream(self, state: Look) -> Stream:
        span, make = self._span_and_make(state)
        return Stream(make, span.start, self._view.resources.text, held=self._held(state, span))


def is_small(ranges: Sequence[tuple[Log, LogSpan]], limit: int) -> bool:
    """True if ranges are made of no more than so many bytes of log. The sizes of the segments often
    answer that. A range with a lost remote segment of unknown size is not small."""
    if not limit or limit >= 2**63 - 1:
        return bool(limit)
    with suppress(Lost):
        if sum(log.walk_end(segment) for log, span in ranges for segment in span.segments) <= limit:
            return True
        if sum(segment.seen[0] for _, span in ranges for segment in span.segments[1:-1]) <= limit:
            return _size_of(ranges) <= limit
    return False


def _size_of(ranges: Sequence[tuple[Log, LogSpan]]) -> int:
    """Bytes of log. If a segment is lost, all that was uploaded counts, and readers get the error."""
    try:
        extents = [extent for log, span in ranges for extent in Extent.between(log, span.start, span.end)]
    except Lost:
        return sum(segment.seen[0] for _, span in ranges for segment in span.segments)
    return sum(extent.end - extent.position for extent in extents)
