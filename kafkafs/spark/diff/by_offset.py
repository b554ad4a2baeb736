"""A unit of `kafkafs diff`: a window of offsets of one pair of partitions, as lines and counts.

A pair of a compacted topic is one unit, because each missing record is looked up in all of the side that lacks it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from kafkafs.format.differences import ALONE, SAME, UNLIKE, Marks
from kafkafs.format.jsonl import JsonLines
from kafkafs.format.records import Records
from kafkafs.format.tables import Numbers
from kafkafs.log.look import Reader
from kafkafs.log.read_options import ReadOptions
from kafkafs.overview.contents import add_up
from kafkafs.search.cleaned import Candidates, candidates, cleaned_offsets, together
from kafkafs.spark.diff.comparison import ComparisonStep, count_records, steps
from kafkafs.spark.diff.sides import PartitionPair
from kafkafs.tables.locations import Location, partition

MOST_CANDIDATES = 1 << 22
"""Missing records that are looked up at a time, at some forty bytes each."""

_NONE: Numbers = np.empty(0, np.int64)
_OPTIONS = ReadOptions()


class BelowStart(NamedTuple):
    """The offsets [start, end) of one side, below the higher log start of the two: counted, not compared."""

    is_old: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class DiffUnit:
    """The offsets [start, end) of a pair. `has_lines`: the records are wanted, and not only their number. `weight`:
    bytes of log in both, about."""

    pair: PartitionPair
    start: int
    end: int
    has_lines: bool
    weight: int
    below: BelowStart | None = None


@dataclass(slots=True)
class Totals:
    """The counts of a partition; of a topic where `partition` is None."""

    topic: str
    partition: int | None
    equal: int = 0
    only_old: int = 0
    only_new: int = 0
    cleaned: int = 0
    below_start: int = 0

    @property
    def is_equal(self) -> bool:
        """True if neither side has a record that the other one lacks."""
        return not self.only_old and not self.only_new

    def add(self, other: "Totals") -> None:
        """Adds the counts of another part."""
        add_up(self, other, ("equal", "only_old", "only_new", "cleaned", "below_start"))


@dataclass(slots=True)
class Differences:
    """The result of a unit. `lines`: one for each record that only one side has. `troubles`: sentences about offsets
    that were not compared."""

    totals: Totals
    lines: list[bytes] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    def add_sentence(self, sentence: str) -> None:
        """Keep a sentence, once."""
        if sentence not in self.troubles:
            self.troubles.append(sentence)


def compare(unit: DiffUnit) -> Differences:
    """Compare the window, as of one moment of both logs. It is asked again if files vanish meanwhile."""
    return _asked(unit.pair.old, lambda old: _asked(unit.pair.new, lambda new: _compared(unit, old, new)))


def _asked(location: Location | None, question: Callable[[Reader | None], Differences]) -> Differences:
    if location is None:
        return question(None)
    return partition(location).ask_as(_OPTIONS, lambda look: question(look.visible))


def _compared(unit: DiffUnit, old: Reader | None, new: Reader | None) -> Differences:
    found, writer = Differences(Totals(*unit.pair.name)), _Writer(unit)
    totals = found.totals
    if unit.below is not None and (side := old if unit.below.is_old else new) is not None:
        totals.below_start = count_records(side, unit.below.start, unit.below.end, found.add_sentence)
    if not unit.pair.is_compacted:
        for step in steps(old, new, unit.start, unit.end, found.add_sentence):
            _count(totals, step)
            found.lines += writer.lines(step)
        return found
    for chunk in _chunks(unit, old, new, found):
        cleaned = cleaned_offsets(chunk.old, new), cleaned_offsets(chunk.new, old)
        totals.cleaned += len(cleaned[0]) + len(cleaned[1])
        left = chunk.unlike + len(chunk.old) + len(chunk.new) - len(cleaned[0]) - len(cleaned[1])
        if left and unit.has_lines:
            for step in steps(old, new, chunk.start, chunk.end, found.add_sentence):
                found.lines += writer.lines(step, *cleaned)
        totals.only_old -= len(cleaned[0])
        totals.only_new -= len(cleaned[1])
    return found


def _count(totals: Totals, step: ComparisonStep) -> None:
    totals.equal += step.equal
    totals.only_old += len(step.old) - int((step.old_marks == SAME).sum())
    totals.only_new += len(step.new) - int((step.new_marks == SAME).sum())


class _Chunk(NamedTuple):
    """A part of a compacted pair: the records that the other side lacks, and how many are unlike."""

    start: int
    end: int
    old: Candidates
    new: Candidates
    unlike: int


def _chunks(unit: DiffUnit, old: Reader | None, new: Reader | None, found: Differences) -> Iterator[_Chunk]:
    """All parts, counted as if nothing was cleaned."""
    parts: tuple[list[Candidates], list[Candidates]] = ([], [])
    start, count, unlike = unit.start, 0, 0
    for step in steps(old, new, unit.start, unit.end, found.add_sentence):
        _count(found.totals, step)
        for part, records, marks in ((parts[0], step.old, step.old_marks), (parts[1], step.new, step.new_marks)):
            alone = _only(records, marks == ALONE)
            if len(alone):
                part.append(candidates(alone))
                count += len(alone)
        unlike += int((step.old_marks == UNLIKE).sum())
        if count >= MOST_CANDIDATES:
            behind = 1 + max(int(each.rows["offset"][-1]) for each in (step.old, step.new) if len(each))
            yield _Chunk(start, behind, together(parts[0]), together(parts[1]), unlike)
            parts, start, count, unlike = ([], []), behind, 0, 0
    yield _Chunk(start, unit.end, together(parts[0]), together(parts[1]), unlike)


def _only(records: Records, wanted: Marks) -> Records:
    return Records(records.data, records.rows[wanted.astype(np.bool_)]) if len(records) else records


class _Writer:
    """Writes the lines of the records that only one side has."""

    def __init__(self, unit: DiffUnit) -> None:
        self._is_wanted = unit.has_lines
        topic, number = unit.pair.name
        self._old, self._new = (JsonLines(topic, number, f'"side":"{side}",') for side in ("old", "new"))

    def lines(
        self, step: ComparisonStep, cleaned_old: Numbers = _NONE, cleaned_new: Numbers = _NONE
    ) -> Iterator[bytes]:
        """The lines of a step in the order of offsets, the old record before the new one. Cleaned records have no
        line."""
        if not self._is_wanted or step.is_equal:
            return
        old, new = _left(step.old, step.old_marks, cleaned_old), _left(step.new, step.new_marks, cleaned_new)
        if len(old) and len(new):
            yield _in_order(old, _text(self._old, old), new, _text(self._new, new))
        elif len(old) or len(new):
            yield _text(self._old, old) if len(old) else _text(self._new, new)


def _left(records: Records, marks: Marks, cleaned: Numbers) -> Records:
    wanted = marks != SAME
    if len(cleaned) and len(records):
        wanted &= (marks == UNLIKE) | ~np.isin(records.rows["offset"], cleaned)
    return _only(records, wanted)


def _text(maker: JsonLines, records: Records) -> bytes:
    return b"".join(bytes(piece) for piece in maker.pieces(records))


def _in_order(old: Records, old_text: bytes, new: Records, new_text: bytes) -> bytes:
    """The lines of both by their offsets. A line has one line feed, at its end."""
    lines = [*old_text.splitlines(True), *new_text.splitlines(True)]
    order = np.argsort(np.concatenate([old.rows["offset"], new.rows["offset"]]), kind="stable")
    return b"".join(lines[number] for number in order)
