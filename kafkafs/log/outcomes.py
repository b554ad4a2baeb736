"""How transactions ended, for a read_committed reader. `transaction_events` follows them for repairs and checks.

A transaction's outcome is the next marker of its producer. Reading goes forward, so markers are found by a scan that
runs ahead of the reader no further than it must. The transaction index would save that scan for what was aborted, but
only the scan shows whether it is right. A transaction without a marker is open, and the first open one is the last
stable offset.
Damaged bytes may hide a marker (`hidden_markers`). A transaction in front of them then counts as ended, and nobody
knows how. So its batches are an error for a reader, which would otherwise end early, or show what was aborted.
Sources: ProducerStateManager, ProducerAppendInfo, TransactionIndex, CompletedFetch.
"""

import threading
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from kafkafs.disk.blocking import may_block
from kafkafs.errors import CorruptData, Lost
from kafkafs.format.batch import Batch, Batches, is_control, is_transactional
from kafkafs.format.control import ControlType
from kafkafs.format.records import stored_limit
from kafkafs.format.tables import Numbers, chosen
from kafkafs.log.batch_runs import BatchRun, Start
from kafkafs.log.hidden_markers import HiddenMarkers, hidden_markers
from kafkafs.log.lineage import Change, place_behind, went_on
from kafkafs.log.log import Log
from kafkafs.log.producer_snapshots import newest_open
from kafkafs.log.segment import ANY_OFFSET, Segment
from kafkafs.log.transaction_events import MARKER_LIMIT, marker_types

Fates = np.ndarray[tuple[int], np.dtype[np.int8]]
"""A `Fate` of each of some batches."""


class Fate(IntEnum):
    """How the transaction of a batch ended."""

    SHOWN = 0  # committed, or outside any
    ABORTED = 1
    UNKNOWN = 2


_PRODUCERS_KEPT = 4096


class OpenTransactions:
    """The transactions that are open at the log end, kept up to date as the log grows. One a partition."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._log: Log | None = None
        self._open: dict[int, int] = {}
        self._known: tuple[Log, int] | None = None

    def last_stable_offset(self, log: Log) -> int:
        """The first offset of the first open transaction; the log end where none is open."""
        known = self._known
        if known is not None and known[0] is log:
            return known[1]
        may_block()  # before the lock: its holder may read a log for long
        with self._lock:
            if self._log is not log:
                self._open = self._scan(log)
                self._log = log
            stable = min((log.end_offset, *self._open.values()))
            self._known = log, stable
            return stable

    def _scan(self, log: Log) -> dict[int, int]:
        before, found = self._log, dict(self._open)
        start = _place_behind(before, log)
        if start is None:
            first, found = newest_open(log.segments, len(log.segments) - 1)
            start = (first, Start(0, log.segments[first].base_offset)) if log.segments else None
        if start is None:
            return {}
        for item in _scan_ahead(log, *start):
            if isinstance(item, BatchRun):
                _follow(item.rows, found)
                continue
            for producer in [each for each in found if item.may_be_of(each)]:
                del found[producer]
        return {producer: max(offset, log.start_offset) for producer, offset in found.items()}


def _place_behind(before: Log | None, log: Log) -> tuple[int, Start] | None:
    """The place behind the older log's end. None if the log was changed in front of it, so that all has to be read."""
    if before is None or not before.segments:
        return None
    verdict = went_on(before, log)
    is_same = verdict.change is not Change.OTHER and verdict.same_from <= before.segments[-1].base_offset
    return place_behind(before, log) if is_same else None


def _follow(rows: Batches, found: dict[int, int]) -> None:
    """Takes the run's data and markers into account."""
    rows = chosen(rows, is_transactional(rows))
    control = is_control(rows)
    for producer in sorted(set(rows["producer_id"].tolist())):  # np.unique would import numpy.ma at its first use
        mine = rows["producer_id"] == producer
        ended = np.flatnonzero(mine & control)
        if len(ended):
            found.pop(producer, None)
            mine[: int(ended[-1]) + 1] = False
        begun = np.flatnonzero(mine)
        if len(begun):
            found.setdefault(producer, int(rows["base_offset"][begun[0]]))


def _scan_ahead(log: Log, first: int, start: Start, lenient: bool = False) -> Iterator[BatchRun | HiddenMarkers]:
    """Runs from `start` in the segment of that number on, and between them the markers that damage may hide. A
    function, no method of `Outcomes`: the two would hold each other, and a buffer, until the collector comes."""
    needed = ANY_OFFSET if lenient else 0
    for number in range(first, len(log.segments)):
        segment = log.segments[number]
        place = start if number == first else Start(0, segment.base_offset)
        try:
            end, largest = log.walk_end(segment), stored_limit(MARKER_LIMIT)
            for item in segment.walk(place, end, 0, needed, largest) if segment.is_readable() else ():
                if isinstance(item, BatchRun):
                    yield item
                elif not lenient and (hidden := hidden_markers(segment, item)) is not None:
                    yield hidden
        except Lost as error:
            log.pass_lost(error, lenient)


class _Ends(NamedTuple):
    """Ends of one producer's transactions in a run: where they stand, in order, and what became of the batches."""

    offsets: Numbers
    fates: Fates


def _unknown_end(hidden: HiddenMarkers) -> _Ends:
    return _Ends(np.array([hidden.last_offset]), np.array([Fate.UNKNOWN], np.int8))


class Outcomes:
    """How transactions below the last stable offset ended. A caller asks for batches in offset order: the scan begins
    at the first of them, and never begins again."""

    def __init__(self, log: Log, lenient: bool = False) -> None:
        """`lenient`: markers that a tier has lost, or that damage hides, are passed over."""
        self._log, self._lenient = log, lenient
        self._ahead: Iterator[BatchRun | HiddenMarkers] | None = None
        self._met: dict[int, list[_Ends]] = {}
        self._hidden: list[HiddenMarkers] = []

    def fates(self, segment: Segment, rows: Batches) -> Fates:
        """The fate of each of these batches of a segment."""
        fates = np.full(len(rows), Fate.SHOWN, np.int8)
        asked = np.flatnonzero(is_transactional(rows) & ~is_control(rows))
        if not len(asked):
            return fates
        producers, offsets = rows["producer_id"][asked], rows["last_offset"][asked]
        if self._ahead is None:
            start = Start(int(rows["position"][asked[0]]), int(rows["base_offset"][asked[0]]))
            self._ahead = _scan_ahead(self._log, self._log.segments.index(segment), start, self._lenient)
        if len(self._met) > _PRODUCERS_KEPT:  # forget those that were passed
            self._met = {each: own for each, own in self._met.items() if own and own[-1].offsets[-1] > offsets[0]}
        for producer in set(producers.tolist()):
            own = producers == producer
            fates[asked[own]] = self._fates_of(producer, offsets[own], self._ahead)
        return fates

    def unknown(self, batch: Batch) -> CorruptData:
        """The error for a reader of that batch, whose fate is unknown."""
        behind = (each for each in self._hidden if each.last_offset > batch.last_offset)
        hidden = next(each for each in behind if each.may_be_of(batch.producer_id))
        return CorruptData(
            f"{self._log.name.directory}: {hidden.place} may hide whether the transaction of the batch at offset"
            f" {batch.base_offset} was committed; read_uncommitted shows the batch"
        )

    def _fates_of(self, producer: int, offsets: Numbers, ahead: Iterator[BatchRun | HiddenMarkers]) -> Fates:
        """The fates of a producer's batches in offset order: the next end of the producer decides."""
        found, known = np.full(len(offsets), Fate.SHOWN, np.int8), 0
        for ends in self._ends_behind(producer, int(offsets[0]), ahead):
            at = np.searchsorted(ends.offsets, offsets[known:], "right")
            at = at[at < len(ends.offsets)]
            found[known : known + len(at)] = ends.fates[at]
            known += len(at)
            if known == len(offsets):
                break
        return found

    def _ends_behind(self, producer: int, offset: int, ahead: Iterator[BatchRun | HiddenMarkers]) -> Iterator[_Ends]:
        """A producer's ends behind the offset: those that were met, and then what the scan meets."""
        own = self._of(producer)
        own[:] = [ends for ends in own if ends.offsets[-1] > offset]
        given = 0
        while True:
            yield from own[given:]
            given = len(own)
            item = next(ahead, None)
            if item is None:
                return
            if isinstance(item, BatchRun):
                self._meet(item)
            else:
                self._meet_hidden(item)

    def _of(self, producer: int) -> list[_Ends]:
        if producer not in self._met:
            self._met[producer] = [_unknown_end(each) for each in self._hidden if each.may_be_of(producer)]
        return self._met[producer]

    def _meet(self, run: BatchRun) -> None:
        rows = chosen(run.rows, is_control(run.rows) & is_transactional(run.rows))
        fates = np.where(marker_types(run, rows) == ControlType.ABORT, Fate.ABORTED, Fate.SHOWN).astype(np.int8)
        for producer in set(rows["producer_id"].tolist()):
            own = rows["producer_id"] == producer
            self._of(producer).append(_Ends(rows["last_offset"][own], fates[own]))

    def _meet_hidden(self, hidden: HiddenMarkers) -> None:
        for producer, own in self._met.items():
            if hidden.may_be_of(producer):
                own.append(_unknown_end(hidden))
        self._hidden.append(hidden)
