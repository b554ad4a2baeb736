"""From options to ranges of offsets: which of each partition, and cut where.

A range is cut behind offset index entries, so that each task starts at a batch and reads its own bytes only. All of a
plan is asked of one look at each partition: where it begins and ends, at which offset a time is. The plan does not show
appends and deletions of the broker between two questions. If files vanish under a plan, all of it is made again, of a
later look.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
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
    PartitionOffsets,
    Specific,
    Timestamps,
    TopicPartition,
)
from kafkafs.tables.offsets import names as names_of

Plan = TypeVar("Plan")


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


PartitionLooks = Mapping[TopicPartition, PartitionLook]


def looks(locations: Mapping[TopicPartition, Location], isolation: Isolation) -> dict[TopicPartition, PartitionLook]:
    """A look at each partition now."""
    return {name: PartitionLook(location, isolation) for name, location in locations.items()}


def planned(
    locations: Mapping[TopicPartition, Location], isolation: Isolation, plan: Callable[[PartitionLooks], Plan]
) -> Plan:
    """The results that `plan` makes of one look at each partition. They are made again of later looks if files
    vanish.

    A plan makes millions of objects that stay. Searches for cycles among them took two fifths of its time.
    """
    with no_collection():
        return ask_again(lambda: plan(looks(locations, isolation)), lambda: _look_again(locations))


def _look_again(locations: Mapping[TopicPartition, Location]) -> None:
    for location in locations.values():
        try:
            partition(location).look_again()
        except NotFound:
            continue


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


def earliest(looks: PartitionLooks) -> PartitionOffsets:
    """The log start offsets."""
    return {name: each.start_offset for name, each in looks.items()}


def latest(looks: PartitionLooks) -> PartitionOffsets:
    """The offsets behind the last visible ones: the log end, or the last stable offset."""
    return {name: each.visible_end for name, each in looks.items()}


def resolve(limit: Limit, looks: PartitionLooks, *, starting: bool) -> PartitionOffsets:
    """The limit as offsets. UsageError if it names other partitions, or no record is at or after a time."""
    match limit:
        case AllAt(offset):
            return earliest(looks) if offset == EARLIEST else latest(looks)
        case Specific(offsets):
            _same_partitions("startingOffsets" if starting else "endingOffsets", offsets, looks)
            return {name: _resolved(offset, looks[name]) for name, offset in offsets.items()}
        case Timestamps(int(time)):
            times: Mapping[TopicPartition, int] = dict.fromkeys(looks, time)
        case Timestamps(each):
            assert not isinstance(each, int)
            _same_partitions("the times", each, looks)
            times = each
    return {name: _at_time(looks[name], time, limit.no_match) for name, time in times.items()}


def _same_partitions(what: str, given: Mapping[TopicPartition, int], looks: PartitionLooks) -> None:
    if set(given) != set(looks):
        raise UsageError(
            f"{what} must name all topic partitions (-1 for latest, -2 for earliest); "
            f"it names {names_of(given)}, and chosen are {names_of(looks)}"
        )


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


def between(starting: Limit, ending: Limit, looks: PartitionLooks, lost: Callable[[str], None]) -> list[PartitionRange]:
    """The ranges between two limits. UsageError as of `resolve`; `lost` as of `checked_ranges`."""
    starts = resolve(starting, looks, starting=True)
    return checked_ranges(looks, starts, resolve(ending, looks, starting=False), lost)


def checked_ranges(
    looks: PartitionLooks, starts: PartitionOffsets, ends: PartitionOffsets, lost: Callable[[str], None]
) -> list[PartitionRange]:
    """The ranges that are there; `lost` hears of what is not, and raises unless that is to be passed over."""
    found = []
    for name, look in sorted(looks.items()):
        start, end = starts[name], ends[name]
        if start > end:
            raise UsageError(f"the starting offset {start} of {name} is greater than its ending offset {end}")
        log = look.log
        if start < log.start_offset and start < end:
            last = min(end, log.start_offset) - 1
            lost(f"offsets {start} to {last} of {name} are gone: it starts at {log.start_offset}")
        if end > max(log.end_offset, look.visible_end):
            lost(f"{name} ends at offset {log.end_offset}, before {end}")
        elif end > look.visible_end:
            lost(f"{name} has an open transaction, which hides offsets {look.visible_end} to {end - 1}")
        start, end = max(start, log.start_offset), min(end, look.visible_end)
        if start < end:
            found.append(PartitionRange(look.location, start, end, log.end_offset))
    return found


def splits(
    ranges: list[PartitionRange], looks: PartitionLooks, min_partitions: int | None, max_records: int | None
) -> list[list[PartitionRange]]:
    """The ranges for each task: cut into some megabytes, small ones together; at least `min_partitions` tasks, and at
    most `max_records` offsets in each."""
    most = _INDEXES // max(len(ranges), 1)
    measured = [_Measured(each, looks[each.location.name].log, most) for each in ranges]
    total = sum(each.size for each in measured) or 1
    found: list[tuple[PartitionRange, int]] = []
    for each in measured:
        parts = -(-each.size // TASK_BYTES)
        if min_partitions is not None and min_partitions > len(ranges):
            parts = max(parts, -(-min_partitions * each.size // total))
        pieces = each.cut(max(parts, 1))
        found += [(piece, each.size // len(pieces)) for piece in pieces]
    if max_records is not None:
        return [[piece] for each, _ in found for piece in _evenly(each, -(-(each.end - each.start) // max_records))]
    return _together(found, min_partitions)


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
    measured = _Measured(each, log, _INDEXES // max(partitions, 1))
    parts = max(1, round(measured.size / size))
    pieces = measured.cut(parts)
    return [(piece, measured.size // len(pieces)) for piece in pieces]


class _Measured:
    """A range, its bytes, and where it can be cut.

    The sizes of segments come from the listing. The index of a segment, for which its log is opened, shows where its
    batches begin. If cuts are in more than `most` segments, a piece has its share of a segment's offsets instead. One
    index is in memory at a time.
    """

    def __init__(self, each: PartitionRange, log: Log, most: int) -> None:
        self.range = each
        self._log = log
        self._most = most
        self._segments = [segment for segment in log.segments_from(each.start) if segment.base_offset < each.end]
        self._starts = np.cumsum([0, *map(log.walk_end, self._segments)], dtype=np.int64)
        self._low, self.size = 0, int(self._starts[-1]) or 1
        if self.size >= SMALL:
            self._trim()

    def _trim(self) -> None:
        """Leaves out what the first and the last segment have beside the range."""
        last, high = len(self._segments) - 1, int(self._starts[-1])
        if self.range.start > self._segments[0].base_offset:
            offsets, places = self._entries(0)
            self._low = int(places[offsets <= self.range.start].max(initial=0))
        if self.range.end < self._next_base(last):
            offsets, places = self._entries(last)
            high = int(places[offsets >= self.range.end].min(initial=high))
        self.size = max(high - self._low, 1)

    def _next_base(self, number: int) -> int:
        return self._segments[number].next_base or self._log.end_offset

    def _entries(self, number: int) -> tuple[Numbers, Numbers]:
        """Offsets of one segment at which it can be cut, and how many bytes of all are before each."""
        segment, begin, end = self._segments[number], int(self._starts[number]), int(self._starts[number + 1])
        if self._most > 0:
            try:
                offsets, positions, _ = self._log.cuts(segment)
            except Denied:
                return np.empty(0, np.int64), np.empty(0, np.int64)
            return offsets, positions + begin
        span = self._next_base(number) - segment.base_offset
        count = min(_SHARES, span)
        shares = np.arange(1, count)
        return segment.base_offset + span * shares // count, begin + (end - begin) * shares // count

    def cut(self, parts: int) -> list[PartitionRange]:
        """About `parts` pieces of much the same size; between index entries only where there are too few of them."""
        if parts == 1:
            return [self.range]
        goals = self._low + np.arange(1, parts) * self.size // parts
        borders = self._starts[np.searchsorted(self._starts, goals, side="left")]  # the next one of each goal
        before = self._starts[np.maximum(np.searchsorted(self._starts, goals, side="right") - 1, 0)]
        near = max(self.size // parts // _NEAR, 1)
        goals = np.where(goals - before <= near, before, np.where(borders - goals <= near, borders, goals))
        numbers = np.searchsorted(self._starts, goals, side="left") - 1
        is_border = np.isin(goals, self._starts)
        looked_into = np.unique(numbers[~is_border])
        last = len(self._segments) - 1  # its log is open
        if np.count_nonzero(looked_into < last) > min(self._most, len(self._segments) // 4):
            self._most = 0
        chosen = {self._next_base(number) for number in numbers[is_border & (numbers >= 0)].tolist()}
        found = len(self._segments) - 1
        for number in looked_into.tolist():
            offsets, places = self._entries(number)
            offsets, places = np.append(offsets, self._next_base(number)), np.append(places, self._starts[number + 1])
            found += len(offsets) - 1
            chosen |= set(offsets[np.searchsorted(places, goals[~is_border & (numbers == number)])].tolist())
        borders_left = sorted(cut for cut in chosen if self.range.start < cut < self.range.end)
        is_coarse = found < parts - 1 or self.size < TASK_BYTES * parts // 2
        if len(borders_left) < parts - 1 and is_coarse:
            return _evenly(self.range, parts)
        return _between(self.range, borders_left)


def _evenly(each: PartitionRange, parts: int) -> list[PartitionRange]:
    """The ranges of a cut by offsets alone."""
    span = each.end - each.start
    parts = min(parts, span)
    return _between(each, [each.start + span * number // parts for number in range(1, parts)])


def _between(each: PartitionRange, borders: list[int]) -> list[PartitionRange]:
    return [replace(each, start=start, end=end) for start, end in pairwise([each.start, *borders, each.end])]
