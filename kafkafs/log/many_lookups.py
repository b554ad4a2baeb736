"""Many points of one log at once: offsets to timestamps, and times to offsets.

Each answer is that of a single lookup. Points that are close together share what was read and decoded for the first of
them, so that ten thousand committed offsets cost little more than the batches that they are in.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice

import numpy as np

from kafkafs.errors import CorruptData, Denied, DiskError, Lost, NotFound, TooLarge
from kafkafs.format.records import Records
from kafkafs.format.tables import Numbers, chosen
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.closing_entries import is_surely_before
from kafkafs.log.lookup import Lookup
from kafkafs.log.segment import Segment
from kafkafs.log.time_search import Candidate, TimeSearch

_PASSED = 64 << 10
"""Bytes that a walk passes between two offsets. Reading and checking them takes less time than a further lookup."""

_WALKED = 64
"""Batches that are looked at behind the last answer before an index is asked again."""


def first_timestamps(lookup: Lookup, offsets: Iterable[int]) -> dict[int, int | None]:
    """For each offset, find the timestamp of the first visible record at or after it; None without such a record.

    An offset is missing in the answer if its record cannot be read, or is lost in a tier. Below the log start the first
    record counts.
    """
    found: dict[int, int | None] = {}
    wanted = np.array(sorted(set(offsets)), np.int64)
    while len(wanted):
        wanted = wanted[_serve(lookup, wanted, found) :]
    return found


def _serve(lookup: Lookup, wanted: Numbers, found: dict[int, int | None]) -> int:
    """Find the first of these offsets, and those behind it that a walk from there soon meets. Return how many."""
    first = max(int(wanted[0]), lookup.log.start_offset)
    if first >= lookup.visible.end:
        found.update(dict.fromkeys(wanted.tolist()))
        return len(wanted)
    served = 0
    try:
        for segment, item in lookup.visible.batches(first, lookup.visible.end):
            if not isinstance(item, BatchRun) or lookup.visible.overlaps.of(segment):
                break
            behind = int(wanted.searchsorted(item.rows["last_offset"][-1], "right"))
            if behind > served:
                _serve_run(lookup, segment, item, wanted[served:behind], found)
            served = behind
            if served in (0, len(wanted)) or _bytes_to(int(wanted[served]), item) > _PASSED:
                break
    except Lost:  # the record of the next one
        return served or 1
    if not served:
        _serve_singly(lookup, int(wanted[0]), found)
    return served or 1


def _bytes_to(offset: int, run: BatchRun) -> int:
    """About how many bytes lie between a run and an offset behind it."""
    size = run.end - run.position
    return (offset - run.last_offset) * size // (run.last_offset - int(run.rows["base_offset"][0]) + 1)


def _serve_run(lookup: Lookup, segment: Segment, run: BatchRun, wanted: Numbers, found: dict[int, int | None]) -> None:
    """Find offsets that are at or below the last one of a run."""
    rows = run.rows["last_offset"].searchsorted(wanted)
    needed = rows[np.flatnonzero(np.diff(rows, prepend=-1))]  # np.unique would import numpy.ma at its first use
    part = BatchRun(run.data, run.position, chosen(run.rows, needed))
    pieces = [piece.rows for piece in lookup.visible.decoded(segment, part) if isinstance(piece, Records)]
    offsets, times, batches = (
        np.concatenate([np.zeros(0, np.int64), *(rows[name] for rows in pieces)])
        for name in ("offset", "timestamp", "batch")
    )
    places = offsets.searchsorted(np.maximum(wanted, lookup.log.start_offset))
    own = needed.searchsorted(rows)
    for offset, place, batch in zip(wanted.tolist(), places.tolist(), own.tolist(), strict=True):
        if place < len(offsets) and batches[place] == batch:
            found[offset] = int(times[place])
        else:  # the rest of its batch was compacted away, or the batch cannot be decoded
            _serve_singly(lookup, offset, found)


def _serve_singly(lookup: Lookup, offset: int, found: dict[int, int | None]) -> None:
    """Find one offset. An offset that cannot be read is missing from the answer."""
    try:
        found[offset] = lookup.first(max(offset, lookup.log.start_offset)).timestamp
    except NotFound:
        found[offset] = None
    except (CorruptData, Lost, TooLarge):
        return


def offsets_after(lookup: Lookup, times: Iterable[int]) -> dict[int, int]:
    """For each time, find the offset of the first record with a later timestamp, control records included; the log end
    without one. `lookup` must be of read_uncommitted.

    This is what Kafka's ListOffsets answers for the millisecond after. A batch that cannot be decoded is passed over.
    A time is missing in the answer if a tier lost what may be that record.
    """
    finder, found = _TimeFinder(lookup), {}
    for time in sorted(set(times)):
        with suppress(Lost):
            found[time] = finder.after(time)
    return found


class _TimeFinder:
    """Finds later and later times. The offset found never gets smaller, so the records of the last batch that had an
    answer, and the walk behind it, are asked first."""

    def __init__(self, lookup: Lookup) -> None:
        self._log = lookup.log
        self._visible = lookup.visible
        self._lookup = lookup
        self._segments = lookup.log.visible_segments()
        self._number = 0  # number of the first segment that may have the next answer
        self._offsets = self._timestamps = np.zeros(0, np.int64)  # columns of the batch that had the last answer
        self._walk: Iterator[Candidate] = iter(())
        self._end: int | None = None  # the answer behind the last record

    def after(self, time: int) -> int:
        """Return the offset of the first record later than `time`, which is no smaller than the time asked before."""
        if self._end is not None:
            return self._end
        found = self._in_batch(time)
        for candidate in islice(self._walk, _WALKED) if found is None else ():
            found = self._take(candidate, time)
            if found is not None:
                break
        return self._by_index(time) if found is None else found

    def _by_index(self, time: int) -> int:
        while self._number < len(self._segments):
            segment = self._segments[self._number]
            pair = self._segments[self._number : self._number + 2]
            largest = None if is_surely_before(time + 1, pair) else self._largest(segment)
            if largest is not None and largest > time:
                self._walk = self._candidates(segment, time)
                for candidate in self._walk:
                    found = self._take(candidate, time)
                    if found is not None:
                        return found
            self._number += 1
        self._end = self._log.end_offset
        return self._end

    def _largest(self, segment: Segment) -> int | None:
        """A time that no record of the segment is later than. For a lost part of a tier, see `Lookup`."""
        return self._log.largest_in(segment) if segment.object is None else self._lookup.largest_of(segment)

    def _candidates(self, segment: Segment, time: int) -> Iterator[Candidate]:
        """The batches of a segment that may hold a record later than `time`."""
        try:
            search = TimeSearch(segment, time + 1, self._log.walk_end(segment), self._log.start_offset)
            for item in search.batches():
                if isinstance(item, Candidate):
                    yield item
        except (Denied, DiskError):
            if segment.object is not None:
                raise
            return  # a gap, as for a single lookup

    def _take(self, candidate: Candidate, time: int) -> int | None:
        """Decode a batch if it may answer. Return the answer that it has."""
        batch = candidate.batch
        if batch.max_timestamp <= time or batch.last_offset < self._log.start_offset:
            return None
        segment = self._segments[self._number]
        rows = [piece.rows for piece in self._visible.decoded(segment, candidate.run) if isinstance(piece, Records)]
        if rows:
            self._offsets, self._timestamps = (
                np.concatenate([each[name] for each in rows]) for name in ("offset", "timestamp")
            )
        return self._in_batch(time) if rows else None

    def _in_batch(self, time: int) -> int | None:
        later = (self._timestamps > time) & (self._offsets >= self._log.start_offset)
        return int(self._offsets[later.argmax()]) if later.any() else None
