"""The view of a read_committed reader, from the log, and transactions as they are followed through batches.

A transaction's outcome is the next marker of its producer. Reading goes forward, so markers are found by a scan that
runs ahead of the reader no further than it must. The transaction index would save that scan for what was aborted, but
only the scan shows whether it is right. A transaction without a marker is open, and the first open one is the last
stable offset.
A transaction may begin some segments before its marker; so a segment gives its events, and a tracker follows those of
all segments in order. Sources: ProducerStateManager, ProducerAppendInfo, TransactionIndex, CompletedFetch.
"""

import threading
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

import numpy as np

from kafkafs.disk.blocking import may_block
from kafkafs.errors import Lost
from kafkafs.format.batch import Batches, is_control, is_transactional
from kafkafs.format.control import ControlType, control_types
from kafkafs.format.records import Records, Refusal, decode, stored_limit
from kafkafs.format.tables import Flags, Numbers, chosen
from kafkafs.log.batch_runs import BatchRun, Start
from kafkafs.log.lineage import Change, place_behind, went_on
from kafkafs.log.log import Log
from kafkafs.log.producer_snapshots import newest_open
from kafkafs.log.segment import ANY_OFFSET, Segment

EMPTIED = -2
"""In the place of a control type: a marker that says nothing any more."""

_MARKER_LIMIT = 1 << 20
_PRODUCERS_KEPT = 4096


def marker_types(run: BatchRun, rows: Batches) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    """The `ControlType` of each of these control batches; EMPTIED where compaction left nothing or it cannot be read.

    One that is emptied ends a transaction without aborting it: the cleaner drops an aborted transaction's data before
    its marker.
    """
    found = np.full(len(rows), EMPTIED, np.int16)
    for piece in marker_records(run, rows):
        found[piece.rows["batch"]] = control_types(piece)
    return found


def marker_records(run: BatchRun, rows: Batches) -> Iterator[Records]:
    """The records of these control batches, in pieces; none of one that compaction emptied, or that cannot be read."""
    for piece in decode(run.data, run.position, rows, _MARKER_LIMIT):
        if not isinstance(piece, Refusal):
            yield piece


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
        for run in _batch_runs(log, *start):
            _follow(run.rows, found)
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


def _batch_runs(log: Log, first: int, start: Start, lenient: bool = False) -> Iterator[BatchRun]:
    """Runs from `start` in the segment of that number on. A function, no method of `Outcomes`: the two would hold each
    other, and a buffer, until the collector comes."""
    needed = ANY_OFFSET if lenient else 0
    for number in range(first, len(log.segments)):
        segment = log.segments[number]
        place = start if number == first else Start(0, segment.base_offset)
        try:
            end, largest = log.walk_end(segment), stored_limit(_MARKER_LIMIT)
            for item in segment.walk(place, end, 0, needed, largest) if segment.is_readable() else ():
                if isinstance(item, BatchRun):
                    yield item
        except Lost as error:
            log.pass_lost(error, lenient)


class _Markers(NamedTuple):
    """Markers of one producer in a run: where they stand, in order, and whether they abort."""

    offsets: Numbers
    abort: Flags


class Outcomes:
    """How transactions below the last stable offset ended. A caller asks for batches in offset order: the scan begins
    at the first of them, and never begins again."""

    def __init__(self, log: Log, lenient: bool = False) -> None:
        """`lenient`: markers that a tier has lost are passed over."""
        self._log, self._lenient = log, lenient
        self._ahead: Iterator[BatchRun] | None = None
        self._met: dict[int, list[_Markers]] = {}

    def aborted(self, segment: Segment, rows: Batches) -> Flags:
        """For each of these batches of a segment, whether its transaction was aborted; False for those outside any."""
        dropped = np.zeros(len(rows), np.bool_)
        asked = np.flatnonzero(is_transactional(rows) & ~is_control(rows))
        if not len(asked):
            return dropped
        producers, offsets = rows["producer_id"][asked], rows["last_offset"][asked]
        if self._ahead is None:
            start = Start(int(rows["position"][asked[0]]), int(rows["base_offset"][asked[0]]))
            self._ahead = _batch_runs(self._log, self._log.segments.index(segment), start, self._lenient)
        if len(self._met) > _PRODUCERS_KEPT:  # forget those that were passed
            self._met = {each: own for each, own in self._met.items() if own and own[-1].offsets[-1] > offsets[0]}
        for producer in set(producers.tolist()):
            own = producers == producer
            dropped[asked[own]] = self._end_in_abort(producer, offsets[own], self._ahead)
        return dropped

    def _end_in_abort(self, producer: int, offsets: Numbers, ahead: Iterator[BatchRun]) -> Flags:
        """For a producer's batches in offset order: True if the next marker aborts."""
        found, known = np.zeros(len(offsets), np.bool_), 0
        for markers in self._markers_behind(producer, int(offsets[0]), ahead):
            at = np.searchsorted(markers.offsets, offsets[known:], "right")
            at = at[at < len(markers.offsets)]
            found[known : known + len(at)] = markers.abort[at]
            known += len(at)
            if known == len(offsets):
                break
        return found

    def _markers_behind(self, producer: int, offset: int, ahead: Iterator[BatchRun]) -> Iterator[_Markers]:
        """A producer's markers behind the offset: those that were met, and then what the scan meets."""
        own = self._met.setdefault(producer, [])
        own[:] = [markers for markers in own if markers.offsets[-1] > offset]
        given = 0
        while True:
            yield from own[given:]
            given = len(own)
            run = next(ahead, None)
            if run is None:
                return
            self._meet(run)

    def _meet(self, run: BatchRun) -> None:
        rows = chosen(run.rows, is_control(run.rows) & is_transactional(run.rows))
        abort = marker_types(run, rows) == ControlType.ABORT
        for producer in set(rows["producer_id"].tolist()):
            own = rows["producer_id"] == producer
            self._met.setdefault(producer, []).append(_Markers(rows["last_offset"][own], abort[own]))


EventKind = Literal["begin", "commit", "abort", "emptied"]
_KINDS: dict[int, EventKind] = {ControlType.ABORT: "abort", EMPTIED: "emptied"}  # anything else commits


class Event(NamedTuple):
    """A producer's first batch behind a marker of its own, or a marker; "emptied" is one that compaction emptied."""

    offset: int
    producer: int
    kind: EventKind


class Aborted(NamedTuple):
    """An abort by the transaction index. `first` is None if no data of the producer was seen."""

    producer: int
    first: int | None
    last: int
    stable: int  # the last stable offset behind it


def events(run: BatchRun) -> list[Event]:
    """The events of a run of batches, in order. A transaction that goes on begins once more in each run."""
    rows = run.rows
    transactional = np.flatnonzero(is_transactional(rows))
    if not len(transactional):
        return []
    control = is_control(rows)
    producers = rows["producer_id"][transactional]
    by_producer = np.argsort(producers, kind="stable")
    follows_own = np.diff(producers[by_producer], prepend=producers[by_producer[:1]] - 1) == 0
    behind_data = np.concatenate(([False], ~control[transactional[by_producer[:-1]]]))
    goes_on = np.empty(len(transactional), np.bool_)
    goes_on[by_producer] = follows_own & behind_data
    found, types = [], iter(marker_types(run, rows[transactional[control[transactional]]]).tolist())
    for row in transactional[control[transactional] | ~goes_on].tolist():
        producer = int(rows["producer_id"][row])
        if control[row]:
            found.append(Event(int(rows["last_offset"][row]), producer, _KINDS.get(next(types), "commit")))
        else:
            found.append(Event(int(rows["base_offset"][row]), producer, "begin"))
    return found


class Tracker:
    """The transactions that are open as events pass by in the order of offsets."""

    def __init__(self, begun: Mapping[int, int] | None = None) -> None:
        """`begun`: those open before the first event, producer to first offset."""
        self.open = dict(begun or {})

    def follow(self, event: Event) -> Aborted | None:
        """Takes the event into account; what was aborted by it."""
        if event.kind == "begin":
            self.open.setdefault(event.producer, event.offset)
            return None
        first = self.open.pop(event.producer, None)
        if event.kind != "abort":
            return None
        return Aborted(event.producer, first, event.offset, min(self.open.values(), default=event.offset + 1))
