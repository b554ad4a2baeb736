"""Compares two logs over a window of offsets, as steps: the records of both that may differ, each with a mark.

Stretches of equal bytes are passed over (`log.equal_bytes`). Elsewhere, batches with the same header, CRC included,
hold the same records, so they are not unpacked. Each CRC was checked. Offsets that are damaged on one side are compared
on neither. Source of a batch's header: DefaultRecordBatch.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise, takewhile
from typing import NamedTuple

import numpy as np

from kafkafs.format.batch import Batches, is_overfull, is_wrapped
from kafkafs.format.differences import ALONE, SAME, Marks, marks, unlike
from kafkafs.format.records import Records, Refusal
from kafkafs.format.tables import Flags, Numbers
from kafkafs.log.look import Reader
from kafkafs.log.segment import BatchRun, Damage, Segment

_BEHIND_ALL = (1 << 63) - 1
_HEADER = ("base_offset", "last_offset", "crc", "size", "count", "attributes", "magic", "max_timestamp")
_NOTHING = Records(np.empty(0, np.uint8), np.empty(0, np.dtype([("offset", "i8")])))

Tell = Callable[[str], None]
"""Takes a sentence about offsets that cannot be compared."""


class ComparisonStep(NamedTuple):
    """The next records of both sides, in the order of offsets, with a mark for each.

    `equal` counts records that are the same on both sides, also those of batches that were not unpacked.
    """

    old: Records
    old_marks: Marks
    new: Records
    new_marks: Marks
    equal: int

    @property
    def is_equal(self) -> bool:
        """True if nothing differs."""
        return bool((self.old_marks == SAME).all() and (self.new_marks == SAME).all())


def steps(old: Reader | None, new: Reader | None, start: int, end: int, tell: Tell) -> Iterator[ComparisonStep]:
    """Compare the visible records with start <= offset < end. A side that is None is empty.

    `tell` hears of corrupt batches, of some more than once.
    """
    for low, high in _parts(old, new, start, end):
        if old is not None and new is not None:
            stretch = old.equal_stretch(new, low, high)
            if stretch.start < stretch.end:
                yield from _walked(old, new, low, stretch.start, tell)
                yield _equal(stretch.records)
                low = stretch.end
        yield from _walked(old, new, low, high, tell)


def _parts(old: Reader | None, new: Reader | None, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The window, cut where a segment of either side begins. If a side is empty it is one part."""
    bases = set[int]()
    for each in (old, new) if old is not None and new is not None else ():
        following = (segment.base_offset for segment in each.log.segments_from(start))
        bases.update(takewhile(lambda base: base < end, following))
    return pairwise([start, *sorted(base for base in bases if base > start), end])


def _equal(count: int) -> ComparisonStep:
    nothing = np.empty(0, np.uint8)
    return ComparisonStep(_NOTHING, nothing, _NOTHING, nothing, count)


def _walked(old: Reader | None, new: Reader | None, start: int, end: int, tell: Tell) -> Iterator[ComparisonStep]:
    """The comparison of a window, batch by batch."""
    if start >= end:
        return
    sides = _Side(old, start, end, tell), _Side(new, start, end, tell)
    done = start
    while True:
        for side in sides:
            side.fill()
        limit = min(side.last for side in sides)
        if limit == _BEHIND_ALL:
            return
        upper = min(limit, end - 1)
        yield from _compared(sides, done, upper)
        if upper == end - 1:
            return
        done = upper + 1
        for side in sides:
            side.pass_over(limit)


def count_records(reader: Reader, start: int, end: int, tell: Tell) -> int:
    """The number of visible records with start <= offset < end, mostly by the headers of their batches."""
    side, found = _Side(reader, start, end, tell), 0
    side.fill()
    while side.last != _BEHIND_ALL:
        whole, partly = (0, side.rows) if is_overfull(side.rows) else _count_whole(side.rows, start, end - 1)
        found += whole + sum(map(len, side.decoded(partly, start, end - 1)))
        side.pass_over(side.last)
        side.fill()
    return found


class _Side:
    """One log, a run of batches at a time: those that are not compared yet."""

    def __init__(self, reader: Reader | None, start: int, end: int, tell: Tell) -> None:
        self._reader, self._tell = reader, tell
        is_open = reader is not None and start < end
        self._items = reader.batches(start, end) if reader is not None and is_open else iter(())
        self._damaged: list[tuple[int, int]] = []
        self._reported: set[str] = set()
        self._segment: Segment | None = None
        self._run: BatchRun | None = None
        self.rows: Batches = np.empty(0, np.dtype([]))
        self._reach: Numbers = np.empty(0, np.int64)
        self._is_at_end = False
        for segment in reader.log.unreadable(start, end) if reader is not None and is_open else ():
            behind = _BEHIND_ALL if segment.next_base is None else segment.next_base
            self._keep_damage(segment.base_offset, behind - 1, f"{segment.log_name} may not be read")

    @property
    def last(self) -> int:
        """The last offset up to which everything is known."""
        return _BEHIND_ALL if self._is_at_end else int(self._reach[-1])

    def fill(self) -> None:
        """Take the next run, unless some rows are left or the window is over. Damage on the way is kept."""
        while not len(self.rows) and not self._is_at_end:
            found = next(self._items, None)
            if found is None:
                self._is_at_end = True
                return
            segment, item = found
            if isinstance(item, Damage):
                self._keep_damage(item.base_offset, item.last_offset, f"{segment.log_name}: {item}")
            else:
                self._segment, self._run, self.rows = segment, item, item.rows
                self._reach = _reach(item.rows)

    def up_to(self, upper: int) -> Batches:
        """The rows that may hold offsets up to `upper`, and perhaps one more."""
        if not len(self.rows):
            return self.rows
        return self.rows[: int(np.searchsorted(self._reach, upper)) + 1]

    def pass_over(self, limit: int) -> None:
        """Drop the rows and the damage that end at or before an offset."""
        if len(self.rows):
            first = int(np.searchsorted(self._reach, limit, "right"))
            self.rows, self._reach = self.rows[first:], self._reach[first:]
        self._damaged = [each for each in self._damaged if each[1] > limit]

    def decoded(self, rows: Batches, start: int, upper: int) -> list[Records]:
        """The records of some rows with start <= offset <= upper. A batch that gives none is damage."""
        found: list[Records] = []
        if self._reader is None or self._segment is None or self._run is None or not len(rows):
            return found
        for piece in self._reader.decoded(self._segment, self._run._replace(rows=np.ascontiguousarray(rows))):
            if isinstance(piece, Refusal):
                row = rows[piece.batch]
                first, last = int(row["base_offset"]), int(row["last_offset"])
                self._keep_damage(min(first, last), last, f"{self._segment.log_name}: {piece.error}")
            elif len(kept := piece.between(start, upper + 1)):
                found.append(kept)
        return found

    def without_damage(self, pieces: list[Records]) -> list[Records]:
        """The records of the other side whose offsets are not damaged here."""
        for first, last in self._damaged:
            pieces = [each for piece in pieces for each in _outside(piece, first, last)]
        return pieces

    def _keep_damage(self, first: int, last: int, where: str) -> None:
        self._damaged.append((first, last))
        if where not in self._reported and self._reader is not None:
            self._reported.add(where)
            self._tell(f"{self._reader.log.name.directory}: {where}; its offsets are not compared")


def _reach(rows: Batches) -> Numbers:
    """The last offset up to which each batch and all before it may hold records. Old clients' headers state too
    small a last offset."""
    claimed = np.where(rows["magic"] >= 2, rows["base_offset"] + rows["count"] - 1, rows["last_offset"])
    reach: Numbers = np.maximum.accumulate(np.maximum(rows["last_offset"], claimed))
    return reach


def _outside(piece: Records, first: int, last: int) -> list[Records]:
    offsets = piece.rows["offset"]
    low, high = int(offsets.searchsorted(first)), int(offsets.searchsorted(last, "right"))
    parts = (Records(piece.data, piece.rows[:low]), Records(piece.data, piece.rows[high:]))
    return [part for part in parts if len(part)]


def _compared(sides: tuple[_Side, _Side], start: int, upper: int) -> Iterator[ComparisonStep]:
    """The steps for start <= offset <= upper."""
    old, new = sides
    olds, news = old.up_to(upper), new.up_to(upper)
    odd, beside = _unlike(olds, news)
    alike = olds[~odd] if len(olds) else olds
    equal, partly = _count_whole(alike, start, upper)
    pieces = old.decoded(olds[odd] if len(olds) else olds, start, upper)
    counterparts = new.decoded(news[beside] if len(news) else news, start, upper)
    equal += sum(map(len, old.decoded(partly, start, upper)))
    pieces, counterparts = new.without_damage(pieces), old.without_damage(counterparts)
    if equal:
        yield _equal(equal)
    yield from _side_by_side(pieces, counterparts)


def _unlike(olds: Batches, news: Batches) -> tuple[Flags, Flags]:
    """Masks of the rows of either side that have no equal on the other; all of them if a header contradicts itself."""
    if len(olds) and len(news) and (is_overfull(olds) or is_overfull(news)):
        return np.ones(len(olds), np.bool_), np.ones(len(news), np.bool_)
    return unlike(olds, news, _HEADER)


def _count_whole(rows: Batches, start: int, upper: int) -> tuple[int, Batches]:
    """The number of records in the batches that are within the window by their header, and the other batches: those
    at its borders, and compressed messages, whose header has no count."""
    if not len(rows):
        return 0, rows
    within = (rows["base_offset"] >= start) & (rows["last_offset"] <= upper) & ~is_wrapped(rows)
    counts = np.where(rows["magic"][within] >= 2, rows["count"][within], 1)
    return int(counts.sum()), rows[~within]


def _side_by_side(pieces: list[Records], counterparts: list[Records]) -> Iterator[ComparisonStep]:
    """The records of both, in steps of equal offsets."""
    olds, news = pieces[::-1], counterparts[::-1]
    while olds or news:
        bound = min((int(each[-1].rows["offset"][-1]) for each in (olds, news) if each), default=_BEHIND_ALL)
        one, other = _taken(olds, bound), _taken(news, bound)
        if len(one) and len(other):
            one_marks, other_marks = marks(one, other)
        else:
            one_marks, other_marks = np.full(len(one), ALONE, np.uint8), np.full(len(other), ALONE, np.uint8)
        yield ComparisonStep(one, one_marks, other, other_marks, int((one_marks == SAME).sum()))


def _taken(waiting: list[Records], bound: int) -> Records:
    """Take the records up to an offset off the last piece."""
    if not waiting:
        return _NOTHING
    piece = waiting.pop()
    count = int(piece.rows["offset"].searchsorted(bound, "right"))
    if count < len(piece):
        waiting.append(Records(piece.data, piece.rows[count:]))
    return Records(piece.data, piece.rows[:count])
