"""A search through whole partitions: cut into units of some megabytes, and what one unit has.

Batches that cannot have a match are not decoded. What is corrupt is told, and the search goes on behind it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kafkafs.errors import Vanished
from kafkafs.format.records import Records, Refusal
from kafkafs.log.batch_runs import Damage
from kafkafs.log.extents import cuts
from kafkafs.log.log import Log
from kafkafs.log.options import ReadOptions
from kafkafs.log.partition import Partition
from kafkafs.log.reading import Reader
from kafkafs.log.segment import Segment
from kafkafs.log.transactions import OpenTransactions
from kafkafs.search.selection import FieldMaker, Selection

UNIT_BYTES = 16 << 20
_FIRST_UNIT_BYTES = 1 << 20
_ATTEMPTS = 5
OPTIONS = ReadOptions()


@dataclass(frozen=True, slots=True)
class Window:
    """What part of each partition is searched: times as in `by-time/` ranges, milliseconds; None for no bound."""

    from_offset: int | None = None
    to_offset: int | None = None
    from_ms: int | None = None
    to_ms: int | None = None


class SearchUnit(NamedTuple):
    """The offsets [start, end) of a partition, and about how many bytes they take."""

    partition: Partition
    start: int
    end: int
    size: int


def units(partition: Partition, window: Window) -> Iterator[SearchUnit]:
    """The window of one partition, cut; nothing where it holds nothing."""
    log = partition.log()
    start, end = _bounds(Reader(log, OPTIONS, OpenTransactions()), window)
    for segment in log.segments_between(start, end):
        low = max(start, segment.base_offset)
        high = end if segment.next_base is None else min(end, segment.next_base)
        for stop, size in _cuts(log, segment, high):
            if stop > low and low < high:
                yield SearchUnit(partition, low, min(stop, high), size)
                low = stop


def unreadable(partition: Partition, window: Window) -> list[str]:
    """The logs in the window that may not be read: gaps in the offsets, which a search has to tell of."""
    log = partition.log()
    start, end = _bounds(Reader(log, OPTIONS, OpenTransactions()), window)
    asked = [each for each in log.segments_from(start) if each.base_offset < end or end == log.end_offset]
    return [segment.log_name for segment in asked if not segment.is_readable()]


def bytes_of(partition: Partition, window: Window) -> int:
    """About how many bytes the window of a partition takes, without a look at its indexes."""
    log = partition.log()
    between = log.segments_between(*_bounds(Reader(log, OPTIONS, OpenTransactions()), window))
    return sum(log.walk_end(segment) for segment in between)


def _bounds(reader: Reader, window: Window) -> tuple[int, int]:
    """The offsets that are searched."""
    log = reader.log
    start, end = window.from_offset or log.start_offset, reader.visible_end
    if window.to_offset is not None:
        end = min(end, window.to_offset)
    if window.from_ms is not None and window.from_ms > 0:
        first = reader.lookup.bounds_at(window.from_ms)
        start = max(start, log.end_offset if first is None else first[0])
    if window.to_ms is not None:
        behind = reader.lookup.bounds_at(window.to_ms)
        end = end if behind is None else min(end, behind[1])
        if window.to_ms <= (window.from_ms or 0):
            end = start
    return max(start, log.start_offset), end


def _cuts(log: Log, segment: Segment, behind: int) -> Iterator[tuple[int, int]]:
    """Offsets at which a segment is cut, and the bytes before each; `behind` is the last. The first come early. A
    remote segment is not: whoever searches it fetches its index, and nobody else."""
    offsets, positions, end = cuts(log, segment)
    at, want = 0, _FIRST_UNIT_BYTES
    while (number := int(np.searchsorted(positions, at + want))) < len(positions):
        yield int(offsets[number]), int(positions[number]) - at
        at, want = int(positions[number]), min(2 * want, UNIT_BYTES)
    yield behind, max(end - at, 0)


def selected(
    unit: SearchUnit, selection: Selection, tell: Callable[[str], None], maker: FieldMaker | None = None
) -> Iterator[Records]:
    """The records of a unit that are selected, in order; `maker` decodes their fields.

    `tell` hears of what is corrupt, of some more than once: what overlaps two units is told in both.
    Goes on in the new files where the broker replaced those that it read from.
    """
    start, attempts = unit.start, 0
    while start < unit.end:
        try:
            reader = Reader(unit.partition.log(), OPTIONS, OpenTransactions())
            for behind, kept in _decoded(reader, max(start, reader.log.start_offset), unit.end, selection, tell):
                if kept is not None and len(found := selection.of(kept, maker)):
                    yield found
                start, attempts = behind, 0
            return
        except Vanished:
            attempts += 1
            if attempts == _ATTEMPTS:
                raise
            unit.partition.look_again()


def _decoded(
    reader: Reader, start: int, end: int, selection: Selection, tell: Callable[[str], None]
) -> Iterator[tuple[int, Records | None]]:
    """The records of batches that may have some, and behind which offset all is handed out with them."""
    name = reader.log.name.directory
    for segment, item in reader.visible.batches(start, min(end, reader.visible_end)):
        if isinstance(item, Damage):
            tell(f"{name}: {segment.log_name}: {item.size} bytes at position {item.position} are no valid batch")
            yield item.last_offset + 1, None
            continue
        for piece in reader.visible.decoded(segment, item._replace(rows=selection.batches(item))):
            if isinstance(piece, Refusal):
                tell(f"{name}: {segment.log_name}: {piece.error}")
            elif len(kept := piece.between(start, end)):
                yield int(kept.rows["offset"][-1]) + 1, kept
            del piece
        yield item.last_offset + 1, None
