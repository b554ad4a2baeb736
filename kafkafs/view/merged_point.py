"""`.topics/<topic>/by-time/before-<time>.jsonl`: the last record of a topic before a time.

It is the last line of the merged range that ends there. A merged range takes a partition's lines as early as its
largest timestamp so far allows. So the last line is that of the partition with the largest timestamp in the range. If
records are equal, the partition with the larger number comes last.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from kafkafs.errors import CorruptData, DiskError, NotFound, TooLarge, Vanished
from kafkafs.format.times import time_text
from kafkafs.log.look import Look
from kafkafs.log.places import BeforeTime, BetweenTimes
from kafkafs.view.decoded import JsonPoint, Lines
from kafkafs.view.merged import all_of, each_there, granted_together, newest_ms
from kafkafs.view.node import Attributes, BytesContent
from kafkafs.view.partition_view import PartitionView

Answer = TypeVar("Answer")


class _Last(NamedTuple):
    """The last record of a partition before the time."""

    view: PartitionView
    offset: int
    timestamp: int


class MergedPoint:
    """The file: one line."""

    lane = ".topics"

    def __init__(
        self, topic: str, views: Callable[[], Sequence[PartitionView]], target: BeforeTime, lines: type[Lines]
    ) -> None:
        """`views` are those of the partitions that are here now, by their numbers."""
        self._topic = topic
        self._views = views
        self._target = target
        self._lines = lines
        self._shown: JsonPoint | None = None

    def attributes(self) -> Attributes:
        """The true size, and the record's time; what all partitions grant together. NotFound without a record."""
        views = all_of(self._topic, self._views)
        point = self._shown = self._point(views)
        own = point.attributes()
        files = [own, *each_there(views, self._range_attributes)]
        return own.granting(granted_together(files, each_there(views, PartitionView.directory_attributes)))

    def open(self) -> BytesContent:
        """The line whose size `attributes` returned, or the one that is last now."""
        return self._last_shown().open()

    def xattrs(self) -> Mapping[str, bytes]:
        """The extended attributes of the record, as in its partition."""
        return self._last_shown().xattrs()

    def _last_shown(self) -> JsonPoint:
        return self._shown or self._point(all_of(self._topic, self._views))

    def _range_attributes(self, view: PartitionView) -> Attributes:
        return view.ask(lambda look: view.stream_attributes(look, look.log.start_offset, None))

    def _point(self, views: Sequence[PartitionView]) -> JsonPoint:
        time = self._target.time
        target = BeforeTime(time if isinstance(time, int) else time.before(newest_ms(views)))

        def last(view: PartitionView) -> _Last:
            """NotFound if the partition has none."""
            found = _named(view, target.record)
            return _Last(view, found.offset, found.timestamp)

        there = each_there(views, last)
        if not there:
            raise NotFound(f"no record of {self._topic} is before {time_text(target.time)}")
        newest = max(each.timestamp for each in there)
        largest = [_largest(each, BetweenTimes(max(newest, 0), target.time)) for each in there]
        number = max(range(len(there)), key=lambda number: (largest[number], number))
        return JsonPoint(there[number].view, target, self._lines)


def _named(view: PartitionView, question: Callable[[Look], Answer]) -> Answer:
    """The partition's answer; its error names the partition."""
    try:
        return view.ask(question)
    except (CorruptData, DiskError, TooLarge, Vanished) as error:
        raise type(error)(f"{view.shown_as}: {error}") from None


def _largest(last: _Last, since: BetweenTimes) -> int:
    """The largest timestamp of the partition's visible records in the range, which ends with that record; -2 if it has
    none there."""

    def asked(look: Look) -> int:
        start, _ = since.offsets(look, isolated=True)
        found = (int(records.rows["timestamp"].max()) for records in look.visible.records(start, last.offset + 1))
        return max(found, default=-2)

    return _named(last.view, asked)
