"""`kafkafs diff` on either engine: the units, and their results in order, as they come."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple

import numpy as np

from kafkafs.errors import KafkafsError
from kafkafs.format.differences import HASH
from kafkafs.format.key_index import new_seed
from kafkafs.log.log import Log
from kafkafs.spark import jobs
from kafkafs.spark.diff.by_content import MOST_RECORDS, ContentUnit, Part, count, excesses, left_over, write
from kafkafs.spark.diff.by_offset import BelowStart, DiffUnit, Totals, compare
from kafkafs.spark.diff.sides import PartitionPair
from kafkafs.spark.jobs import Engine, Progress, no_progress
from kafkafs.tables.cutting import pieces_of
from kafkafs.tables.locations import Location, partition
from kafkafs.tables.planning import PartitionRange

WINDOW_BYTES = 16 << 20
"""Bytes of log that one task compares, about."""


class Result(NamedTuple):
    """Something to print or to count: lines, sentences about trouble, and the totals of a partition, or of a topic,
    behind its last lines."""

    lines: Sequence[bytes] = ()
    troubles: Sequence[str] = ()
    totals: Totals | None = None


def by_offset(
    engine: Engine, pairs: Sequence[PartitionPair], progress: Progress = no_progress, *, has_lines: bool = True
) -> Iterator[Result]:
    """Compare partition by partition, record by record at the same offset."""
    units, troubles = list[DiffUnit](), list[str]()
    for pair in pairs:
        try:
            units += _units(pair, has_lines)
        except KafkafsError as error:
            troubles.append(f"{pair.name}: {error}")
    if troubles:
        yield Result(troubles=troubles)
    results = jobs.each(engine, "diff", units, compare, progress)
    for name, parts in groupby(results, lambda found: (found.totals.topic, found.totals.partition)):
        totals = Totals(*name)
        for found in parts:
            totals.add(found.totals)
            yield Result(found.lines, found.troubles)
        yield Result(totals=totals)


def by_content(
    engine: Engine, pairs: Sequence[PartitionPair], progress: Progress = no_progress, *, has_lines: bool = True
) -> Iterator[Result]:
    """Compare topic by topic, whatever the partition and the offset of a record."""
    for topic in dict.fromkeys(pair.name.topic for pair in pairs):
        yield from _topic_by_content(
            engine, topic, [pair for pair in pairs if pair.name.topic == topic], progress, has_lines
        )


def _topic_by_content(
    engine: Engine, topic: str, pairs: Sequence[PartitionPair], progress: Progress, has_lines: bool
) -> Iterator[Result]:
    units, troubles = _content_units(pairs)
    records = sum(unit.end - unit.start for unit in units)
    parts, seed, totals = -(-records // MOST_RECORDS) or 1, new_seed(), Totals(topic, None)
    for number in range(parts):
        hashes = {is_old: [np.empty(0, HASH)] for is_old in (True, False)}
        counted = jobs.each(engine, "diff", units, partial(count, seed=seed, part=Part(number, parts)), progress)
        for unit, found in zip(units, counted, strict=True):
            hashes[unit.is_old].append(found.hashes)
            troubles += [each for each in found.troubles if each not in troubles]
        equal, old, new = excesses(np.concatenate(hashes[True]), np.concatenate(hashes[False]))
        del hashes
        totals.add(Totals(topic, None, equal, int(old.more.sum()), int(new.more.sum())))
        for is_old, excess in ((True, old), (False, new)):
            if has_lines and len(excess.hashes):
                own = [unit for unit in units if unit.is_old == is_old]
                written = jobs.each(engine, "diff", own, partial(write, seed=seed, excess=excess), progress)
                for text in left_over(written, excess):
                    yield Result([text])
    yield Result(troubles=troubles, totals=totals)


def _content_units(pairs: Sequence[PartitionPair]) -> tuple[list[ContentUnit], list[str]]:
    """The units of one topic, those of the old side first, and sentences about what cannot be compared."""
    units, troubles = list[ContentUnit](), list[str]()
    for is_old in (True, False):
        for location in (each for pair in pairs if (each := pair.old if is_old else pair.new) is not None):
            try:
                bounds = _extent(location)
                unread = partition(location).answer(lambda log: log.unreadable(log.start_offset, log.end_offset))
                troubles += [f"{location.name}: {each.log_name} may not be read" for each in unread]
                units += [ContentUnit(location, is_old, *window) for window in _windows(location, bounds)]
            except KafkafsError as error:
                troubles.append(f"{location.name}: {error}")
    return units, troubles


class _Bounds(NamedTuple):
    """The log start and end of a partition, and the bytes of its log."""

    start: int
    end: int
    size: int


def _extent(location: Location | None) -> _Bounds:
    if location is None:
        return _Bounds(0, 0, 0)

    def question(log: Log) -> _Bounds:
        return _Bounds(log.start_offset, log.end_offset, sum(map(log.walk_end, log.segments_between(0, None))))

    return partition(location).answer(question)


def _windows(location: Location, bounds: _Bounds) -> Iterator[tuple[int, int, int]]:
    """(start, end, bytes) of windows of some megabytes, which tile the partition."""
    if bounds.start < bounds.end:
        whole = PartitionRange(location, bounds.start, bounds.end)
        for piece, size in partition(location).answer(lambda log: pieces_of(whole, log, WINDOW_BYTES)):
            yield piece.start, piece.end, size


def _units(pair: PartitionPair, has_lines: bool) -> Iterator[DiffUnit]:
    old, new = _extent(pair.old), _extent(pair.new)
    sides = [each for each, there in ((old, pair.old), (new, pair.new)) if there is not None]
    start, end = max(each.start for each in sides), max(each.end for each in sides)
    end, weight = max(start, end), old.size + new.size
    is_old = pair.new is None or (pair.old is not None and old.start < new.start)
    lower = old if is_old else new
    below = BelowStart(is_old, lower.start, min(start, lower.end)) if len(sides) == 2 and not has_lines else None
    larger = pair.old if old.size >= new.size else pair.new
    if pair.is_compacted or larger is None:
        yield DiffUnit(pair, start, end, has_lines, weight, below)
        return
    windows = _windows(larger, max(old, new, key=lambda each: each.size))
    inner = [(high, size) for _, high, size in windows if start < high < end]
    low = start
    for high, size in (*inner, (end, 0)):
        yield DiffUnit(pair, low, high, has_lines, 2 * size, below if low == start else None)
        low = high
