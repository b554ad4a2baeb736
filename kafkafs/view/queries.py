"""`by-offset/` and `by-time/`: a name is parsed to a query and becomes the file that answers it.

The listing has a range for each segment. Everything else in the grammar can be opened and is not listed.
"""

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from kafkafs.disk.blocking import may_block
from kafkafs.errors import NotFound
from kafkafs.format.times import IN_DOUBT_BELOW, MAX_INT64, doubt
from kafkafs.log.places import AtOffset, AtTime, BeforeTime, BetweenOffsets, BetweenTimes, PointTarget, RangeTarget
from kafkafs.view.batches import BatchesPoint, BatchesRange
from kafkafs.view.decoded import FieldPoint, JsonFollower, JsonPoint, JsonRange, Lines, PlainLines, SchemaLines
from kafkafs.view.explain import Explanation
from kafkafs.view.grammar import (
    BEFORE,
    Query,
    Suffix,
    TimeTarget,
    offset_range_name,
    parse_offset_name,
    parse_time_name,
    time_range_name,
)
from kafkafs.view.node import Entry, FileNode
from kafkafs.view.partition_view import PartitionView, ViewDirectory
from kafkafs.view.raw import RawPoint, RawRange
from kafkafs.view.reasons import OFFSETS, TIMES, refused
from kafkafs.view.resources import WARNINGS

logger = logging.getLogger(__name__)


def _none(view: PartitionView, *_: object) -> FileNode:
    raise NotFound(f"{view.shown_as} has no such name")


class Shown(NamedTuple):
    """The nodes that a suffix makes of a point and of a range, which raise NotFound if `grammar` has no such name. By
    `lines` a topic's ranges are merged."""

    point: Callable[[PartitionView, PointTarget], FileNode] = _none
    range: Callable[[PartitionView, RangeTarget], FileNode] = _none
    lines: type[Lines] | None = None


SHOWN = {
    Suffix.RAW: Shown(RawPoint, RawRange),
    Suffix.JSONL: Shown(JsonPoint, JsonRange, PlainLines),
    Suffix.FOLLOW: Shown(range=JsonFollower, lines=PlainLines),
    Suffix.DECODED: Shown(partial(JsonPoint, lines=SchemaLines), partial(JsonRange, lines=SchemaLines), SchemaLines),
    Suffix.DECODED_FOLLOW: Shown(range=partial(JsonFollower, lines=SchemaLines), lines=SchemaLines),
    Suffix.KEY: Shown(partial(FieldPoint, field="key")),
    Suffix.VALUE: Shown(partial(FieldPoint, field="value")),
    Suffix.BATCHES: Shown(BatchesPoint, BatchesRange),
}
"""All suffixes of `by-offset/` and `by-time/` but `.explain`, whose node repeats the name. `by-key/` and `.topics/`
have some of them."""


def _file(view: PartitionView, query: Query[AtOffset | BetweenOffsets] | Query[TimeTarget], asked: str) -> FileNode:
    target, suffix = query
    match target:
        case BetweenOffsets() | BetweenTimes():
            return SHOWN[suffix].range(view, target)
    return Explanation(view, target, asked) if suffix is Suffix.EXPLAIN else SHOWN[suffix].point(view, target)


class ByOffset(ViewDirectory):
    """Queries by offset."""

    def entries(self) -> Sequence[Entry]:
        """A range for each segment; together they are the whole visible log."""
        return [
            Entry(offset_range_name(segment.base_offset, segment.next_base), "file")
            for segment in self.view.partition.visible_segments()
        ]

    def child(self, name: str) -> FileNode:
        """A file for any query of the grammar, whatever the log holds; NotFound for other names."""
        query = parse_offset_name(name)
        if query is None:
            raise refused(f"{self.view.shown_as}/by-offset", name, parse_offset_name, OFFSETS)
        return _file(self.view, query, f"by-offset/{name}")


class ByTime(ViewDirectory):
    """Queries by record timestamp."""

    def entries(self) -> Sequence[Entry]:
        """Ranges that tile the log: each ends one past the largest timestamp that the time indexes tell so far, or at
        the last time that there is, if that is it."""
        may_block()
        start, names = 0, []
        for segment in self.view.partition.visible_segments():
            if segment.next_base is None:
                names.append(time_range_name(start, None))
                continue
            stop = min(segment.indexes.shown_largest() + 1, MAX_INT64)
            if start < stop:
                names.append(time_range_name(start, stop))
                start = stop
        return [Entry(name, "file") for name in names]

    def child(self, name: str) -> FileNode:
        """A file for any query by time, whatever the log holds; NotFound for other names. `now` is that of this call,
        for as long as the node lives; a time that looks mistaken is logged."""
        now_ms = time.time_ns() // 1_000_000
        query = parse_time_name(name, now_ms)
        if query is None:
            parse = partial(parse_time_name, now_ms=now_ms)
            raise refused(f"{self.view.shown_as}/by-time", name, parse, TIMES)
        match query.target:
            case AtTime() | BeforeTime() as point if isinstance(point.time, int) and point.time < IN_DOUBT_BELOW:
                self._warn(name)
        return _file(self.view, query, f"by-time/{name}")

    def _warn(self, name: str) -> None:
        """Logs why the time of that name may be mistaken, if it may, and was not logged lately: a lookup comes with
        each `cat`, and twice where a worker takes it."""
        if (why := doubt(name.removeprefix(BEFORE).partition(".")[0])) is None:
            return
        resources, doubtful = self.view.resources, f"{self.view.shown_as}/by-time/{name}: {why}"
        if doubtful not in resources.warned:
            resources.warned = (*resources.warned, doubtful)[-WARNINGS:]
            logger.warning("%s", doubtful)
