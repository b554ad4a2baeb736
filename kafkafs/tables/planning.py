"""From options to ranges of offsets: which of each partition, and cut where.

A range is cut behind offset index entries, so that each task starts at a batch and reads its own bytes only. A plan
asks one question of one look at each partition: where it begins and ends, at which offset a time is. The answer does
not show appends and deletions of the broker meanwhile. If files vanish under a question, it is asked again, of a later
look at this partition.

Plans go through partition by partition, and drop each look with its answer. So a plan of 100,000 partitions has one log
in memory.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TypeVar

import numpy as np

from kafkafs.disk.garbage import no_collection
from kafkafs.errors import Denied, NotFound, UsageError
from kafkafs.format.tables import Numbers
from kafkafs.log.log import Log
from kafkafs.log.look import Reader
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import Isolation, ReadOptions
from kafkafs.log.reading import ask_again
from kafkafs.tables.locations import Location, partition
from kafkafs.tables.offsets import (
    EARLIEST,
    LATEST,
    AllAt,
    Limit,
    Specific,
    Timestamps,
    TopicPartition,
)
from kafkafs.tables.offsets import names as names_of

Answer = TypeVar("Answer")


class PartitionLook:
    """A partition at one moment, seen under one isolation level."""

    def __init__(self, location: Location, isolation: Isolation) -> None:
        """The moment is now: NotFound if the partition is gone, Denied if its end may not be read."""
        self.location = location
        self.isolation = isolation
        self._partition: Partition = partition(location)
        self.log: Log = self._partition.log()
        for last in self.log.segments[-1:]:
            if not last.is_readable():  # then no end is known, and no record behind its base would be missed
                raise Denied(f"{location.name}: {last.log_name} may not be read; read it as the owner of the disks")

    @cached_property
    def reader(self) -> Reader:
        """A reader of this log; under read_committed this looks for the last stable offset."""
        return Reader(self.log, ReadOptions(isolation=self.isolation), self._partition.transactions)

    @property
    def start_offset(self) -> int:
        """The log start offset."""
        return self.log.start_offset

    @property
    def visible_end(self) -> int:
        """The offset behind the last visible one: the log end, one past what its last batch holds, or the last stable
        offset."""
        return self.reader.visible_end


def planned(
    locations: Mapping[TopicPartition, Location], isolation: Isolation, question: Callable[[PartitionLook], Answer]
) -> dict[TopicPartition, Answer]:
    """The answers of a look at each partition, by name and in the order of names. The question is asked again of a
    later look if files vanish under it.

    A plan makes millions of objects that stay. Searches for cycles among them took two fifths of its time.
    """
    with no_collection():
        return {name: _asked(location, isolation, question) for name, location in sorted(locations.items())}


def _asked(location: Location, isolation: Isolation, question: Callable[[PartitionLook], Answer]) -> Answer:
    return ask_again(lambda: question(PartitionLook(location, isolation)), lambda: partition(location).look_again())


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

_OPENING = 64 << 10  # what it costs to open a partition, in bytes that could have been read meanwhile


@dataclass(frozen=True, slots=True)
class PartitionRange:
    """The offsets [start, end) of a partition. `log_end`: where its log ended when that was planned, if it is known;
    the marker of a transaction in the range may be behind the range."""

    location: Location
    start: int
    end: int
    log_end: int = 0


def earliest(look: PartitionLook) -> int:
    """The log start offset."""
    return look.start_offset


def latest(look: PartitionLook) -> int:
    """The offset behind the last visible one: the log end, or the last stable offset."""
    return look.visible_end


def check_named(starting: Limit, ending: Limit, names: Collection[TopicPartition]) -> None:
    """UsageError if one of the limits names other partitions than these, or not all of them."""
    for option, limit in (("startingOffsets", starting), ("endingOffsets", ending)):
        match limit:
            case Specific(given):
                what = option
            case Timestamps(Mapping() as given):
                what = "the times"
            case _:
                continue
        if set(given) != set(names):
            raise UsageError(
                f"{what} must name all topic partitions (-1 for latest, -2 for earliest); "
                f"it names {names_of(given)}, and chosen are {names_of(names)}"
            )


def resolved(limit: Limit, look: PartitionLook) -> int:
    """The limit as an offset of this partition. UsageError if no record is at or after a time."""
    match limit:
        case AllAt(offset):
            return _resolved(offset, look)
        case Specific(offsets):
            return _resolved(offsets[look.location.name], look)
        case Timestamps(int(time)):
            return _at_time(look, time, limit.no_match)
        case Timestamps(times):
            assert not isinstance(times, int)
            return _at_time(look, times[look.location.name], limit.no_match)


def _resolved(offset: int, look: PartitionLook) -> int:
    if offset == LATEST:
        return look.visible_end
    return look.start_offset if offset == EARLIEST else offset


def _at_time(look: PartitionLook, time: int, no_match: str) -> int:
    """The offset of the first record at or after `time`, a marker among them, as a broker would tell a consumer. -1 and
    -2 mean what they do as offsets, as to a broker."""
    if time in (LATEST, EARLIEST):
        return _resolved(time, look)
    if time < 0:
        raise UsageError(f"the time {time} is before 1970; name milliseconds since then, -1 (latest) or -2 (earliest)")
    found = look.reader.lookup.offset_of_broker(time)
    if found is not None:
        return found
    if no_match == "error":
        raise UsageError(
            f"{look.location.name} has no record at or after the time {time}; set"
            " startingOffsetsByTimestampStrategy to latest to start at its end"
        )
    return look.visible_end


def between(starting: Limit, ending: Limit, look: PartitionLook, lost: Callable[[str], None]) -> PartitionRange | None:
    """The range between two limits, which `check_named` has passed; None if nothing is there. `lost` as of
    `checked_range`."""
    return checked_range(look, resolved(starting, look), resolved(ending, look), lost)


def checked_range(look: PartitionLook, start: int, end: int, lost: Callable[[str], None]) -> PartitionRange | None:
    """The part of [start, end) that is there, or None; `lost` hears of what is not, and raises unless that is to be
    passed over."""
    name, log = look.location.name, look.log
    if start > end:
        raise UsageError(f"the starting offset {start} of {name} is greater than its ending offset {end}")
    if start < log.start_offset and start < end:
        last = min(end, log.start_offset) - 1
        lost(f"offsets {start} to {last} of {name} are gone: it starts at {log.start_offset}")
    if end > max(log.end_offset, look.visible_end):
        lost(f"{name} ends at offset {log.end_offset}, before {end}")
    elif end > look.visible_end:
        lost(f"{name} has an open transaction, which hides offsets {look.visible_end} to {end - 1}")
    start, end = max(start, log.start_offset), min(end, look.visible_end)
    return PartitionRange(look.location, start, end, log.end_offset) if start < end else None


def planned_tasks(
    locations: Mapping[TopicPartition, Location],
    isolation: Isolation,
    range_of: Callable[[PartitionLook], "PartitionRange | None"],
    min_partitions: int | None,
    max_records: int | None,
) -> list[list[PartitionRange]]:
    """The ranges for each task, of the range of each partition: see `splits`.

    If files vanish while a few partitions are cut by their indexes, all is asked again. Many are cut without indexes.
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
