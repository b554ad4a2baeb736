"""The input of a search: the window of a partition, cut into units of some megabytes, and the selected records of each.

Batches that cannot have a match are not decoded. A corrupt batch is reported, and the search goes on behind it.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from kafkafs.format.records import Records, Refusal
from kafkafs.log.log import Log
from kafkafs.log.look import Reader
from kafkafs.log.partition import Partition
from kafkafs.log.places import Between
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.reading import resume
from kafkafs.log.segment import Damage, Segment
from kafkafs.search.selection import FieldMaker, Selection


class UnitSizes(NamedTuple):
    """Bytes of log that a search reads at a time."""

    first: int = 1 << 20  # so that the first match comes soon
    others: int = 16 << 20


UNITS = UnitSizes()
OPTIONS = ReadOptions()


class SearchUnit(NamedTuple):
    """The offsets [start, end) of a partition, and about how many bytes they take."""

    partition: Partition
    start: int
    end: int
    size: int


class Searched:
    """The window of one partition, as of one look at its log; of later looks where files vanish under it."""

    def __init__(self, partition: Partition, window: Between, sizes: UnitSizes = UNITS) -> None:
        self._partition = partition
        self._sizes = sizes
        partition.log()  # waits for a tier
        self._log, self._start, self._end = partition.ask_as(OPTIONS, lambda look: (look.log, *window.offsets(look)))

    def units(self) -> Iterator[SearchUnit]:
        """The whole window, cut into units; nothing if it holds nothing."""
        return resume(lambda start: ((unit.end, unit) for unit in self._units_from(start)), self._start, self._renew)

    def whole(self) -> SearchUnit | None:
        """The whole window in one unit; None if it is larger than the first of several units."""
        size = self.size()
        return None if size > self._sizes.first else SearchUnit(self._partition, self._start, self._end, size)

    def _renew(self) -> None:
        self._partition.look_again()
        self._log = self._partition.log()

    def _units_from(self, start: int) -> Iterator[SearchUnit]:
        for segment in self._log.segments_between(start, self._end):
            low = max(start, segment.base_offset)
            high = self._end if segment.next_base is None else min(self._end, segment.next_base)
            for stop, size in _cuts(self._log, segment, high, self._sizes):
                if stop > low and low < high:
                    yield SearchUnit(self._partition, low, min(stop, high), size)
                    low = stop

    def unreadable(self) -> list[str]:
        """The logs in it that may not be read: gaps in the offsets, which a search has to tell of."""
        return [segment.log_name for segment in self._log.unreadable(self._start, self._end)]

    def size(self) -> int:
        """About how many bytes it takes, without a look at indexes."""
        return sum(map(self._log.walk_end, self._log.segments_between(self._start, self._end)))


def size_of(partition: Partition, window: Between) -> int:
    """About how many bytes of a partition a search reads. Without a window no log is looked at."""
    if window == Between():
        return sum(segment.files.log_seen[0] for segment in partition.visible_segments())
    return Searched(partition, window).size()


def _cuts(log: Log, segment: Segment, behind: int, sizes: UnitSizes) -> Iterator[tuple[int, int]]:
    """Offsets at which a segment is cut, and the bytes before each; `behind` is the last. The first come early. A
    remote segment is not: whoever searches it fetches its index, and nobody else."""
    offsets, positions, end = log.cuts(segment)
    at, want = 0, sizes.first
    while (number := int(np.searchsorted(positions, at + want))) < len(positions):
        yield int(offsets[number]), int(positions[number]) - at
        at, want = int(positions[number]), min(2 * want, sizes.others)
    yield behind, max(end - at, 0)


def selected(
    unit: SearchUnit, selection: Selection, tell: Callable[[str], None], maker: FieldMaker | None = None
) -> Iterator[Records]:
    """The records of a unit that are selected, in order; `maker` decodes their fields.

    `tell` hears of what is corrupt, of some more than once: what overlaps two units is reported in both.
    Goes on in the new files where the broker replaced those that it read from.
    """

    def read_from(start: int) -> Iterator[tuple[int, Records | None]]:
        if start >= unit.end:
            return
        reader = unit.partition.look_as(OPTIONS).visible
        for behind, kept in _decoded(reader, max(start, reader.log.start_offset), unit.end, selection, tell):
            found = None if kept is None else selection.of(kept, maker)
            yield behind, found if found is not None and len(found) else None
            del kept, found

    return resume(read_from, unit.start, unit.partition.look_again)


def _decoded(
    reader: Reader, start: int, end: int, selection: Selection, tell: Callable[[str], None]
) -> Iterator[tuple[int, Records | None]]:
    """The records of batches that may have some, and behind which offset all is handed out with them."""
    name = reader.log.name.directory
    for segment, item in reader.batches(start, min(end, reader.visible_end), whole=True):
        if isinstance(item, Damage):
            tell(f"{name}: {segment.log_name}: {item}")
            yield item.last_offset + 1, None
            continue
        for piece in reader.decoded(segment, item._replace(rows=selection.batches(item))):
            if isinstance(piece, Refusal):
                tell(f"{name}: {segment.log_name}: {piece.error}")
            elif len(kept := piece.between(start, end)):
                yield int(kept.rows["offset"][-1]) + 1, kept
            del piece
        yield item.last_offset + 1, None
