"""A range of time over all partitions of a topic: their own lines, merged by time (`format.merged_lines`).

For each partition, it is the range of its own by-time/. Only `end-15m` counts from the newest record of all of them. A
follower goes on in rounds: what all partitions have at one moment is merged, then what has come up to the next one, so
that a partition that stays quiet holds no other back.
"""

import logging
from array import array
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple, TypeVar

from kafkafs.disk.access import Access, common
from kafkafs.disk.blocking import may_block
from kafkafs.errors import CorruptData, DiskError, Lost, NotFound, TooLarge, Vanished
from kafkafs.format.merged_lines import MergedLines
from kafkafs.format.records import Records
from kafkafs.format.times import FromEnd
from kafkafs.log.log import HELD
from kafkafs.log.look import Look
from kafkafs.log.places import BetweenTimes
from kafkafs.view.decoded import Follower, Lines
from kafkafs.view.exact import ExactContent, ExactText, LogSpan, span_of
from kafkafs.view.node import Attributes, NoXattrs
from kafkafs.view.partition_view import PartitionView
from kafkafs.view.range_file import SizedFile, is_small
from kafkafs.view.streams import TEXT_MEMORY, Pieces, Stream, TextLimits

_EACH = 1 << 20
"""Bytes that a partition takes, more or less, while it is merged; those of one range never count as more than a part of
what all streams may hold, or two that are read side by side would start again with each read."""

logger = logging.getLogger(__name__)
Answer = TypeVar("Answer")


class _Part(NamedTuple):
    """One partition's part of the range: the visible records with start <= offset < end."""

    view: PartitionView
    look: Look
    start: int
    end: int

    @property
    def span(self) -> LogSpan:
        """The part as a span of the log at the time of the look."""
        return span_of(self.look.log, self.start, self.end, None)


class _Spans(NamedTuple):
    """The spans of all parts, and what their lines depend on besides. New records of any of them may belong in the
    midst of the text."""

    parts: tuple[LogSpan, ...]
    keys: tuple[Hashable, ...]
    made_by: object
    end: int  # the sum of all ends
    is_appended: bool = False

    @property
    def start(self) -> Sequence[int]:
        """The offset that each begins at."""
        return array("q", [part.start for part in self.parts])

    @property
    def is_remote(self) -> bool:
        """True if a part of one is in a remote tier."""
        return any(part.is_remote for part in self.parts)

    def grew_to(self, other: "_Spans") -> bool:
        """True if each has what it had."""
        same = self.made_by is other.made_by and self.keys == other.keys
        return same and all(map(LogSpan.grew_to, self.parts, other.parts))

    def are_in(self, parts: Sequence[_Part]) -> bool:
        """True if the logs of those parts still have all of them, as they were."""
        logs = [part.look.log for part in parts]
        return self.keys == tuple(part.view.key for part in parts) and all(map(LogSpan.is_in, self.parts, logs))


class _TopicRange(NoXattrs):
    """The common part of a range and its follower: the partitions, and the rights that all of them grant."""

    lane = ".topics"

    def __init__(
        self, topic: str, views: Callable[[], Sequence[PartitionView]], range_: BetweenTimes, lines: type[Lines]
    ) -> None:
        """`views` are those of the partitions that are here now, by their numbers."""
        self._topic = topic
        self._views = views
        self._range = range_
        self._lines = lines

    def attributes(self) -> Attributes:
        """A stream's, of size 0; what all partitions grant together, and the newest time of theirs."""
        return self._granted(*self._targeted())[0]

    def _granted(self, views: Sequence[PartitionView], target: BetweenTimes) -> tuple[Attributes, list[_Part]]:
        """The attributes, and the parts, of one look at each partition."""

        def of_one(view: PartitionView) -> tuple[Attributes, Attributes, _Part]:
            def asked(look: Look) -> tuple[Attributes, _Part]:
                part = _part(view, look, target)
                return view.stream_attributes(look, part.start, part.end), part

            own, part = view.ask(asked)
            return view.directory_attributes(), self._lines.attributes(view, own), part

        found = each_there(views, of_one)
        if not found:
            raise gone(self._topic)
        access = granted_together([own for _, own, _ in found], [above for above, _, _ in found])
        newest = max(own.mtime_ns for _, own, _ in found)
        return found[0][1].granting(access)._replace(mtime_ns=newest), [part for _, _, part in found]

    def _targeted(self) -> tuple[Sequence[PartitionView], BetweenTimes]:
        """The partitions, and what the range means for each of them now."""
        views = all_of(self._topic, self._views)
        first, last, from_now = self._range
        if isinstance(first, FromEnd) or isinstance(last, FromEnd):
            newest = newest_ms(views)
            first = first.before(newest) if isinstance(first, FromEnd) else first
            last = last.before(newest) if isinstance(last, FromEnd) else last
        return views, BetweenTimes(first, last, from_now)


class MergedRange(_TopicRange, SizedFile[Sequence[_Part], _Spans]):
    """`.jsonl` of a range of a topic, decoded too: a file where it is small, as of one partition, else a stream."""

    def attributes(self) -> Attributes:
        """The rights that all partitions grant together, and their newest time. The true size of a small range."""
        may_block()
        views = self._views()[:1]
        finished = self._resume(views[0].resources.exact, self._key) if views else None
        return finished or self._sized(*self._granted(*self._targeted()))

    @property
    def _key(self) -> Hashable:
        return ".topics", self._topic, self._range, self._lines

    def open(self) -> ExactContent | Stream:
        """The text that `attributes` announced, as long as all logs have it. Otherwise the records that are visible
        now."""
        views, target = self._targeted()
        asked_of_each(views, lambda _, look: target.check_end(look, isolated=True))
        parts = _parts(views, target)
        if not parts:
            raise gone(self._topic)
        return self._opened(parts)

    def _text(self, state: Sequence[_Part]) -> ExactText[_Spans] | None:
        """The measured text of these parts; None if it is too large to measure.

        A measurement that has begun is finished even if the logs grow meanwhile. Otherwise a busy topic would never
        get a size."""
        view = state[0].view
        spans = tuple(part.span for part in state)
        logs = (part.look.log for part in state)
        if not is_small([*zip(logs, spans, strict=True)], view.options.exact):
            return None
        lines = self._lines(view)
        keys = tuple(part.view.key for part in state)
        together = _Spans(spans, keys, lines.made_by, sum(span.end for span in spans))
        return view.resources.exact.measured(self._key, together, _text(lines, state, view.resources.text.limits))

    def _has(self, state: Sequence[_Part], span: _Spans) -> bool:
        return span.are_in(state)

    def _held(self, state: Sequence[_Part], span: _Spans) -> object:  # noqa: ARG002 (the parts are what can be held now)
        return _held(state)

    def _stream(self, state: Sequence[_Part]) -> Stream:
        view = state[0].view
        extra_bytes = min(len(state) * _EACH, TEXT_MEMORY // 4)
        budget, starts = view.resources.text, array("q", [part.start for part in state])
        make = _text(self._lines(view), state, budget.limits)
        return Stream(make, starts, budget, held=_held(state), extra_bytes=extra_bytes)


class MergedFollower(_TopicRange):
    """`.follow.jsonl` of an open range of a topic, decoded too: a stream."""

    def open(self) -> Stream:
        """The records that are visible now, and those that become visible in the partitions of now."""
        views, target = self._targeted()
        asked_of_each(views, lambda _, look: target.check_end(look, isolated=True))
        followers = asked_of_each(views, lambda view, look: (view, Follower(view, look, target)))
        budget = views[0].resources.text
        text = _Followed(self._lines(views[0]), followers, budget.limits)
        return Stream(text.pieces, 0, budget, text.has_more)


def gone(topic: str) -> NotFound:
    """The error of a topic without a partition."""
    return NotFound(f"nothing of the topic {topic!r} is here any more")


def all_of(topic: str, views: Callable[[], Sequence[PartitionView]]) -> Sequence[PartitionView]:
    """The partitions of a topic, for questions to many of them. NotFound without any."""
    may_block()
    found = views()
    if not found:
        raise gone(topic)
    return found


def newest_ms(views: Sequence[PartitionView]) -> int:
    """The time of the newest record of all partitions, from which a time counts back; 0 without a record."""
    return max(asked_of_each(views, lambda _, look: look.milliseconds(FromEnd(0))), default=0)


def granted_together(files: Sequence[Attributes], directories: Sequence[Attributes]) -> Access:
    """The rights to read that all of those files and the directories above them grant."""
    granted = [file.access for file in files] + [above.access.for_entries_below() for above in directories]
    access = common([*dict.fromkeys(granted)])
    return access._replace(mode=access.mode & 0o444)


def each_there(views: Sequence[PartitionView], ask: Callable[[PartitionView], Answer]) -> list[Answer]:
    """Return the answer of each of the partitions that is still there."""
    answers = []
    for view in views:
        with suppress(NotFound):
            answers.append(ask(view))
    return answers


def asked_of_each(views: Sequence[PartitionView], ask: Callable[[PartitionView, Look], Answer]) -> list[Answer]:
    """The answers of all partitions that are there, each asked about the partition's present log."""
    return each_there(views, lambda view: view.ask(partial(ask, view)))


def _parts(views: Sequence[PartitionView], target: BetweenTimes) -> list[_Part]:
    return asked_of_each(views, lambda view, look: _part(view, look, target))


def _held(parts: Sequence[_Part]) -> object:
    """The files of each part, as far as descriptors go: a file that is read need not be a held one."""
    may_hold = parts[0].view.options.descriptors.may_hold_more
    most = HELD // len(parts) + 1
    return [part.look.log.hold(part.start, part.end, most) for part in parts if may_hold(len(parts))]


def _part(view: PartitionView, look: Look, target: BetweenTimes) -> _Part:
    start, end = target.offsets(look, isolated=True)
    start, present = max(start, look.log.start_offset), look.visible.visible_end
    part = _Part(view, look, start, present if end is None else min(end, present))
    with suppress(Lost):  # its reader gets the error
        for segment in part.span.segments[:1]:
            _ = segment.seen  # Vanished if a tier is listed for that: the question is asked again of what is there
    return part


def _records(part: _Part) -> Iterator[Records]:
    """The records of a part; an error names the partition, also in the log."""
    try:
        yield from part.look.visible.records(part.start, part.end)
    except (CorruptData, DiskError, TooLarge, Vanished) as error:
        topic = part.look.log.name.topic
        logger.warning(".topics/%s: a range ends with an error, that of %s: %s", topic, part.view.shown_as, error)
        raise type(error)(f"{part.view.shown_as}: {error}") from None


def _merged(lines: Lines, parts: Sequence[_Part]) -> Iterator[tuple[Callable[[], tuple[int, ...]] | None, memoryview]]:
    """The text of all parts. Each piece that ends with a line has the source of the offsets at which the next piece
    begins."""
    there = [number for number, part in enumerate(parts) if part.start < part.end]
    merged = MergedLines([(lines.maker(parts[number].look.log.name), _records(parts[number])) for number in there],
                         [parts[number].start for number in there])  # fmt: skip

    def places() -> tuple[int, ...]:
        offsets = [part.start for part in parts]
        for number, offset in zip(there, merged.places, strict=True):
            offsets[number] = offset
        return tuple(offsets)

    for is_whole, piece in merged.pieces():
        yield places if is_whole else None, piece


def _text(lines: Lines, parts: Sequence[_Part], limits: TextLimits) -> Callable[[Sequence[int]], Pieces]:
    """Make the maker of their text, as a stream takes it. A place is the offset of each part at which its next line
    begins."""
    apart = max(limits.mark_every, len(parts) * limits.mark_part)

    def pieces(starts: Sequence[int]) -> Pieces:
        behind = 0  # bytes behind the last place
        for places, piece in _merged(
            lines, [part._replace(start=start) for part, start in zip(parts, starts, strict=True)]
        ):
            behind += len(piece)
            if places is None or behind < apart:
                yield None, piece
            else:
                yield array("q", places()), piece
                behind = 0

    return pieces


class _Followed:
    """The present and later records, as a stream takes them. It remembers the newest place, the last place that a
    stream may go back to, and the end of each round since that one."""

    def __init__(self, lines: Lines, followers: Sequence[tuple[PartitionView, Follower]], limits: TextLimits) -> None:
        self._lines = lines
        self._mark_every = limits.mark_every
        self._followers = followers
        self._places = {0: (0, tuple(follower.earliest for _, follower in followers))}
        self._mark = 0
        self._rounds: dict[int, tuple[int, ...]] = {}

    def has_more(self) -> bool:
        """True if any partition may have more by now. Vanished if one is another log."""
        may_block()  # as many are asked
        return any(follower.has_more() for _, follower in self._followers)

    def pieces(self, place: int) -> Pieces:
        """The text from a place on: the rounds that were, then one more."""
        if place not in self._places:
            raise Vanished("the text that was followed cannot be read again; open the file again")
        (number, offsets), position, is_new = self._places[place], place, False
        while not is_new:
            is_new = number not in self._rounds
            parts = [self._part(each, offset) for each, offset in zip(self._followers, offsets, strict=True)]
            if is_new:
                self._rounds[number] = tuple(part.end for part in parts)
            ends = self._rounds[number]
            parts = [part._replace(end=end) for part, end in zip(parts, ends, strict=True)]
            for behind, piece in _merged(self._lines, parts):
                position += len(piece)
                if behind is not None:
                    self._note(position, number, behind())
                yield None if behind is None else position, piece
            number, offsets = number + 1, ends
            self._note(position, number, offsets)
            yield position, b""
            for (_, follower), part in zip(self._followers, parts, strict=True):
                if part.end >= part.look.visible.visible_end:
                    follower.reach(part.look)

    def _part(self, followed: tuple[PartitionView, Follower], offset: int) -> _Part:
        """The records of a partition from an offset on."""
        view, follower = followed
        look = follower.look_from(offset)
        start = follower.start(look)
        if start is None:
            return _Part(view, look, offset, offset)
        start = max(start, offset)
        return _Part(view, look, start, max(look.visible.visible_end, start))

    def _note(self, place: int, number: int, offsets: tuple[int, ...]) -> None:
        """Go on from a place, in a round, with these offsets."""
        for (_, follower), offset in zip(self._followers, offsets, strict=True):
            follower.give(offset)
        if place - self._mark >= self._mark_every:
            self._mark = place
            self._rounds = {each: ends for each, ends in self._rounds.items() if each >= number}
        kept = {at: known for at, known in self._places.items() if at == self._mark}
        self._places = {**kept, place: (number, offsets)}
