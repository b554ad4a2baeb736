"""Cuts ranges of offsets into pieces for tasks.

A range is cut behind offset index entries, so that each task starts at a batch and reads its own bytes only.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import accumulate, pairwise

import numpy as np

from kafkafs.errors import Denied, NotFound
from kafkafs.format.tables import Numbers
from kafkafs.log.log import Log
from kafkafs.log.read_options import Isolation
from kafkafs.log.reading import ask_again
from kafkafs.tables.locations import Location, partition
from kafkafs.tables.offsets import TopicPartition
from kafkafs.tables.planning import PartitionLook, PartitionRange, planned

TASK_BYTES = 64 << 20
"""Bytes of log that one task is given, unless more tasks are asked for."""

SMALL, TOGETHER = 4 << 20, 16 << 20
"""Ranges smaller than the one share a task, up to the other, unless more tasks are asked for."""

_NEAR = 8
"""The border of a segment is taken for a cut if it is at most this part of a piece away."""

_INDEXES = 64
"""Indexes that a plan reads at most to cut segments; of one range those of a quarter of its segments."""

_SHARES = 1 << 12
"""The parts in which a segment is cut without its index, at most."""

_OPENING = 64 << 10  # the cost of opening a partition, in bytes that could have been read meanwhile


def planned_tasks(
    locations: Mapping[TopicPartition, Location],
    isolation: Isolation,
    range_of: Callable[[PartitionLook], "PartitionRange | None"],
    min_partitions: int | None,
    max_records: int | None,
) -> list[list[PartitionRange]]:
    """The ranges for each task, of the range of each partition: see `splits`.

    If files vanish while a few partitions are cut by their indexes, all is asked again, since the cuts of one partition
    depend on the sizes of all. Many are cut without indexes. Before that, `planned` asks each partition again alone.
    """

    def measured(look: PartitionLook) -> MeasuredRange | None:
        each = range_of(look)
        return None if each is None else MeasuredRange(each, look.log, len(locations))

    def plan() -> list[list[PartitionRange]]:
        return splits(planned(locations, isolation, measured).values(), min_partitions, max_records)

    return ask_again(plan, lambda: _look_again(locations))


def _look_again(locations: Mapping[TopicPartition, Location]) -> None:
    for location in locations.values():
        with suppress(NotFound):
            partition(location).look_again()


def splits(
    found: Iterable["MeasuredRange | None"], min_partitions: int | None, max_records: int | None
) -> list[list[PartitionRange]]:
    """The ranges for each task: cut into some megabytes, small ones together; at least `min_partitions` tasks, and at
    most `max_records` offsets in each."""
    measured = [each for each in found if each is not None]
    total = sum(each.size for each in measured) or 1
    cut: list[tuple[PartitionRange, int]] = []
    for each in measured:
        parts = -(-each.size // TASK_BYTES)
        if min_partitions is not None and min_partitions > len(measured):
            parts = max(parts, -(-min_partitions * each.size // total))
        pieces = each.cut(max(parts, 1))
        cut += [(piece, each.size // len(pieces)) for piece in pieces]
    if max_records is not None:
        return [[piece] for each, _ in cut for piece in _evenly(each, -(-(each.end - each.start) // max_records))]
    return _together(cut, min_partitions)


def _together(pieces: list[tuple[PartitionRange, int]], min_partitions: int | None) -> list[list[PartitionRange]]:
    """Small pieces share a task, as long as there are as many tasks as were asked for."""
    small = [(piece, size + _OPENING) for piece, size in pieces if size < SMALL]
    enough = min(TOGETHER, sum(weight for _, weight in small) // (min_partitions or 1))
    found: list[list[PartitionRange]] = []
    filled = TOGETHER
    for piece, weight in small:
        if filled + weight > enough:
            found.append([])
            filled = 0
        found[-1].append(piece)
        filled += weight
    found += [[piece] for piece, size in pieces if size >= SMALL]
    return found if len(found) >= (min_partitions or 1) else [[piece] for piece, _ in pieces]


def pieces_of(each: PartitionRange, log: Log, size: int, partitions: int = 1) -> list[tuple[PartitionRange, int]]:
    """A range in pieces of about `size` bytes of log, each with its bytes. `partitions`: how many a plan has."""
    measured = MeasuredRange(each, log, partitions)
    parts = max(1, round(measured.size / size))
    pieces = measured.cut(parts)
    return [(piece, measured.size // len(pieces)) for piece in pieces]


class MeasuredRange:
    """A range, its bytes, and where it can be cut.

    The sizes of segments come from the listing. The index of a segment, for which its log is opened, shows where its
    batches begin. If cuts are in many segments, or a plan has many partitions, a piece has its share of a segment's
    offsets instead. One index is in memory at a time, and in a plan of many partitions no log.
    """

    __slots__ = ("_bases", "_log", "_low", "_most", "_segments", "_starts", "range", "size")

    def __init__(self, each: PartitionRange, log: Log, partitions: int = 1) -> None:
        """`partitions`: how many a plan has."""
        segments = [segment for segment in log.segments_from(each.start) if segment.base_offset < each.end]
        self.range = each
        self._most = _INDEXES // max(partitions, 1)
        """Segments whose indexes may be read."""
        self._log = log if self._most else None
        self._segments = segments if self._most else []
        last = (segments[-1].next_base if segments else None) or log.end_offset
        self._bases = array("q", [*(segment.base_offset for segment in segments), last])
        self._starts = array("q", accumulate(map(log.walk_end, segments), initial=0))
        self._low, self.size = 0, self._starts[-1] or 1
        if self.size >= SMALL:
            self._trim()

    def _trim(self) -> None:
        """Leaves out what the first and the last segment have beside the range."""
        last, high = len(self._bases) - 2, self._starts[-1]
        if self.range.start > self._bases[0]:
            offsets, places = self._entries(0)
            self._low = int(places[offsets <= self.range.start].max(initial=0))
        if self.range.end < self._bases[-1]:
            offsets, places = self._entries(last)
            high = int(places[offsets >= self.range.end].min(initial=high))
        self.size = max(high - self._low, 1)

    def _entries(self, number: int) -> tuple[Numbers, Numbers]:
        """Offsets of one segment at which it can be cut, and how many bytes of all are before each."""
        begin, end = self._starts[number : number + 2]
        if self._log is not None and self._most > 0:
            try:
                offsets, positions, _ = self._log.cuts(self._segments[number])
            except Denied:  # a reader gets the error
                return np.empty(0, np.int64), np.empty(0, np.int64)
            return offsets, positions + begin
        base = self._bases[number]
        span = self._bases[number + 1] - base
        count = min(_SHARES, span)
        shares = np.arange(1, count)
        return base + span * shares // count, begin + (end - begin) * shares // count

    def cut(self, parts: int) -> list[PartitionRange]:
        """About `parts` pieces of much the same size; between index entries only where there are too few of them."""
        if parts == 1:
            return [self.range]
        chosen: set[int] = set()
        inside: dict[int, list[int]] = {}
        for goal in self._goals(parts):
            border = bisect_left(self._starts, goal)
            if self._starts[border] != goal:
                inside.setdefault(border - 1, []).append(goal)
            elif border:
                chosen.add(self._bases[border])
        found = last = len(self._bases) - 2  # the last log is open
        if sum(number < last for number in inside) > min(self._most, (last + 1) // 4):
            self._most = 0
        for number, goals in inside.items():
            offsets, places = self._entries(number)
            offsets, places = np.append(offsets, self._bases[number + 1]), np.append(places, self._starts[number + 1])
            found += len(offsets) - 1
            chosen.update(offsets[np.searchsorted(places, goals)].tolist())
        borders_left = sorted(cut for cut in chosen if self.range.start < cut < self.range.end)
        is_coarse = found < parts - 1 or self.size < TASK_BYTES * parts // 2
        if len(borders_left) < parts - 1 and is_coarse:
            return _evenly(self.range, parts)
        return _between(self.range, borders_left)

    def _goals(self, parts: int) -> Iterator[int]:
        """The positions that would make all pieces equal, those near the border of a segment moved there."""
        near = max(self.size // parts // _NEAR, 1)
        for part in range(1, parts):
            goal = self._low + part * self.size // parts
            behind = bisect_left(self._starts, goal)
            before = behind if self._starts[behind] == goal else max(behind - 1, 0)
            borders = self._starts[before], self._starts[behind]
            yield next((border for border in borders if abs(goal - border) <= near), goal)


def _evenly(each: PartitionRange, parts: int) -> list[PartitionRange]:
    """The ranges of a cut by offsets alone."""
    span = each.end - each.start
    parts = min(parts, span)
    return _between(each, [each.start + span * number // parts for number in range(1, parts)])


def _between(each: PartitionRange, borders: list[int]) -> list[PartitionRange]:
    cuts = pairwise([each.start, *borders, each.end])
    return [PartitionRange(each.location, start, end, each.log_end) for start, end in cuts]
