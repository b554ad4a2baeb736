"""From options to ranges of offsets: which of each partition, and cut where.

A range is cut behind offset index entries, so that each task starts at a batch and reads its own bytes only. All of a
plan is asked of one look at each partition: where it begins and ends, at which offset a time is. The plan does not show
appends and deletions of the broker between two questions. If files vanish under a plan, all of it is made again, of a
later look.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

import numpy as np

from kafkafs.errors import Denied, NotFound, UsageError
from kafkafs.log.log import Log
from kafkafs.log.look import Reader
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import Isolation, ReadOptions
from kafkafs.log.reading import ask_again
from kafkafs.log.segment import Segment
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
        """The moment is now: NotFound where the partition is gone, Denied where its end may not be read."""
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
    vanish."""
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

_OPENING = 64 << 10  # what it costs to open a partition, in bytes that could have been read meanwhile


@dataclass(frozen=True, slots=True)
class PartitionRange:
    """The offsets [start, end) of a partition. `log_end`: where its log ended when that was planned, if it is known;
    the marker of a transaction in the range may stand behind the range."""

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
    """The limit as offsets. UsageError where it names other partitions, or no record is at or after a time."""
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
    measured = [_Measured(each, looks[each.location.name].log) for each in ranges]
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


def pieces_of(each: PartitionRange, look: PartitionLook, size: int) -> list[tuple[PartitionRange, int]]:
    """A range in pieces of about `size` bytes of log, each with its bytes."""
    measured = _Measured(each, look.log)
    parts = max(1, round(measured.size / size))
    pieces = measured.cut(parts)
    return [(piece, measured.size // len(pieces)) for piece in pieces]


class _Measured:
    """A range, its bytes, and where it can be cut: behind which offsets, and how many bytes stand before.

    Nothing of a small segment is read: a directory can have 100,000 segments that are smaller than the index's first
    page.
    """

    def __init__(self, each: PartitionRange, log: Log) -> None:
        self.range = each
        self._offsets, self._places = np.empty(0, np.int64), np.empty(0, np.int64)
        segments = [segment for segment in log.segments_from(each.start) if segment.base_offset < each.end]
        self.size = sum(map(log.walk_end, segments)) or 1
        if self.size >= SMALL:
            self._look(log, filter(Segment.is_readable, segments))

    def _look(self, log: Log, segments: Iterable[Segment]) -> None:
        found, passed = [(self._offsets, self._places)], 0
        for segment in segments:
            offsets, positions, end = log.cuts(segment)
            found.append((offsets, positions + passed))
            found.append((np.array([segment.next_base or log.end_offset]), np.array([passed + end])))
            passed += end
        offsets, places = map(np.concatenate, zip(*found, strict=True))
        low = int(places[offsets <= self.range.start].max(initial=0))
        high = int(places[offsets >= self.range.end].min(initial=passed))
        inside = (offsets > self.range.start) & (offsets < self.range.end)
        self._offsets, self._places = offsets[inside], places[inside] - low
        self.size = max(high - low, 1)

    def cut(self, parts: int) -> list[PartitionRange]:
        """About `parts` pieces of much the same size; between index entries only where there are too few of them."""
        if parts == 1:
            return [self.range]
        if len(self._offsets) < parts - 1:
            return _evenly(self.range, parts)
        goals = np.arange(1, parts) * self.size // parts
        chosen = np.unique(self._offsets[np.minimum(np.searchsorted(self._places, goals), len(self._offsets) - 1)])
        if len(chosen) < parts - 1 and self.size < TASK_BYTES * parts // 2:
            return _evenly(self.range, parts)
        return _between(self.range, chosen.tolist())


def _evenly(each: PartitionRange, parts: int) -> list[PartitionRange]:
    """The ranges of a cut by offsets alone."""
    span = each.end - each.start
    parts = min(parts, span)
    return _between(each, [each.start + span * number // parts for number in range(1, parts)])


def _between(each: PartitionRange, borders: list[int]) -> list[PartitionRange]:
    return [replace(each, start=start, end=end) for start, end in pairwise([each.start, *borders, each.end])]
