"""From options to ranges of offsets: which of each partition.

A plan asks one question of one look at each partition: where it begins and ends, at which offset a time is. The answer
does not show appends and deletions of the broker meanwhile. If files vanish under a question, it is asked again, of a
later look at this partition.

Plans go through partition by partition, and drop each look with its answer. So a plan of 100,000 partitions has one log
in memory.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TypeVar

from kafkafs.disk.garbage import no_collection
from kafkafs.errors import Denied, UsageError
from kafkafs.log.log import Log
from kafkafs.log.look import Reader
from kafkafs.log.read_options import Isolation, ReadOptions
from kafkafs.log.reading import ask_again
from kafkafs.tables.locations import Location, partition
from kafkafs.tables.offsets import EARLIEST, LATEST, AllAt, Limit, Specific, Timestamps, TopicPartition
from kafkafs.tables.offsets import names as names_of

Answer = TypeVar("Answer")


class PartitionLook:
    """A partition at one moment, seen under one isolation level."""

    def __init__(self, location: Location, isolation: Isolation) -> None:
        """The moment is now: NotFound if the partition is gone, Denied if its end may not be read."""
        self.location = location
        self.isolation = isolation
        self._look = partition(location).look_as(ReadOptions(isolation=isolation))
        self.log: Log = self._look.log
        for last in self.log.segments[-1:]:
            if not last.is_readable():  # then no end is known, and no record behind its base would be missed
                raise Denied(f"{location.name}: {last.log_name} may not be read; read it as the owner of the disks")

    @property
    def reader(self) -> Reader:
        """A reader of this log; under read_committed this looks for the last stable offset."""
        return self._look.visible

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


@dataclass(frozen=True, slots=True)
class PartitionRange:
    """The offsets [start, end) of a partition. `log_end`: where its log ended when that was planned, if it is known;
    the marker of a transaction in the range may be behind the range."""

    location: Location
    start: int
    end: int
    log_end: int = 0


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
