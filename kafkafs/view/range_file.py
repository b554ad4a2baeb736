"""A range as text: a file with a size where it is small (`-o exact=`), a stream where it is not.

The kernel opens the text that it was told of, as long as the log still has it as it was. Otherwise it is another text,
and the kernel looks the name up again.
"""

from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import ClassVar

from kafkafs.errors import Lost
from kafkafs.log.log import Log
from kafkafs.log.look import Extent, Look
from kafkafs.log.places import RangeTarget
from kafkafs.view.exact import ExactContent, ExactText, LogSpan, ShownText, span_of
from kafkafs.view.node import Attributes, NoXattrs
from kafkafs.view.partition_view import PartitionView
from kafkafs.view.streams import Pieces, Stream

Make = Callable[[int], Pieces]


class RangeFile(NoXattrs):
    """The file of one range; what its text is made of is said by `_end` and `_made`."""

    isolated: ClassVar[bool]

    def __init__(self, view: PartitionView, target: RangeTarget, kind: object) -> None:
        """`kind` tells its text from others of the same range."""
        self._view = view
        self._target = target
        self._kind = kind
        self._shown: ShownText[LogSpan] = ShownText()

    def _end(self, look: Look) -> int:
        """The present end of an open range."""
        raise NotImplementedError

    def _made(self, look: Look, end: int) -> tuple[object, Make]:
        """Everything that the text depends on besides the log; and its maker, from an offset on up to `end`."""
        raise NotImplementedError

    def attributes(self) -> Attributes:
        """The true size of a small range, for which its text is made once; 0 of a stream. The time is the largest
        timestamp that the indexes tell for the range. Kept no moment by its name."""
        return self._shown.finished(self._view.resources.exact, self._key) or self._view.ask(self._attributes)

    @property
    def _key(self) -> Hashable:
        return self._view.key, self._target, self._kind

    def _attributes(self, look: Look) -> Attributes:
        about = self._view.stream_attributes(look, *self._target.offsets(look, isolated=self.isolated))
        return self._shown.attributes_of(about, lambda: self._text(look))

    def _text(self, look: Look) -> ExactText[LogSpan] | None:
        """The text of the range as it is in this log, measured; None of one that is not small."""
        span, make = self._span_and_make(look)
        if not is_small([(look.log, span)], self._view.options.exact):
            return None
        return self._view.resources.exact.measured(self._key, span, make)

    def _span_and_make(self, look: Look) -> tuple[LogSpan, Make]:
        start, end = self._target.offsets(look, isolated=self.isolated)
        start, present = max(start, look.log.start_offset), self._end(look)
        end = present if end is None else min(end, present)
        made_by, make = self._made(look, end)
        return span_of(look.log, start, end, made_by), make

    def open(self) -> ExactContent | Stream:
        """The text that `attributes` announced, as long as the log has it. Otherwise the present records, up to the
        present end at most."""
        return self._view.ask(self._open)

    def _open(self, look: Look) -> ExactContent | Stream:
        text = self._shown.use(lambda shown: shown.is_in(look.log), lambda: self._text(look))
        if text is not None:
            return ExactContent(text, look.log.hold(text.span.start, text.span.end))
        span, make = self._span_and_make(look)
        held = look.log.hold(span.start, span.end)
        return Stream(make, span.start, self._view.resources.text, held=held)


def is_small(ranges: Sequence[tuple[Log, LogSpan]], limit: int) -> bool:
    """True if ranges are made of no more than so many bytes of log. Those that obviously are, or are not, are told at
    once; nor is one with a remote segment that is lost, if nothing tells how large it was."""
    if not limit or limit >= 2**63 - 1:
        return bool(limit)
    with suppress(Lost):
        if sum(log.walk_end(segment) for log, span in ranges for segment in span.segments) <= limit:
            return True
        if sum(segment.seen[0] for _, span in ranges for segment in span.segments[1:-1]) <= limit:
            return _size_of(ranges) <= limit
    return False


def _size_of(ranges: Sequence[tuple[Log, LogSpan]]) -> int:
    """Bytes of log; of one with a lost segment, of which who reads on hears, all that was uploaded."""
    try:
        extents = [extent for log, span in ranges for extent in Extent.between(log, span.start, span.end)]
    except Lost:
        return sum(segment.seen[0] for _, span in ranges for segment in span.segments)
    return sum(extent.end - extent.position for extent in extents)
