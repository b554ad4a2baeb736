"""A range of time over all partitions of a topic: their own lines, merged by time (`format.merging`).

Of each partition it is the range of its own by-time/, but for `end-15m`, which counts from the newest record of all of
them. A follower goes on in rounds: what all partitions have at one moment is merged, then what has come up to the next
one, so that a partition that stays quiet holds no other back.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeVar

from kafkafs.disk.blocking import may_block
from kafkafs.errors import CorruptData, NotFound, TooLarge, Vanished
from kafkafs.format.columns import Records
from kafkafs.format.merging import MergedLines
from kafkafs.log.log import HELD
from kafkafs.view.decoded import JsonFollower
from kafkafs.view.following import Follower
from kafkafs.view.grammar import FromEnd, TimeRange
from kafkafs.view.line_makers import Lines
from kafkafs.view.node import Attributes, NoXattrs
from kafkafs.view.partition_view import PartitionView
from kafkafs.view.permissions import Access, common
from kafkafs.view.streams import MARK_EVERY, TEXT_MEMORY, Pieces, Stream
from kafkafs.view.targets import BetweenTimes, LogSnapshot

_EACH = 1 << 20
"""Bytes that a partition takes, more or less, while it is merged; those of one range never count as more than a part of
what all streams may hold, or two that are read side by side would begin anew with each read."""

logger = logging.getLogger(__name__)
Answer = TypeVar("Answer")


class _Part(NamedTuple):
    """What stands of one partition in the range: the visible records with start <= offset < end."""

    shown_as: str
    snapshot: LogSnapshot
    start: int
    end: int


class MergedRange(NoXattrs):
    """`.jsonl` and `.follow.jsonl` of a range of a topic, decoded too: a stream."""

    lane = ".topics"

    def __init__(
        self,
        topic: str,
        views: Callable[[], Sequence[PartitionView]],
        range_: TimeRange,
        follows: bool,
        lines: type[Lines],
    ) -> None:
        """`views` are those of the partitions that are here now, by their numbers."""
        self._topic = topic
        self._views = views
        self._range = range_
        self._follows = follows
        self._lines = lines

    def attributes(self) -> Attributes:
        """A stream's, of size 0; what all partitions grant together, and the newest time of theirs."""
        views, target = self._targeted()
        found = []
        for view in views:
            with suppress(NotFound):
                found.append((view.directory_attributes(), JsonFollower(view, target, self._lines).attributes()))
        if not found:
            raise self._gone()
        granted = [Access(own.uid, own.gid, own.mode) for _, own in found]
        granted += [Access(above.uid, above.gid, (above.mode & 0o111) * 7) for above, _ in found]
        uid, gid, mode = common(granted)
        newest = max(own.mtime_ns for _, own in found)
        return found[0][1]._replace(uid=uid, gid=gid, mode=mode & 0o444, mtime_ns=newest)

    def open(self) -> Stream:
        """A stream of what is visible now; a follower goes on with what becomes visible in the partitions of now."""
        views, target = self._targeted()
        lines = self._lines(views[0])
        held: list[object] = []
        text: _Text | _Followed
        if self._follows:
            text = _Followed(lines, _of_each(views, lambda view: (view.shown_as, _follower(view, target))))
        else:
            parts = _of_each(views, lambda view: view.ask(lambda snapshot: _part(view.shown_as, snapshot, target)))
            held = [part.snapshot.log.hold(part.start, part.end, HELD // len(parts) + 1) for part in parts]
            text = _Text(lines, parts)
        besides = min(len(views) * _EACH, TEXT_MEMORY // 4)
        return Stream(text.pieces, 0, views[0].resources.text, text.has_more, held, besides)

    def _targeted(self) -> tuple[Sequence[PartitionView], BetweenTimes]:
        """The partitions, and what the range means for each of them now."""
        may_block()  # as many are asked
        views = self._views()
        if not views:
            raise self._gone()
        first, last, from_now = self._range
        if isinstance(first, FromEnd) or isinstance(last, FromEnd):
            told = _of_each(views, lambda view: view.ask(lambda snapshot: snapshot.milliseconds(FromEnd(0))))
            newest = max(told, default=0)
            first = max(0, newest - first.ago_ms) if isinstance(first, FromEnd) else first
            last = max(0, newest - last.ago_ms) if isinstance(last, FromEnd) else last
        return views, BetweenTimes(TimeRange(first, last, from_now))

    def _gone(self) -> NotFound:
        return NotFound(f"nothing of the topic {self._topic!r} is here any more")


def _of_each(views: Sequence[PartitionView], ask: Callable[[PartitionView], Answer]) -> list[Answer]:
    """What each of the partitions answers that is still there."""
    answers = []
    for view in views:
        with suppress(NotFound):
            answers.append(ask(view))
    return answers


def _follower(view: PartitionView, target: BetweenTimes) -> Follower:
    return view.ask(lambda snapshot: Follower(view, snapshot, target))


def _part(shown_as: str, snapshot: LogSnapshot, target: BetweenTimes) -> _Part:
    start, end = target.offsets(snapshot, isolated=True)
    start = max(start, snapshot.log.start_offset)
    return _Part(shown_as, snapshot, start, snapshot.visible.visible_end if end is None else end)


def _records(part: _Part) -> Iterator[Records]:
    """Its records; what goes wrong with them names the partition, also in the log."""
    try:
        yield from part.snapshot.visible.records(part.start, part.end)
    except (CorruptData, TooLarge, Vanished) as error:
        topic = part.snapshot.log.name.topic
        logger.warning(".topics/%s: a range ends with an error, that of %s: %s", topic, part.shown_as, error)
        raise type(error)(f"{part.shown_as}: {error}") from None


def _merged(lines: Lines, parts: Sequence[_Part]) -> Iterator[tuple[Callable[[], tuple[int, ...]] | None, memoryview]]:
    """Their text; with a piece that ends with a line, what tells the offsets that what follows begins at."""
    there = [number for number, part in enumerate(parts) if part.start < part.end]
    merged = MergedLines([(lines.maker(parts[number].snapshot.log.name), _records(parts[number])) for number in there],
                         [parts[number].start for number in there])  # fmt: skip

    def places() -> tuple[int, ...]:
        """Of all partitions, as of now."""
        offsets = [part.start for part in parts]
        for number, offset in zip(there, merged.places, strict=True):
            offsets[number] = offset
        return tuple(offsets)

    for is_whole, piece in merged.pieces():
        yield places if is_whole else None, piece


class _Text:
    """What is there, as a stream takes it: a place is a byte of the text, from which on offsets are remembered."""

    has_more = None

    def __init__(self, lines: Lines, parts: Sequence[_Part]) -> None:
        self._lines = lines
        self._parts = parts
        self._offsets = {0: tuple(part.start for part in parts)}
        self._newest = 0

    def pieces(self, place: int) -> Pieces:
        """The text from a place on."""
        parts = [part._replace(start=start) for part, start in zip(self._parts, self._offsets[place], strict=True)]
        position = place
        for places, piece in _merged(self._lines, parts):
            position += len(piece)
            if places is not None and position >= self._newest + MARK_EVERY:
                self._newest, self._offsets[position] = position, places()
            yield position if position in self._offsets else None, piece


class _Followed:
    """What is there and comes, as a stream takes it. Of places it remembers the newest one, and the last that a stream
    may go back to, and since that one where each round ended."""

    def __init__(self, lines: Lines, followers: Sequence[tuple[str, Follower]]) -> None:
        self._lines = lines
        self._followers = followers
        self._places = {0: (0, tuple(follower.earliest for _, follower in followers))}
        self._mark = 0
        self._rounds: dict[int, tuple[int, ...]] = {}

    def has_more(self) -> bool:
        """Whether any partition may have more by now. Vanished where one is another log."""
        may_block()  # as many are asked
        return any(follower.has_more() for _, follower in self._followers)

    def pieces(self, place: int) -> Pieces:
        """The text from a place on: the rounds that were, then one more."""
        if place not in self._places:
            raise Vanished("what was followed cannot be made once more; open it again")
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
                if part.end >= part.snapshot.visible.visible_end:
                    follower.reach(part.snapshot)

    def _part(self, followed: tuple[str, Follower], offset: int) -> _Part:
        """What a partition has from an offset on."""
        shown_as, follower = followed
        snapshot = follower.snapshot_from(offset)
        start = follower.start(snapshot)
        if start is None:
            return _Part(shown_as, snapshot, offset, offset)
        start = max(start, offset)
        return _Part(shown_as, snapshot, start, max(snapshot.visible.visible_end, start))

    def _note(self, place: int, number: int, offsets: tuple[int, ...]) -> None:
        """Goes on, in a round, with these offsets from a place on."""
        for (_, follower), offset in zip(self._followers, offsets, strict=True):
            follower.give(offset)
        if place - self._mark >= MARK_EVERY:
            self._mark = place
            self._rounds = {each: ends for each, ends in self._rounds.items() if each >= number}
        kept = {at: known for at, known in self._places.items() if at == self._mark}
        self._places = {**kept, place: (number, offsets)}
